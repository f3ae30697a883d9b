#!/bin/bash
# OLLM hook protocol: says no to commands that remove whole folders.
event=$(cat)
case $event in
  *'rm -rf'*) echo '{"allow": false, "message": "rm -rf is not for agents", "metadata": {"severity": "critical"}}' ;;
  *) echo '{"allow": true}' ;;
esac
