"""`hookline remove`: remove hooks from their files."""

import argparse
from typing import Final

from hookline.cli._command import CliCommand
from hookline.cli._edit_session import HOOK_OPTIONS, ConfigFile, join_ids, open_session
from hookline.config import edit
from hookline.config.undo_log import FileEdit
from hookline.model.hook import Hook


def run(args: argparse.Namespace) -> int:
    """Remove the hooks."""
    with open_session(args) as session:
        changes: list[FileEdit] = []
        removed: list[Hook] = []
        for file, hooks in session.group_by_file(args.hooks):
            raw, before = file.read()
            text = remove_hooks(file, before, hooks)
            gone, gained = session.diff(file, before, text)
            pointers = {hook.source_pointer for hook in hooks}
            file.require(is_intended=not gained and {hook.source_pointer for hook in gone} == pointers)
            changes.append(file.edit(raw, text))
            removed += hooks
        return session.finish(changes, f"removed {join_ids(removed)}", notes=session.list_unshadowed(removed))


def remove_hooks(file: ConfigFile, before: str, hooks: list[Hook]) -> str | None:
    """Return a text without these hooks; None if the file was nothing but one of them."""

    def position(hook: Hook) -> list[tuple[int, str]]:
        return [(part, "") if isinstance(part, int) else (0, part) for part in hook.source_pointer]

    text = before
    # the last one first, so that the pointers of the others stay valid
    for hook in sorted(hooks, key=position, reverse=True):
        if not hook.source_pointer:
            return None
        text = edit.drop(text, hook.source_pointer, path=file.path, prune=True)
    return text


COMMAND: Final = CliCommand(
    "remove hooks from their files, which keep everything else", *HOOK_OPTIONS, example="guard --dry-run", run=run
)
