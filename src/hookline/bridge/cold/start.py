"""Run by the launcher where no daemon answers, without `site`: `python -E -P -S start.py [--launched] hook HOST EVENT`.

Python compiles this file at each start, and keeps what it compiled of the others: so there is nothing in it.
"""

import sys

if __name__ == "__main__":
    sys.path.insert(0, __file__.rpartition("/")[0])
    import calling  # type: ignore[import-not-found] # found in this folder, where it is by itself

    # nobody else is to find our files under their bare names
    del sys.path[0]
    calling.main(sys.argv[1:])
