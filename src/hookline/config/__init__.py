"""Find hook configurations, read every format they come in, and report what is wrong with file and line."""
