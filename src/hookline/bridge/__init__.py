"""Between a real agent and the engine: its bytes in, its bytes out, whatever happens in between."""
