"""`hookline remove`: remove hooks from their files."""

import argparse
from typing import Final

from hookline.cli._command import CliCommand
from hookline.cli._edit_session import (
    HOOK_OPTIONS,
    ConfigFile,
    Draft,
    assert_only_intended_change,
    group_by_file,
    hook_diff,
    join_ids,
    open_session,
    read_file,
    shadowed_duplicates,
)
from hookline.config import edit
from hookline.model.hook import Hook


def run(args: argparse.Namespace) -> int:
    """Remove the hooks."""
    with open_session(args) as session:
        drafts: list[Draft] = []
        removed: list[Hook] = []
        for file, hooks in group_by_file(session, args.hooks):
            raw, before = read_file(file)
            text = remove_hooks(file, before, hooks)
            gone, gained = hook_diff(session.project, file, before, text)
            pointers = {hook.source_pointer for hook in hooks}
            is_intended = not gained and {hook.source_pointer for hook in gone} == pointers
            assert_only_intended_change(file, is_intended=is_intended)
            drafts.append(Draft(file=file, before=raw, text=text))
            removed += hooks
        notes = shadowed_duplicates(session.project, removed)
        return session.finish([draft.change for draft in drafts], f"removed {join_ids(removed)}", notes=notes)


def remove_hooks(file: ConfigFile, before: str, hooks: list[Hook]) -> str | None:
    """Return a text without these hooks; None if the file was nothing but one of them."""
    text = before
    # the last one first, so that the pointers of the others stay valid
    for hook in sorted(hooks, key=lambda hook: _sort_key(hook.source_pointer), reverse=True):
        if not hook.source_pointer:
            return None
        text = edit.drop(text, hook.source_pointer, path=file.path, prune=True)
    return text


def _sort_key(pointer: tuple[str | int, ...]) -> list[tuple[int, str]]:
    return [(step, "") if isinstance(step, int) else (0, step) for step in pointer]


COMMAND: Final = CliCommand(
    "remove hooks from their files, which keep everything else",
    *HOOK_OPTIONS,
    example="guard --dry-run",
    run=run,
)
