"""Hooks that come with Hookline; most are off until the user enables them.

`catalogue` lists them. `allow_readonly`, `deny_dangerous` and `self_guard` judge a tool call by its files, and a shell
line with the parser and the table of programs of `hookline.shell`. The other modules tell the model or the user something, or
write it down.
"""
