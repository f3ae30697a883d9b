"""What a tool call would do, whatever it is called: run, write, delete, read, reach out."""
