"""The ways to reach a hook: a function of this program, a Python module, a web address, a command."""
