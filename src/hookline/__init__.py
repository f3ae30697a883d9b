"""Run hooks for AI agents."""
