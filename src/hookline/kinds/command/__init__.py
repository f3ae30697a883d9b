"""Hooks that are commands: parse, prepare, seal and run them, and read their replies."""
