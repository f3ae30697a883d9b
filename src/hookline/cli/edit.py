"""`hookline edit`: change keys of a hook where it stands, or its whole file in an editor."""

import argparse
import os
import shlex
import subprocess
import tempfile
from pathlib import Path
from typing import Final

from hookline.cli._assignment import split, value_of
from hookline.cli._change import (
    ConfigFile,
    Draft,
    Session,
    add_options,
    difference,
    file_of,
    fresh_problems,
    hooks_in,
    insist,
    is_free,
    listed,
    missing_notes,
    session,
    text_of,
    trust_note,
    twins,
)
from hookline.cli._keys import in_a_group, keys_of
from hookline.cli._output import complain
from hookline.cli._project import hook_named, opened
from hookline.config import edit
from hookline.config.document import KeyPath
from hookline.config.values import table
from hookline.config.vocabulary import hint, quoted
from hookline.errors import ConfigError
from hookline.model.hook import Hook

HELP: Final = "change keys of a hook in its file, which keeps everything else"
EXAMPLE: Final = "hookline edit guard timeout=10 env.LEVEL=strict --unset priority"


def configure(parser: argparse.ArgumentParser) -> None:
    """Say which arguments it takes."""
    parser.add_argument("hook", metavar="HOOK", help="the hook's id, or its name")
    parser.add_argument(
        "assignments", nargs="*", metavar="KEY=VALUE", help="a key of the hook's file, such as timeout=10"
    )
    parser.add_argument("--unset", action="append", default=[], metavar="KEY", help="take a key out")
    parser.add_argument(
        "--editor", action="store_true", help="open the file in $VISUAL or $EDITOR; it is checked after"
    )
    add_options(parser)


def run(args: argparse.Namespace) -> int:
    """Change the hook."""
    if args.editor and (args.assignments or args.unset):
        raise ConfigError("--editor goes alone: the editor is where keys are changed then")
    if not (args.editor or args.assignments or args.unset):
        raise ConfigError("say what to change: KEY=VALUE, --unset KEY or --editor")
    return _in_editor(args) if args.editor else _keys(args)


def _keys(args: argparse.Namespace) -> int:
    with session(args) as change:
        hook = hook_named(change.project, args.hook)
        file = file_of(change.project, hook)
        raw, before = text_of(file)
        text = before
        for name in args.unset:
            text = edit.drop(text, _place(hook, name, text, file), path=file.path)
        for assignment in args.assignments:
            name, word = split(assignment)
            text = edit.put(text, _place(hook, name, text, file), _value(hook, name, word), path=file.path)
        gone, gained = difference(change.project, file, before, text)
        places = {one.source_pointer for one in (*gone, *gained)}
        insist(file, as_meant=places <= {hook.source_pointer} and len(gained) == len(gone))
        for one in gained:
            if one.id not in {old.id for old in gone}:
                is_free(change.project, one)
        changed = [*args.unset, *(one.partition("=")[0] for one in args.assignments)]
        what = f'changed {", ".join(changed)} of "{hook.id}"'
        notes = [trust_note(change.project, one) for one in gained]
        notes += missing_notes(change.project, gone, gained)
        notes += twins(change.project, [hook]) if gained else []
        return change.finish([Draft(file=file, before=raw, text=text).change], what, notes=notes)


def _place(hook: Hook, name: str, text: str, file: ConfigFile) -> KeyPath:
    """Say where a key of a hook stands; `env.NAME` is a key inside a table."""
    known = keys_of(hook.source_format)
    first, *rest = name.split(".", 1)
    if known is not None and first not in known:
        raise ConfigError(
            f"hooks of this file have no key {quoted(first)}{hint(first, known)}; they have {', '.join(sorted(known))}",
            path=hook.source_path,
            line=hook.source_line,
        )
    pointer = hook.source_pointer
    if first != "matcher" or not in_a_group(pointer):
        return (*pointer, first, *rest)
    # the matcher belongs to the group, so it may be others' matcher, too
    group = pointer[:-2]
    others = [one for one in hooks_in(file, text)[0] if one.source_pointer[: len(group)] == group]
    if len(others) > 1:
        raise ConfigError(
            f"the matcher is shared with {len(others) - 1} more in its group; give the hook a group of its own first",
            path=hook.source_path,
            line=hook.source_line,
        )
    return (*group, "matcher")


def _value(hook: Hook, name: str, word: str) -> object:
    """Read a value as the hook's format has it."""
    first, *rest = name.split(".", 1)
    key = (keys_of(hook.source_format) or {}).get(first)
    if key is not None and rest and key.read is table:
        # tables hold texts: a version 1.10 must not become 1.1
        return word
    return value_of(name, word, None if rest else key)


def _in_editor(args: argparse.Namespace) -> int:
    """Let the person edit a copy; only what can be loaded takes the place of the file."""
    program = os.environ.get("VISUAL") or os.environ.get("EDITOR")
    if not program:
        raise ConfigError("no editor is known: set VISUAL or EDITOR, for example EDITOR=nano")
    project = opened(args)
    file = file_of(project, hook_named(project, args.hook))
    raw, before = text_of(file)
    copy = Path(tempfile.mkdtemp(prefix="hookline-")) / Path(file.path).name
    copy.write_bytes(raw or b"")
    try:
        code = subprocess.run([*shlex.split(program), str(copy)], check=False).returncode
    except (OSError, ValueError) as problem:
        _discard(copy)
        raise ConfigError(f"the editor {quoted(program)} cannot be started: {problem}") from None
    if code and copy.read_bytes() == (raw or b""):
        _discard(copy)
        raise ConfigError(f"the editor ended with {code}; nothing was changed")
    if code:
        raise ConfigError(f"the editor ended with {code}; nothing was changed, your text is kept in {copy}")
    try:
        text = copy.read_bytes().decode()
        _loads(file, before, text, copy)
        with session(args) as change:
            code = _written(change, file, raw, text)
    except FileNotFoundError:
        raise ConfigError("the editor took the text away; nothing was changed") from None
    except UnicodeDecodeError:
        raise ConfigError(f"the text is not UTF-8; nothing was changed, your text is kept in {copy}") from None
    except (ConfigError, OSError) as problem:
        message = problem.message if isinstance(problem, ConfigError) else str(problem)
        raise ConfigError(f"{message}; your text is kept in {copy}") from None
    _discard(copy)
    return code


def _discard(copy: Path) -> None:
    copy.unlink()
    copy.parent.rmdir()


def _loads(file: ConfigFile, before: str, text: str, copy: Path) -> None:
    """Show everything that would be wrong, at its line of the copy."""
    wrong = fresh_problems(hooks_in(file, before)[1], hooks_in(file, text)[1])
    for problem in wrong:
        complain(f"{copy}:{problem.line}: {problem.message}")
    if wrong:
        raise ConfigError("the text cannot be used as it is; nothing was changed")


def _written(change: Session, file: ConfigFile, raw: bytes | None, text: str) -> int:
    gone, gained = difference(change.project, file, (raw or b"").decode(), text)
    there = {hook.id for hook in gained}
    lost = [hook for hook in gone if hook.id not in there]
    said = (f"{word} {listed(some)}" for word, some in (("edited", gained), ("removed", lost)) if some)
    what = ", ".join(said) or "edited no hook"
    notes = [trust_note(change.project, hook) for hook in gained]
    draft = Draft(file=file, before=raw, text=text)
    return change.finish([draft.change], what, notes=notes)
