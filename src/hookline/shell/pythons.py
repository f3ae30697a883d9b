"""How a command starts Python: with a script, whose folder its modules come from, or with a module or code."""

from typing import Final

from hookline.shell.script import Script, ScriptStep, SimpleCommand, Word
from hookline.shell.walk import Walk

_SAFE_PATH: Final = "PYTHONSAFEPATH"
# programs that start others without the variables they were given, or with others
_OTHER_ENVIRONMENT: Final = frozenset({"env", "sudo", "doas", "su", "runuser", "pkexec", "systemd-run", "nix-shell"})


def script_of_words(words: tuple[str, ...]) -> Script:
    """Return the script that consists of one command with exactly these words."""
    return Script(steps=(ScriptStep(SimpleCommand(words=tuple(Word(text=word, raw=word) for word in words))),))


def list_pythons(walk: Walk) -> tuple[str, ...]:
    """Return the programs that start Python, as they are written."""
    return tuple(command.words[0].text for command in walk.commands if command.name == "python")


def can_set_safe_path(walk: Walk) -> bool:
    """Return whether PYTHONSAFEPATH keeps every Python from the folder it runs in, and none from a folder of its own.

    Python that runs a script needs the folder of the script. Python without a script runs a module, code or its input.
    """
    for command in walk.commands:
        is_assigned = any(one.name == _SAFE_PATH for one in command.assignments)
        if is_assigned or any(_SAFE_PATH in word.text for word in command.words):
            return False
    pythons = [command for command in walk.commands if command.name == "python"]
    for python in pythons:
        arguments = python.arguments
        runs_script = arguments.operands and arguments.operands[0].text != "-"
        if runs_script and not arguments.has_role("code", "module"):
            return False
        if arguments.has("-E") or not _OTHER_ENVIRONMENT.isdisjoint(python.wrappers):
            return False
    return bool(pythons)
