"""A tour of what Hookline does: three agents' calls, answered by the program that the agents start."""
