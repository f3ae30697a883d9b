"""Templates in shell lines: read the line as a shell would, and let no value become a part of it.

`template` is the way in. It reads a line with `commands` and `words` into a `line`, has `risks` judge where the
templates stand (`programs`, `options` and `values` know what programs make of their words), and binds values.
"""
