"""Conditions of hooks: the part of CEL, the Common Expression Language, that policies use.

`condition` is the way in. It has a text cut into tokens by `lexer` and put together by `parser` into the words of
`syntax`; `compiler` makes functions of them once, with the values and operators of `values`. `patterns` reads regular
expressions as RE2 does into `steps` over `characters`, and `automaton` searches with them in linear time.
"""
