"""Conditions of hooks: the part of CEL, the Common Expression Language, that policies use.

`condition.compile_condition` is the entry point. `parser` builds the nodes of `ast` from the text, and `compiler` turns
these into functions, with the values and operators of `values`. `regex` searches with RE2 in linear time.
"""
