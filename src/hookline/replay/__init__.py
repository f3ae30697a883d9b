"""Replay recorded events against the hooks as they are now, without effects, and compare the decisions."""
