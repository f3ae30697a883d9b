"""Hooks that come with Hookline, and are off until a person switches them on.

`catalogue` is the way in. `read_only` and `dangerous` judge what a permission is asked for: a tool call by the files
it names, a shell line by what `reading` and `danger` make of it once it was read as a shell would.
"""
