"""Run what a document shows, and fail when it lies.

    python tools/documents.py README.md

All blocks of a document run in order, in one interpreter and one empty folder, `project` in an empty home folder:

* ```python blocks run, one after another, in one namespace.
* ```console blocks: lines after `$ ` run with bash (`> ` goes on with the line before), and what they print
  must be what the document shows below them. A command that fails must show what it says, or be followed
  by `$ echo $?`.
* ```toml and ```json blocks must parse.
* ```bash and ```sh blocks must be one of the above, or a file.

A comment right above a block changes that:

* `<!-- file: NAME -->` writes the block to that file instead; so does a first line `# file: NAME`. A name that
  begins with `~/` is counted from the home folder.
* `<!-- prints -->` above a ```text block: the last ```python block printed this.
* `<!-- not run: reason -->` leaves the block alone.

In what is shown, `...` stands for anything, alone on a line for any lines, and `<ms>` for a number.
"""

import contextlib
import io
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import tomllib
import traceback
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Final

COMMAND_SECONDS: Final = 120
OURS: Final = ("HOOK", "OLLAMA_", "XDG_", "PYTHON", "PYTEST", "VIRTUAL_ENV", "FORCE_COLOR", "BASH_ENV")

_FENCE: Final = re.compile(r"^(?P<indent> *)(?P<mark>`{3,}|~{3,})(?P<info>[^`]*)$")
_COMMENT: Final = re.compile(r"^\s*<!--\s*(?P<word>file|not run|prints)\s*(?::\s*(?P<value>.*?))?\s*-->\s*$")
_FILE_LINE: Final = re.compile(r"^(?:#|//)\s*file:\s*(\S+)\s*$")
_WILD: Final = re.compile(r"\.\.\.|<ms>")


class Lie(Exception):  # noqa: N818 - that is what it is
    """A document that does not do what it says."""


@dataclass(frozen=True)
class Block:
    """One fenced block: its language, its text, the line of its fence and what the comment above says."""

    language: str
    text: str
    line: int
    notes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Command:
    """One command of a console block, and what the document says it prints."""

    text: str
    shown: str
    may_fail: bool = False


@dataclass
class Place:
    """Where a document runs: the folder, the namespace of its Python, and what that printed last."""

    document: str
    folder: Path
    main: ModuleType
    printed: str = ""


def blocks(text: str) -> Iterator[Block]:
    """Find the fenced blocks of a Markdown document."""
    lines = text.splitlines()
    number = 0
    notes: dict[str, str] = {}
    while number < len(lines):
        fence = _FENCE.match(lines[number])
        if fence:
            end = _closing(lines, number, mark=fence["mark"])
            body = [line.removeprefix(fence["indent"]) for line in lines[number + 1 : end]]
            language = (fence["info"].split() or [""])[0]
            yield Block(language, "".join(f"{line}\n" for line in body), number + 1, notes)
            number, notes = end, {}
        elif note := _COMMENT.match(lines[number]):
            notes = {**notes, note["word"]: note["value"] or ""}
        elif lines[number].strip():
            notes = {}
        number += 1


def _closing(lines: list[str], start: int, *, mark: str) -> int:
    for number in range(start + 1, len(lines)):
        line = lines[number].strip()
        if line.startswith(mark) and not line.strip(mark[0]):
            return number
    return len(lines)


def commands(text: str) -> list[Command]:
    """Split a console block into its commands."""
    found: list[tuple[list[str], list[str]]] = []
    for line in text.splitlines():
        if line.startswith("$ "):
            found.append(([line[2:]], []))
        elif not found:
            raise Lie(f"a console block starts with '$ ', not with {line!r}")
        elif line.startswith("> ") and not found[-1][1]:
            found[-1][0].append(line[2:])
        else:
            found[-1][1].append(line)
    texts = ["\n".join(command) for command, _ in found]
    asked = [following.startswith("echo $?") for following in [*texts[1:], ""]]
    return [
        Command(text, "\n".join(shown), may_fail)
        for text, (_, shown), may_fail in zip(texts, found, asked, strict=True)
    ]


def shows(shown: str, printed: str) -> bool:
    """Tell whether a document's output is what was printed, with `...` and `<ms>` filled in."""
    wanted = [line.rstrip() for line in shown.strip("\n").splitlines()]
    pattern = "".join(r"(?:.*\n)*?" if line.strip() == "..." else f"{_line_pattern(line)}\n" for line in wanted)
    lines = "".join(f"{line.rstrip()}\n" for line in printed.strip("\n").splitlines())
    return re.fullmatch(pattern, lines) is not None


def _line_pattern(line: str) -> str:
    parts = [re.escape(part) for part in _WILD.split(line)]
    fills = [r".*" if wild == "..." else r"\d+(?:\.\d+)?" for wild in _WILD.findall(line)]
    return "".join(part + fill for part, fill in zip(parts, [*fills, ""], strict=True))


def run(path: Path, folder: Path) -> list[str]:
    """Run a document in an empty folder; return its lies, each with its place."""
    place = Place(path.name, folder, ModuleType("__main__"))
    os.chdir(folder)
    os.environ.update(environment(folder))
    sys.path.insert(0, str(folder))
    # Classes look up their module by name, so the namespace has to be a real one.
    sys.modules["__main__"] = place.main
    problems = []
    for block in blocks(path.read_text("utf-8")):
        try:
            _run_block(place, block)
        except Lie as lie:
            problems.append(f"{path.name}:{block.line}: {lie}")
    return problems


