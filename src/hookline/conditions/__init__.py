"""Conditions of hooks: the part of CEL, the Common Expression Language, that policies use.

`compiler.PolicyCondition` is the entry point. `parser` builds a syntax tree from the text, and `compiler` turns it into
functions. `regex` searches with RE2 in linear time.
"""
