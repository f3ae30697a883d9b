"""Adapters that run the test suites of hook specifications against the engine."""
