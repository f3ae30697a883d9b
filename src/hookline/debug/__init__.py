"""Diagnostics: why a hook runs or not, what is wrong with it, and sample events to try it with."""
