"""What `enable` and `disable` share."""

import argparse

from hookline.builtin.catalogue import PREFIX
from hookline.cli._builtins import switch_builtins
from hookline.cli._change import (
    ConfigFile,
    Draft,
    Session,
    add_options,
    difference,
    file_of,
    insist,
    listed,
    session,
    text_of,
    trust_note,
    twins,
)
from hookline.cli._keys import keys_of
from hookline.cli._project import hook_named
from hookline.config import edit
from hookline.config.vocabulary import quoted
from hookline.errors import ConfigError
from hookline.model.hook import Hook


def configure(parser: argparse.ArgumentParser) -> None:
    """Say which arguments it takes."""
    parser.add_argument("hooks", nargs="+", metavar="HOOK", help="the hook's id, or its name")
    add_options(parser)


def by_file(change: Session, names: list[str]) -> list[tuple[ConfigFile, list[Hook]]]:
    """Find the hooks that were named, each once, together with those of the same file."""
    hooks = {hook.id: hook for hook in (hook_named(change.project, name) for name in names)}
    files = {hook.source_path: file_of(change.project, hook) for hook in hooks.values()}
    return [(file, [hook for hook in hooks.values() if hook.source_path == path]) for path, file in files.items()]


def switch(args: argparse.Namespace, *, on: bool) -> int:
    """Switch hooks on or off in the files where they stand, built-in ones in the person's settings."""
    with session(args) as change:
        drafts: list[Draft] = []
        done: list[Hook] = []
        notes: list[str] = []
        built_in = {name for name in args.hooks if name.startswith(PREFIX)}
        if built_in and built_in != set(args.hooks):
            raise ConfigError("built-in hooks are switched in your settings, others where they stand: name them apart")
        if built_in:
            return switch_builtins(change, [hook_named(change.project, name) for name in args.hooks], on=on)
        for file, hooks in by_file(change, args.hooks):
            different = [hook for hook in hooks if hook.enabled is not on]
            notes += [f'"{hook.id}" is switched {_word(on=on)} already' for hook in hooks if hook.enabled is on]
            raw, before = text_of(file)
            text = before
            for hook in different:
                _has_a_switch(hook)
                text = edit.put(text, (*hook.source_pointer, "enabled"), on, path=file.path)
            gone, gained = difference(change.project, file, before, text)
            insist(
                file,
                as_meant=_places(gone) == _places(gained) == _places(different)
                and all(hook.enabled is on for hook in gained),
            )
            drafts.append(Draft(file=file, before=raw, text=text))
            done += different
            notes += [trust_note(change.project, hook) for hook in gained] if on else twins(change.project, different)
        what = f"switched {_word(on=on)} {listed(done)}"
        return change.finish([draft.change for draft in drafts], what, notes=notes)


def _has_a_switch(hook: Hook) -> None:
    """Refuse to write a switch into the file of an agent that does not know it and would run the hook all the same.

    Raises:
        ConfigError: The agent has none.
    """
    keys = keys_of(hook.source_format)
    if hook.agents and keys is not None and "enabled" not in keys:
        raise ConfigError(
            f"hook {quoted(hook.id)} stands in a file of {', '.join(hook.agents)}, where a hook cannot be switched off; "
            f"`hookline remove {hook.id}` takes it out, and agents_files in your settings leaves the file to its agent",
            path=hook.source_path,
            line=hook.source_line,
        )


def _places(hooks: list[Hook]) -> set[tuple[str | int, ...]]:
    return {hook.source_pointer for hook in hooks}


def _word(*, on: bool) -> str:
    return "on" if on else "off"
