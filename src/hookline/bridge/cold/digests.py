"""What our modules use of hashlib, for one call in a process of its own, without the library behind the real one.

Python has these two by itself as well; whoever asks for another gets it from where it is.
"""

import sys
from _blake2 import blake2b

__all__ = ["blake2b"]


def __getattr__(name: str) -> object:
    if name.startswith("__"):
        raise AttributeError(name)
    if name == "sha256":
        # a library of its own, which few calls need
        return getattr(__import__("_sha2" if sys.version_info >= (3, 12) else "_sha256"), name)
    if getattr(sys.modules.get("hashlib"), "__name__", "") == __name__:
        del sys.modules["hashlib"]
    import hashlib  # noqa: PLC0415

    return getattr(hashlib, name)
