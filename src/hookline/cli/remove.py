"""`hookline remove`: take hooks out of the files where they stand."""

import argparse
from typing import Final

from hookline.cli import _switch
from hookline.cli._change import ConfigFile, Draft, Session, difference, insist, listed, session, text_of, twins
from hookline.config import edit
from hookline.model.hook import Hook

HELP: Final = "take hooks out of their files, which keep everything else"
EXAMPLE: Final = "hookline remove guard --dry-run"

configure = _switch.configure


def run(args: argparse.Namespace) -> int:
    """Take them out."""
    with session(args) as change:
        found = _switch.by_file(change, args.hooks)
        drafts = [removed(change, file, hooks) for file, hooks in found]
        hooks = [hook for _, some in found for hook in some]
        return change.finish(
            [draft.change for draft in drafts], f"removed {listed(hooks)}", notes=twins(change.project, hooks)
        )


def removed(change: Session, file: ConfigFile, hooks: list[Hook]) -> Draft:
    """Take hooks out of one file, and make sure that nothing else goes."""
    raw, before = text_of(file)
    text = without(file, before, hooks)
    gone, gained = difference(change.project, file, before, text)
    insist(file, as_meant=not gained and {one.source_pointer for one in gone} == {one.source_pointer for one in hooks})
    return Draft(file=file, before=raw, text=text)


def without(file: ConfigFile, before: str, hooks: list[Hook]) -> str | None:
    """Take hooks out of a text; a file that was nothing but the hook goes, too."""
    text = before
    # the last first, so that the places of the others stay right
    for hook in sorted(hooks, key=lambda hook: _order(hook.source_pointer), reverse=True):
        if not hook.source_pointer:
            return None
        text = edit.drop(text, hook.source_pointer, path=file.path, prune=True)
    return text


def _order(pointer: tuple[str | int, ...]) -> list[tuple[int, str]]:
    return [(step, "") if isinstance(step, int) else (0, step) for step in pointer]