def environment(folder: Path) -> dict[str, str]:
    """Give the settings that make a run the same for everyone."""
    scripts = sysconfig.get_path("scripts")
    return {
        "PATH": os.pathsep.join([scripts, os.environ.get("PATH", os.defpath)]),
        "HOME": str(folder.parent),
        "COLUMNS": "100",
        "TERM": "dumb",
        "NO_COLOR": "1",
        "LC_ALL": "C.UTF-8",
        # no document waits for an answer from whoever runs it
        "CI": "true",
        # nor talks to a daemon of theirs
        "HOOKLINE_DAEMON": "off",
    }


def _run_block(place: Place, block: Block) -> None:
    if "not run" in block.notes:
        if not block.notes["not run"]:
            raise Lie("say why it is not run: <!-- not run: reason -->")
        return
    name = _file_name(block)
    check = CHECKS.get(block.language)
    if check is not None and (not name or block.language in DATA):
        check(place, block)
    if name:
        _write(place, name, block)


def _file_name(block: Block) -> str:
    first = _FILE_LINE.match(block.text.partition("\n")[0])
    return block.notes.get("file") or (first[1] if first else "")


def _write(place: Place, name: str, block: Block) -> None:
    home = place.folder.parent.resolve()
    path = (home / name[2:] if name.startswith("~/") else place.folder / name).resolve()
    if not path.is_relative_to(home):
        raise Lie(f"{name} lies outside the home folder the document runs in")
    first, _, rest = block.text.partition("\n")
    text = rest if _FILE_LINE.match(first) else block.text
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    if text.startswith("#!"):
        path.chmod(0o755)


def _run_python(place: Place, block: Block) -> None:
    # Blank lines in front make line numbers in tracebacks those of the document.
    source = "\n" * block.line + block.text
    output = io.StringIO()
    try:
        with contextlib.redirect_stdout(output):
            exec(compile(source, place.document, "exec", dont_inherit=True), place.main.__dict__)  # noqa: S102 - the document's own code
    except (Exception, SystemExit):  # noqa: BLE001 - whatever it raises, the document did not announce it
        raise Lie(f"python block raised\n{output.getvalue()}{traceback.format_exc()}") from None
    finally:
        place.printed = output.getvalue()


def _run_console(place: Place, block: Block) -> None:
    for command in commands(block.text):
        code, printed = _bash(place, command.text)
        if not shows(command.shown, printed):
            raise Lie(f"$ {command.text}\nshown:\n{command.shown}\nprinted (exit code {code}):\n{printed}")
        if code and not command.may_fail and not command.shown.replace("...", "").strip():
            raise Lie(f"$ {command.text}\nexits with {code}; show what it says, or `$ echo $?`\n{printed}")


def _bash(place: Place, command: str) -> tuple[int, str]:
    """Run one command where the one before left off: same folder, same exported variables, same `$?`."""
    state = place.folder / ".console-state"
    name = shlex.quote(str(state))
    leave = f'code=$?; {{ export -p; printf "cd -- %q\\n(exit %d)\\n" "$PWD" $code; }} >{name}; exit $code'
    script = f"trap {shlex.quote(leave)} EXIT\n[ ! -e {name} ] || . {name}\n{command}\n"
    try:
        done = subprocess.run(
            [shutil.which("bash") or "/bin/bash", "--noprofile", "--norc", "-c", script],
            cwd=place.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=COMMAND_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise Lie(f"$ {command}\nstill running after {COMMAND_SECONDS} s") from None
    return done.returncode, done.stdout.decode("utf-8", "replace")


def _run_text(place: Place, block: Block) -> None:
    if "prints" in block.notes and not shows(block.text, place.printed):
        raise Lie(f"the last python block printed\n{place.printed}")


def _parse_toml(_: Place, block: Block) -> None:
    try:
        tomllib.loads(block.text)
    except tomllib.TOMLDecodeError as problem:
        raise Lie(f"toml block does not parse: {problem}") from None


def _parse_json(_: Place, block: Block) -> None:
    try:
        json.loads(block.text)
    except ValueError as problem:
        raise Lie(f"json block does not parse: {problem}") from None


def _refuse_script(_: Place, block: Block) -> None:
    raise Lie(f"nobody runs a {block.language} block: write it as console, give it a file, or say why it is not run")


DATA: Final = ("toml", "json")
CHECKS: Final[Mapping[str, Callable[[Place, Block], None]]] = {
    "python": _run_python,
    "py": _run_python,
    "console": _run_console,
    "text": _run_text,
    "toml": _parse_toml,
    "json": _parse_json,
    "bash": _refuse_script,
    "sh": _refuse_script,
    "shell": _refuse_script,
}


def main(argv: list[str]) -> int:
    """Run the documents named on the command line, each in an interpreter of its own."""
    if len(argv) != 1:
        codes = [subprocess.run([sys.executable, __file__, name], check=False).returncode for name in argv]
        return max(codes, default=1)
    path = Path(argv[0]).resolve()
    for name in [name for name in os.environ if name.startswith(OURS)]:
        del os.environ[name]
    with tempfile.TemporaryDirectory() as home:
        folder = Path(home, "project")
        folder.mkdir()
        problems = run(path, folder)
        os.chdir(path.parent)
    print("\n\n".join(problems), end="\n" if problems else "")
    sys.stdout.flush()
    return 1 if problems else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
