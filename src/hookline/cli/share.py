"""`hookline share`: pack hooks and their scripts into one file that others can install."""

import argparse
import os
import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from hookline.cli._command import COMMON, CliCommand, argument, flag
from hookline.cli._edit_session import load_known_names
from hookline.cli._output import pluralise, print_bytes, print_error, render
from hookline.cli._project import hook_error, load_from_args
from hookline.config.export import ExportTarget
from hookline.config.export import write as write_hook
from hookline.config.keys import slug
from hookline.config.pack import NAME, Pack, PackFile, write
from hookline.config.script_paths import quote_program
from hookline.debug.explain import uses_shell
from hookline.errors import ConfigError
from hookline.model.hook import Hook, describe_actions
from hookline.project import Project
from hookline.text import quote, redact
from hookline.views import find_hook

# names of values that are secrets
_SECRET_NAME: Final = re.compile(r"token|secret|passw|api_?-?key|authorization|cookie|credential", re.IGNORECASE)


def run(args: argparse.Namespace) -> int:
    """Write the pack."""
    project = load_from_args(args)
    packer = Packer(project, as_is=args.as_is)
    chosen = [find_hook(project, name) for name in dict.fromkeys(args.hooks)]
    for hook in chosen:
        packer.add(hook)
    # without a step that is not shared with it, a list fails
    names, carried_ids = project.planner.names(), {hook.id for hook in chosen}
    for hook in chosen:
        for name in dict.fromkeys(hook.steps):
            step = names.find(name, by=hook)
            if step is None or step.id not in carried_ids:
                packer.left_out.append(f"{hook.id}: its step {quote(name)}; name it, too, so that others have it")
    pack = packer.pack(args.name, version=args.version)
    text = write(pack)
    if args.output is not None:
        path = str(args.output)
        try:
            with args.output.open("w" if args.force else "x", encoding="utf-8", newline="") as stream:
                stream.write(text)
        except FileExistsError:
            raise ConfigError("there is such a file already; write over it with --force", path=path) from None
        except OSError as problem:
            raise ConfigError(f"the pack cannot be written: {problem.strerror}", path=path) from None
    if args.json:
        value = {
            "name": pack.name,
            "version": pack.version,
            "output": str(args.output) if args.output else None,
            "hooks": [hook["name"] for hook in pack.hooks],
            "files": [file.path for file in pack.files],
            "left_out": packer.left_out,
            "pack": None if args.output else text,
        }
        return render(args, value)
    for note in packer.left_out:
        print_error(f"left out: {note}")
    if args.output is None:
        print_bytes(text.encode())
        return 0
    carried = ", ".join(file.path for file in pack.files) or "no files"
    return render(
        args,
        None,
        f"{args.output}: {pluralise(len(pack.hooks), 'hook')}, with {carried}",
        f"Others install it with: hookline add --from {shlex.quote(args.output.name)}",
    )


