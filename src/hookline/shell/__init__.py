"""Read shell scripts: parse them, list the commands that may run, and look programs up in one table.

`reader.parse_script` gives the syntax tree of `script`, `walk.walk_commands` gives every command that may run with its
wrappers unfolded, `programs` is the table of programs and reads a command's options with it. Nothing here touches the
file system.
"""
