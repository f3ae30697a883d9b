"""What our modules use of hashlib, for one call in a process of its own, without the library behind the real one.

Python has these two by itself as well; whoever asks for another gets it from where it is.
"""

from _blake2 import blake2b

try:
    from _sha2 import sha256  # type: ignore[import-not-found]
except ImportError:  # before Python 3.12
    from _sha256 import sha256  # type: ignore[import-not-found]

__all__ = ["blake2b", "sha256"]


def __getattr__(name: str) -> object:
    import sys  # noqa: PLC0415 - most often nobody asks

    if name.startswith("__"):
        raise AttributeError(name)
    if getattr(sys.modules.get("hashlib"), "__name__", "") == __name__:
        del sys.modules["hashlib"]
    import hashlib  # noqa: PLC0415

    return getattr(hashlib, name)
