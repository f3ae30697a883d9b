"""Language models: reach them, ask them for an answer with a schema, and count what that costs."""
