"""`hookline-hook` where no compiler could build it: the same words and the same answers, through Python alone."""

import sys
from collections.abc import Sequence
from typing import Final

from hookline.cli._output import complain, say
from hookline.version import __version__

_USAGE: Final = "wanted: hookline-hook [--if-broken block|allow] HOST EVENT, with the event on stdin"
_ANSWERS: Final = frozenset({0, 2})
_HOOK: Final = 5  # where `hook` stands, after the spare answer, its code, the Python and its script
_LAST_CODE: Final = 255


def main(words: Sequence[str]) -> int:
    """Do what the native program does with these words."""
    if list(words) == ["--version"]:
        say(f"hookline-hook {__version__} python")
        return 0
    if len(words) > _HOOK and words[_HOOK] == "hook":
        return _installed(words)
    by_hand = [word for word in words if word.startswith("-")] in ([], ["--if-broken"])
    if len(words) not in {2, 4} or not by_hand:
        complain(f"hookline-hook: {_USAGE}")
        return 1
    from hookline.cli.hook import answer_agent  # noqa: PLC0415 - much, and not needed for a slip in the words

    return answer_agent(words)


def _installed(words: Sequence[str]) -> int:
    """Answer a call in the settings of an agent; with the spare answer where nobody else does."""
    import os  # noqa: PLC0415 - as above
    import subprocess  # noqa: PLC0415

    out, err, code, python, cold = words[:_HOOK]
    if not code.isdecimal() or int(code) > _LAST_CODE:
        complain(f"hookline-hook: {_USAGE}")
        return 1
    try:
        # a Python without its script ends with 2, which would be taken for an answer
        done = (
            None
            if not os.access(cold, os.R_OK)
            else subprocess.run([python, "-E", "-P", "-S", cold, *words[_HOOK:]], capture_output=True, check=False)
        )
    except OSError:
        done = None
    if done is not None and done.returncode in _ANSWERS:
        _say(done.stdout, done.stderr)
        return done.returncode
    # some agents do not expect that nobody reads
    while sys.stdin is not None and sys.stdin.buffer.read(1 << 16):
        pass
    _say(*(os.fsencode(f"{text}\n") if text else b"" for text in (out, err)))
    return int(code)


def _say(out: bytes, err: bytes) -> None:
    # what is to be read beside the answer first: some stop reading with the answer
    for stream, raw in ((sys.stderr, err), (sys.stdout, out)):
        if raw and stream is not None:
            stream.buffer.write(raw)
            stream.flush()
