"""Git as a source of events: what it runs for us, what that is about, and how it comes to run it."""
