"""`hookline enable` and `hookline disable`: switch hooks on or off in their files."""

import argparse
from collections.abc import Sequence
from functools import partial
from typing import Final

from hookline.builtin.catalogue import PREFIX, strip_prefix
from hookline.cli._command import CliCommand
from hookline.cli._edit_session import HOOK_OPTIONS, EditSession, get_format_keys, join_ids, open_session
from hookline.cli._project import find_hook, hook_error
from hookline.config import edit
from hookline.config.known_names import quote
from hookline.config.settings import TABLE
from hookline.config.undo_log import FileEdit
from hookline.errors import ConfigError
from hookline.model.hook import Hook, Layer

_BUILTINS: Final = (TABLE, "builtins")


def toggle_hooks(args: argparse.Namespace, *, on: bool) -> int:
    """Switch hooks on or off in their files, built-in ones in the user's settings."""
    word = "on" if on else "off"
    with open_session(args) as session:
        builtin = {name for name in args.hooks if name.startswith(PREFIX)}
        if builtin and builtin != set(args.hooks):
            raise ConfigError("built-in hooks are switched in your settings, others where they stand: name them apart")
        if builtin:
            return _toggle_builtins(session, [find_hook(session.project, name) for name in args.hooks], on=on)
        changes: list[FileEdit] = []
        done: list[Hook] = []
        notes: list[str] = []
        for file, hooks in session.group_by_file(args.hooks):
            different = [hook for hook in hooks if hook.enabled is not on]
            notes += [f'"{hook.id}" is switched {word} already' for hook in hooks if hook.enabled is on]
            raw, before = file.read()
            text = before
            for hook in different:
                _require_switch(hook)
                text = edit.put(text, (*hook.source_pointer, "enabled"), on, path=file.path)
            gone, gained = session.diff(file, before, text)
            # an invalid guard is loaded only while it is enabled
            left = [hook for hook in different if not hook.invalid]
            file.require(
                is_intended=_get_pointers(gone) == _get_pointers(different)
                and _get_pointers(gained) == _get_pointers(left)
                and all(hook.enabled is on for hook in gained),
            )
            changes.append(file.edit(raw, text))
            done += different
            notes += map(session.explain_trust, gained) if on else session.list_unshadowed(different)
        return session.finish(changes, f"switched {word} {join_ids(done)}", notes=notes)


def _get_pointers(hooks: list[Hook]) -> set[tuple[str | int, ...]]:
    return {hook.source_pointer for hook in hooks}


def _require_switch(hook: Hook) -> None:
    """Refuse to write `enabled` into the file of an agent that ignores the key and would run the hook anyway.

    Raises:
        ConfigError: The agent has no such key.
    """
    keys = get_format_keys(hook.source_format)
    if hook.agents and keys is not None and "enabled" not in keys:
        raise hook_error(
            hook,
            f"hook {quote(hook.id)} stands in a file of {', '.join(hook.agents)}, where a hook cannot be switched off; "
            f"`hookline remove {hook.id}` takes it out, and agents_files in your settings leaves the file to its agent",
        )


def _toggle_builtins(session: EditSession, hooks: Sequence[Hook], *, on: bool) -> int:
    """Write the list of enabled built-in hooks in the user's settings.

    Raises:
        ConfigError: The administrator switched one on, or the file cannot be changed.
    """
    different = [hook for hook in {hook.id: hook for hook in hooks}.values() if hook.enabled is not on]
    for hook in different:
        if hook.layer is Layer.MANAGED:
            raise ConfigError(
                f"hook {quote(hook.id)} is managed: the administrator of this machine switched it on, and only they "
                "switch it off"
            )
    word = "on" if on else "off"
    notes = [f'"{hook.id}" is switched {word} already' for hook in hooks if hook.enabled is on]
    notes += [f'"{hook.id}" runs from now on, in every project' for hook in different if on]
    file = session.find_file_at(session.project.folders.config / "hookline.toml")
    raw, text = file.read()
    if different:
        text = _edit_builtins(text, {strip_prefix(hook.id) for hook in different}, on=on, path=file.path)
    change = file.edit(raw, text if raw is not None or text else None)
    return session.finish([change], f"switched {word} {join_ids(different)}", notes=notes)


def _edit_builtins(text: str, names: set[str], *, on: bool, path: str) -> str:
    before = edit.value_of(text, path=path)
    value = edit.value_at(before, _BUILTINS)
    # a value that cannot be read is never overwritten
    if value is not None and not (isinstance(value, list) and all(isinstance(name, str) for name in value)):
        raise ConfigError(
            f'builtins in [{TABLE}] is no list of names such as ["read-only"]: correct it first', path=path
        )
    present = [str(name) for name in value or ()]
    if on:
        if edit.value_at(before, _BUILTINS[:1]) is None:
            # a table header at the end, as people write it, instead of an inline table
            text = f"{text.rstrip()}\n\n[{TABLE}]\n".lstrip("\n")
        return edit.put(text, _BUILTINS, [*present, *sorted(names)], path=path)
    left = [name for name in present if strip_prefix(name) not in names]
    return edit.put(text, _BUILTINS, left, path=path) if left else edit.drop(text, _BUILTINS, path=path, prune=True)


ENABLE: Final = CliCommand(
    "switch hooks on; their files keep everything else",
    *HOOK_OPTIONS,
    example="guard",
    run=partial(toggle_hooks, on=True),
)
DISABLE: Final = CliCommand(
    "switch hooks off; their files keep everything else",
    *HOOK_OPTIONS,
    example="guard",
    run=partial(toggle_hooks, on=False),
)
