"""Hooks that come with Hookline and are off until the user enables them.

`catalogue` lists them. `allow_readonly` and `deny_dangerous` judge a tool call by the files that it names, and a shell
line with the parser and the table of programs of `hookline.shell`.
"""
