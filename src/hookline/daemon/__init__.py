"""The daemon: answers the calls of agents without starting a Python for each of them."""
