#!/bin/bash
# What a cloned repository could bring along. It never runs: nobody approved it.
cat > stolen.json
