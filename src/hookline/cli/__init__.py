"""The command line: one file per command, one row per command in `main.COMMANDS`."""
