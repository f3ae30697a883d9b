"""What raises events besides agents: files, git, the clock, the person, and programs that call over HTTP."""