class Packer:
    """Collects hooks and their files; `left_out` lists what the pack does not contain."""

    def __init__(self, project: Project, *, as_is: bool = False) -> None:
        self._project = project
        self._as_is = as_is
        self._known_names = load_known_names()
        self._tables: list[Mapping[str, object]] = []
        self._files: dict[str, PackFile] = {}
        self._first = ""
        self.left_out: list[str] = []

    def pack(self, name: str, *, version: str = "") -> Pack:
        """Return the pack.

        Raises:
            ConfigError: The name is not valid.
        """
        chosen = name or re.sub(r"[^A-Za-z0-9._-]+", "-", self._first).strip("-._") or "hooks"
        if not NAME.fullmatch(chosen):
            raise ConfigError(f"{quote(chosen)} is no name for a pack: letters, digits, dots and dashes, 64 at most")
        return Pack(name=chosen, version=version, hooks=tuple(self._tables), files=tuple(self._files.values()))

    def add(self, hook: Hook) -> None:
        """Add a hook with its files.

        Raises:
            ConfigError: It cannot be packed: a file is outside its folder, a shell line names one, or it has a secret.
        """
        self._first = self._first or hook.id
        identity = self._project.trust.fingerprint(hook, cwd=str(self._project.root))
        files = identity.files
        if problem := identity.problem or _find_missing(hook, files):
            raise hook_error(hook, problem)
        if files and hook.kind == "command" and uses_shell(hook):
            raise hook_error(
                hook,
                f"hook {quote(hook.id)} is a line for a shell, whose files cannot be told from its other words; "
                'write it as words, run = ["bash", "script.sh"], to share it',
            )
        places = {path: self._add_file(hook, path, content) for path, content in files.items()}
        moved = _rename_files(hook, places)
        command = " ".join([moved.command, *moved.args])
        for text in (command, moved.url, moved.prompt, moved.judge, describe_actions(moved)):
            if redact(text) != text and not self._as_is:
                raise hook_error(
                    hook,
                    f"what hook {quote(hook.id)} runs looks like it has a secret in it; put it into the environment, "
                    "or carry it all the same with --as-is",
                )
        target = ExportTarget(dialect="hookline", known_names=self._known_names)
        written = write_hook(self._strip(moved), "native", target)
        if not written.entries:
            raise hook_error(hook, "; ".join(written.losses))
        self.left_out += written.losses
        self._tables += [entry.value for entry in written.entries]

    def _add_file(self, hook: Hook, path: str, content: bytes) -> str:
        """Add a file, and return its path in the pack."""
        # relative to the folder of the hook's file, else to the hook's root
        bases = filter(None, (os.path.dirname(hook.source_path), hook.root))  # noqa: PTH120 - texts, as hooks have them
        inside = (Path(path).relative_to(base).as_posix() for base in bases if Path(path).is_relative_to(base))
        name = _get_module_path(hook, path) or next(inside, "")
        if not name:
            raise hook_error(
                hook, f"hook {quote(hook.id)} needs {path}, which is outside its folder; copy it beside the hook first"
            )
        file = PackFile(path=name, content=content, executable=os.access(path, os.X_OK))
        present = self._files.get(name)
        if present is not None and present.content != content:
            file = replace(file, path=f"{slug(hook.id).replace(':', '-')}/{name}")
        lines = enumerate(content.decode("utf-8", "replace").splitlines(), 1)
        line = next((number for number, text in lines if redact(text) != text), 0)
        if not self._as_is and line:
            raise ConfigError(
                "something here looks like a secret; take it out, or carry it all the same with --as-is",
                path=path,
                line=line,
            )
        self._files[file.path] = file
        return file.path

    def _strip(self, hook: Hook) -> Hook:
        """Return the hook without secrets and without folders of this machine."""
        kept = {}
        for field in ("env", "headers"):
            values: Mapping[str, str] = getattr(hook, field)
            hidden = []
            for name, value in values.items():
                pair = f"{name}: {value}"
                is_secret = _SECRET_NAME.search(name) or redact(pair) != pair or redact(value) != value
                if value and not value.startswith("$") and is_secret:
                    hidden.append(name)
            kept[field] = {name: value for name, value in values.items() if name not in hidden}
            self.left_out += [f"{hook.id}: {field}.{name} looks like a secret" for name in hidden]
        folder = hook.working_directory
        if Path(folder).is_absolute():
            self.left_out.append(f"{hook.id}: cwd is a folder of this machine")
            folder = ""
        return replace(hook, **kept, working_directory=folder, name=hook.name or hook.id)


def _find_missing(hook: Hook, files: Mapping[str, bytes]) -> str:
    """Return which file of a hook's own folders is missing; empty if none is."""
    homes = [base for base in (os.path.dirname(hook.source_path), hook.root) if base]  # noqa: PTH120 - as above
    for word in _command_words(hook):
        own = Path(word).is_absolute() and any(Path(word).is_relative_to(base) for base in homes)
        if own and os.path.normpath(word) not in files:
            return f"hook {quote(hook.id)} needs {word}, which is not there"
    return ""


def _command_words(hook: Hook) -> list[str]:
    if hook.args:
        return [hook.command, *hook.args]
    try:
        return shlex.split(hook.command)
    except ValueError:
        # unbalanced quotes: running the command reports them
        return [hook.command]


def _rename_files(hook: Hook, places: Mapping[str, str]) -> Hook:
    """Rename the files to their paths in the pack; those that the command does not name become `includes`."""
    if not places:
        return hook
    words = _command_words(hook)
    renamed = [places.get(os.path.normpath(word), word) for word in words]
    named = {*renamed, *(place for path, place in places.items() if _get_module_path(hook, path))}
    includes = tuple(sorted(set(places.values()) - named))
    if not words:
        return replace(hook, includes=includes)
    program = renamed[0] if "/" in renamed[0] or renamed[0] == words[0] else f"./{renamed[0]}"
    args = tuple(renamed[1:])
    return replace(hook, command=quote_program(program, args), args=args, includes=includes)


def _get_module_path(hook: Hook, path: str) -> str:
    """Return the path that a Python hook's module must have in the pack; empty for other files."""
    wanted = f"{hook.module.replace('.', '/')}.py"
    return wanted if hook.module and Path(path).as_posix().endswith(f"/{wanted}") else ""


COMMAND: Final = CliCommand(
    "put hooks and their scripts into one file for others; `hookline add --from FILE` installs it",
    argument("hooks", "a hook's id or name", metavar="HOOK", nargs="+"),
    argument("--output", "write it to this file, not to stdout", type=Path, metavar="FILE"),
    argument("--name", "what the pack is called; like its first hook unless you say", default=""),
    argument("--version", "the version of the pack", default="", metavar="V"),
    flag("--force", "write over a file that is there"),
    flag("--as-is", "carry scripts even where something in them looks like a secret"),
    *COMMON,
    example="guard --output guard.hooks.toml",
    run=run,
)
