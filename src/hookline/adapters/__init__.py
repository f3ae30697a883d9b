"""Hooks for agents written in Python: one module for each library, each an extra of its own."""
