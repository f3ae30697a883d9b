"""`hookline share`: hooks and their scripts in one file that others can install."""

import argparse
import os
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from hookline.cli._output import complain, say, say_bytes, say_json
from hookline.cli._project import add_json, add_project, hook_named, opened
from hookline.config.pack import NAME, Pack, PackFile, write
from hookline.config.scripts import command_of
from hookline.config.values import slug
from hookline.config.vocabulary import Vocabulary, quoted
from hookline.config.writing import Target
from hookline.config.writing import write as write_hook
from hookline.errors import ConfigError
from hookline.model.hook import Hook
from hookline.redact import redact
from hookline.wiring import native_names, native_tools, shell_dialects
from hookline.workspace import Opened

HELP: Final = "put hooks and their scripts into one file for others; `hookline add --from FILE` installs it"
EXAMPLE: Final = "hookline share guard --output guard.hooks.toml"

# what a name gives away about its value
_SECRET_NAME: Final = re.compile(r"token|secret|passw|api_?-?key|authorization|cookie|credential", re.IGNORECASE)


def configure(parser: argparse.ArgumentParser) -> None:
    """Say which arguments it takes."""
    parser.add_argument("hooks", metavar="HOOK", nargs="+", help="a hook's id or name")
    parser.add_argument("--output", type=Path, metavar="FILE", help="write it to this file, not to stdout")
    parser.add_argument("--name", default="", help="what the pack is called; like its first hook unless you say")
    parser.add_argument("--version", default="", metavar="V", help="the version of the pack")
    parser.add_argument("--force", action="store_true", help="write over a file that is there")
    parser.add_argument(
        "--as-is", action="store_true", help="carry scripts even where something in them looks like a secret"
    )
    add_project(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Write the pack."""
    project = opened(args)
    packer = Packer(project, as_is=args.as_is)
    chosen = [hook_named(project, name) for name in dict.fromkeys(args.hooks)]
    for hook in chosen:
        packer.add(hook)
    packer.left_out += _steps_left_out(project, chosen)
    pack = packer.pack(args.name, version=args.version)
    text = write(pack)
    if args.output is not None:
        _save(args.output, text, force=args.force)
    if args.json:
        say_json(
            {
                "name": pack.name,
                "version": pack.version,
                "output": str(args.output) if args.output else None,
                "hooks": [hook["name"] for hook in pack.hooks],
                "files": [file.path for file in pack.files],
                "left_out": packer.left_out,
                "pack": None if args.output else text,
            }
        )
        return 0
    for note in packer.left_out:
        complain(f"left out: {note}")
    if args.output is None:
        say_bytes(text.encode())
        return 0
    carried = ", ".join(file.path for file in pack.files) or "no files"
    count = f"{len(pack.hooks)} {'hook' if len(pack.hooks) == 1 else 'hooks'}"
    say(f"{args.output}: {count}, with {carried}")
    say(f"Others install it with: hookline add --from {shlex.quote(args.output.name)}")
    return 0


def _steps_left_out(project: Opened, chosen: Sequence[Hook]) -> Iterator[str]:
    """Name the steps of lists that are not shared with them: where they are missing, the list has failed."""
    names, carried = project.engine.planner.names(), {hook.id for hook in chosen}
    for hook in chosen:
        for name in dict.fromkeys(hook.steps):
            step = names.find(name, by=hook)
            if step is None or step.id not in carried:
                yield f"{hook.id}: its step {quoted(name)}; name it, too, so that others have it"


def _save(path: Path, text: str, *, force: bool) -> None:
    try:
        with path.open("w" if force else "x", encoding="utf-8", newline="") as stream:
            stream.write(text)
    except FileExistsError:
        raise ConfigError("there is such a file already; write over it with --force", path=str(path)) from None
    except OSError as problem:
        raise ConfigError(f"the pack cannot be written: {problem.strerror}", path=str(path)) from None


class Packer:
    """Collects hooks and their files; `left_out` says what is not carried."""

    def __init__(self, project: Opened, *, as_is: bool = False) -> None:
        self._project = project
        self._as_is = as_is
        self._vocabulary = Vocabulary(names=native_names(), tools=native_tools(), shell_dialects=shell_dialects())
        self._tables: list[Mapping[str, object]] = []
        self._files: dict[str, PackFile] = {}
        self._first = ""
        self.left_out: list[str] = []

    def pack(self, name: str, *, version: str = "") -> Pack:
        """Give everything that was collected.

        Raises:
            ConfigError: The name is none.
        """
        chosen = name or re.sub(r"[^A-Za-z0-9._-]+", "-", self._first).strip("-._") or "hooks"
        if not NAME.fullmatch(chosen):
            raise ConfigError(f"{quoted(chosen)} is no name for a pack: letters, digits, dots and dashes, 64 at most")
        return Pack(name=chosen, version=version, hooks=tuple(self._tables), files=tuple(self._files.values()))

    def add(self, hook: Hook) -> None:
        """Take one hook, with every file that belongs to it.

        Raises:
            ConfigError: It cannot be carried: a file lies elsewhere, a shell line names one, it has a secret in it.
        """
        self._first = self._first or hook.id
        identity = self._project.engine.trust.identity(hook, cwd=str(self._project.root))
        files = identity.files
        if problem := identity.problem or _missing(hook, files):
            raise ConfigError(problem, path=hook.source_path, line=hook.source_line)
        if files and self._is_line(hook):
            raise ConfigError(
                f"hook {quoted(hook.id)} is a line for a shell, whose files cannot be told apart from its words; "
                'write it as words, run = ["bash", "script.sh"], to share it',
                path=hook.source_path,
                line=hook.source_line,
            )
        places = {path: self._carry(hook, path, content) for path, content in files.items()}
        moved = _moved(hook, places)
        self._refuse_secrets(moved)
        written = write_hook(self._plain(moved), "native", Target(dialect="hookline", vocabulary=self._vocabulary))
        if not written.entries:
            raise ConfigError("; ".join(written.lost), path=hook.source_path, line=hook.source_line)
        self.left_out += written.lost
        self._tables += [entry.value for entry in written.entries]

    def _is_line(self, hook: Hook) -> bool:
        if hook.kind != "command":
            return False
        by_default = hook.dialect in self._vocabulary.shell_dialects and not hook.args
        return hook.shell if hook.shell is not None else by_default

    def _carry(self, hook: Hook, path: str, content: bytes) -> str:
        """Take one file, and say what it is called in the pack."""
        name = _module_name(hook, path) or self._inside(hook, path)
        file = PackFile(path=name, content=content, executable=os.access(path, os.X_OK))
        taken = self._files.get(name)
        if taken is not None and taken.content != content:
            file = replace(file, path=f"{slug(hook.id).replace(':', '-')}/{name}")
        if not self._as_is and (line := _secret_line(content)):
            raise ConfigError(
                "something here looks like a secret; take it out, or carry it all the same with --as-is",
                path=path,
                line=line,
            )
        self._files[file.path] = file
        return file.path

    def _inside(self, hook: Hook, path: str) -> str:
        """Count a path from the folder of the hook's file, else from the one its names are counted from."""
        for base in (os.path.dirname(hook.source_path), hook.root):  # noqa: PTH120 - texts, as hooks have them
            if base and Path(path).is_relative_to(base):
                return Path(path).relative_to(base).as_posix()
        raise ConfigError(
            f"hook {quoted(hook.id)} needs {path}, which lies outside its folder; copy it beside the hook first",
            path=hook.source_path,
            line=hook.source_line,
        )

    def _plain(self, hook: Hook) -> Hook:
        """Leave out what is only right here: secrets, and folders of this machine."""
        kept = {}
        for field in ("env", "headers"):
            values: Mapping[str, str] = getattr(hook, field)
            hidden = [name for name, value in values.items() if _is_secret(name, value)]
            kept[field] = {name: value for name, value in values.items() if name not in hidden}
            self.left_out += [f"{hook.id}: {field}.{name} looks like a secret" for name in hidden]
        folder = hook.working_directory
        if Path(folder).is_absolute():
            self.left_out.append(f"{hook.id}: cwd is a folder of this machine")
            folder = ""
        return replace(hook, **kept, working_directory=folder, name=hook.name or hook.id)

    def _refuse_secrets(self, hook: Hook) -> None:
        for text in (" ".join([hook.command, *hook.args]), hook.url, hook.prompt):
            if redact(text) != text and not self._as_is:
                raise ConfigError(
                    f"what hook {quoted(hook.id)} runs looks like it has a secret in it; put it into the environment, "
                    "or carry it all the same with --as-is",
                    path=hook.source_path,
                    line=hook.source_line,
                )


def _missing(hook: Hook, files: Mapping[str, bytes]) -> str:
    """Say which file a hook names in its own folders, and is not there to be carried."""
    homes = [base for base in (os.path.dirname(hook.source_path), hook.root) if base]  # noqa: PTH120 - as above
    for word in _command_words(hook):
        own = Path(word).is_absolute() and any(Path(word).is_relative_to(base) for base in homes)
        if own and os.path.normpath(word) not in files:
            return f"hook {quoted(hook.id)} needs {word}, which is not there"
    return ""


def _command_words(hook: Hook) -> list[str]:
    if hook.args:
        return [hook.command, *hook.args]
    try:
        return shlex.split(hook.command)
    except ValueError:
        # unbalanced quotes: whoever runs the command says so
        return [hook.command]


def _moved(hook: Hook, places: Mapping[str, str]) -> Hook:
    """Name the files as they are called in the pack; what the command does not name is included."""
    if not places:
        return hook
    words = _command_words(hook)
    renamed = [places.get(os.path.normpath(word), word) for word in words]
    named = {*renamed, *(place for path, place in places.items() if _module_name(hook, path))}
    includes = tuple(sorted(set(places.values()) - named))
    if not words:
        return replace(hook, includes=includes)
    program = renamed[0] if "/" in renamed[0] or renamed[0] == words[0] else f"./{renamed[0]}"
    args = tuple(renamed[1:])
    return replace(hook, command=command_of(program, args), args=args, includes=includes)


def _module_name(hook: Hook, path: str) -> str:
    """Say where a Python hook's own module has to lie in the pack to be found."""
    wanted = f"{hook.module.replace('.', '/')}.py"
    return wanted if hook.module and Path(path).as_posix().endswith(f"/{wanted}") else ""


def _is_secret(name: str, value: str) -> bool:
    if not value or value.startswith("$"):
        return False
    said = f"{name}: {value}"
    return _SECRET_NAME.search(name) is not None or redact(said) != said or redact(value) != value


def _secret_line(content: bytes) -> int:
    """Give the first line that looks like it has a secret in it, 0 when none does."""
    lines: Iterable[str] = content.decode("utf-8", "replace").splitlines()
    return next((number for number, line in enumerate(lines, 1) if redact(line) != line), 0)
