"""APIs of other systems, on our engine."""
