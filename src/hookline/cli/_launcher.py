"""`hookline-hook` in Python, for systems where the native launcher could not be built."""

from collections.abc import Sequence
from typing import Final

from hookline.cli._output import print_error, print_line
from hookline.model.installed_entry import PROOF, PROVE
from hookline.version import __version__

_USAGE: Final = "wanted: hookline-hook [--if-broken block|allow] HOST EVENT, with the event on stdin"
_ANSWERS: Final = {PROOF: 0, PROOF + 2: 2}
_HOOK: Final = 1  # the index of `hook`, after the Python


def main(words: Sequence[str]) -> int:
    """Do what the native launcher does with these arguments."""
    if list(words) == ["--version"]:
        print_line(f"hookline-hook {__version__} python")
        return 0
    installed = [word for word in words if word != PROVE]
    if len(installed) > _HOOK and installed[_HOOK] == "hook":
        return _run_installed(installed, is_proven=PROVE in words)
    by_hand = [word for word in words if word.startswith("-")] in ([], ["--if-broken"])
    if len(words) not in {2, 4} or not by_hand:
        print_error(f"hookline-hook: {_USAGE}")
        return 1
    from hookline.cli.hook import answer_agent  # noqa: PLC0415 - a usage error does without

    return answer_agent(words)


def _run_installed(words: Sequence[str], *, is_proven: bool) -> int:
    """Run an entry in the settings of an agent; return 1 if there is no answer."""
    import subprocess  # noqa: PLC0415 - as above
    import sys  # noqa: PLC0415

    python, *call = words
    line = [python, "-E", "-P", "-m", "hookline", call[0], PROVE, *call[1:]]
    try:
        done = subprocess.run(line, capture_output=True, check=False)
    except OSError:
        return 1
    if done.returncode not in _ANSWERS:
        return 1
    # stderr first: some agents stop reading after the answer on stdout
    for stream, raw in ((sys.stderr, done.stderr), (sys.stdout, done.stdout)):
        if raw and stream is not None:
            stream.buffer.write(raw)
            stream.flush()
    return done.returncode if is_proven else _ANSWERS[done.returncode]
