"""The tools, under the names and with the arguments that Hookline has for them, so that every rule matches."""

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from msgspec import Struct

from hookline.agent.project_files import IgnoredFiles
from hookline.conditions.regex import compile_regex

Json = Mapping[str, object]

_LONGEST: Final = 30_000
_LARGEST: Final = 2_000_000
_MOST: Final = 200
_TIMEOUT: Final = 120.0
_SKIPPED: Final = frozenset({".git", "node_modules", ".venv", "__pycache__"})


class AgentTool(Struct, frozen=True):
    """A tool as the model knows it, and whether it only reads; `canonical` is its name in hooks where that differs."""

    name: str
    description: str
    parameters: Json
    run: Callable[..., Awaitable[object]]
    canonical: str = ""
    is_reading: bool = False
    is_edit: bool = False

    @property
    def hook_name(self) -> str:
        """What hooks call it."""
        return self.canonical or self.name


class ToolError(Exception):
    """A tool could not do what it was asked for; the message is for the model."""


def schema(required: str, **properties: str) -> Json:
    """Return the JSON Schema of arguments, each with its description, which begins with the type if that is no text: `int: …`."""
    shapes: dict[str, Json] = {
        "int": {"type": "integer"},
        "bool": {"type": "boolean"},
        "list": {"type": "array", "items": {"type": "string"}},
        "object": {"type": "object"},
    }
    listed: dict[str, object] = {}
    for name, about in properties.items():
        kind, colon, text = about.partition(": ")
        shape = shapes[kind] if colon and kind in shapes else {"type": "string"}
        listed[name] = {**shape, "description": text if colon and kind in shapes else about}
    return {"type": "object", "properties": listed, "required": required.split(), "additionalProperties": False}


class ProjectTools:
    """The tools that work on the project's folder."""

    def __init__(self, root: Path, ignored: IgnoredFiles) -> None:
        self._root = root
        self._ignored = ignored

    def list_tools(self) -> tuple[AgentTool, ...]:
        """Return all of them."""
        path = "the file, relative to the project or absolute"
        return (
            AgentTool(
                "shell",
                "Run a command line in the project's folder, and return its output.",
                schema("command", command="the command line", timeout="int: seconds, 120 if missing"),
                self.shell,
            ),
            AgentTool(
                "read_file",
                "Read a text file.",
                schema("path", path=path, offset="int: first line, from 1", limit="int: how many lines"),
                self.read_file,
                is_reading=True,
            ),
            AgentTool(
                "write_file",
                "Write a whole file; its folders are created.",
                schema("path content", path=path, content="all of its text"),
                self.write_file,
                is_edit=True,
            ),
            AgentTool(
                "edit_file",
                "Replace a text that occurs once in a file, or every occurrence with replace_all.",
                schema("path old new", path=path, old="text", new="text", replace_all="bool: all of them"),
                self.edit_file,
                is_edit=True,
            ),
            AgentTool(
                "glob",
                "Find files by name, such as src/**/*.py.",
                schema("pattern", pattern="the pattern", path="folder to begin at"),
                _in_thread(self.glob),
                is_reading=True,
            ),
            AgentTool(
                "grep",
                "Find lines that match a regular expression.",
                schema("pattern", pattern="the expression", path="file or folder", include="such as *.py"),
                _in_thread(self.grep),
                is_reading=True,
            ),
            AgentTool(
                "fetch",
                "Fetch web pages.",
                schema("urls", urls="list: the addresses"),
                self.fetch,
                canonical="web_fetch",
            ),
        )

    async def shell(self, command: str, timeout: float = _TIMEOUT, cwd: str = "") -> str:
        """Run a command line; a program that fails is an error."""
        process = await asyncio.create_subprocess_shell(
            command,
            cwd=self._root / cwd,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            raw = await asyncio.wait_for(_read_output(process), timeout)
        except TimeoutError:
            raise TimeoutError(f"the command took longer than {timeout:g} seconds") from None
        finally:
            # also when the user interrupts: nothing of the command is left running
            if process.returncode is None:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                await process.wait()
        output = _cut(raw.decode("utf-8", "replace"))
        if process.returncode:
            raise ToolError(f"exit code {process.returncode}\n{output}".rstrip())
        return output or "(no output)"

    async def read_file(self, path: str, offset: int = 1, limit: int = 2_000) -> str:
        """Return lines of a file."""
        lines = self._read(path).splitlines(keepends=True)
        return _cut("".join(lines[max(0, offset - 1) : max(0, offset - 1) + limit])) or "(empty)"

    async def write_file(self, path: str, content: str) -> str:
        """Write a file."""
        target = self._find(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(content, "utf-8")
        return f"wrote {len(content)} characters to {path}"

    async def edit_file(self, path: str, old: str, new: str, *, replace_all: bool = False) -> str:
        """Replace a text in a file."""
        text = self._read(path)
        count = text.count(old) if old else 0
        if count == 0:
            raise ToolError(f"the text was not found in {path}")
        if count > 1 and not replace_all:
            raise ToolError(f"the text occurs {count} times in {path}; give more of it, or replace_all")
        self._find(path).write_text(text.replace(old, new), "utf-8")
        return f"replaced {count} in {path}"

    def glob(self, pattern: str, path: str = ".") -> str:
        """Return the paths that match."""
        from pathspec import GitIgnoreSpec  # noqa: PLC0415 - as for ignored files, whose patterns these are

        wanted, top = GitIgnoreSpec.from_lines([pattern]), self._find(path)
        found = [self._show(one) for one in self._walk(path) if wanted.match_file(one.relative_to(top).as_posix())]
        return "\n".join(found[:_MOST]) or "no file matches"

    def grep(self, pattern: str, path: str = ".", include: str = "") -> str:
        """Return the lines that match."""
        # in linear time: the pattern is the model's
        expression = compile_regex(pattern)
        found: list[str] = []
        for one in self._walk(path):
            if (include and not one.match(include)) or one.stat().st_size > _LARGEST:
                continue
            for number, line in enumerate(one.read_text("utf-8", "replace").splitlines(), 1):
                if expression.matches(line[:_LONGEST]):
                    found.append(f"{self._show(one)}:{number}:{line[:300]}")
                if len(found) >= _MOST:
                    return "\n".join(found)
        return "\n".join(found) or "nothing matches"

    async def fetch(self, urls: list[str]) -> str:
        """Return the text of pages."""
        import httpx2  # noqa: PLC0415 - only this tool needs it

        texts = []
        async with httpx2.AsyncClient(timeout=30) as client:
            for url in urls:
                # a redirect would lead where no hook was asked about
                async with client.stream("GET", url) as answer:
                    if answer.is_redirect:
                        texts.append(f"moved to {answer.headers.get('location', '')}")
                        continue
                    answer.raise_for_status()
                    text = ""
                    async for piece in answer.aiter_text():
                        text += piece
                        if len(text) > _LARGEST:
                            break
                    texts.append(text)
        return _cut("\n\n".join(texts))

    def _find(self, path: str) -> Path:
        """Return the file of a name; hooks see the same one, relative names are counted from the project."""
        target = self._root / Path(path).expanduser()
        if self._ignored.has_file(target):
            raise PermissionError(f"{path} is listed in .ollamaignore")
        return target

    def _read(self, path: str) -> str:
        target = self._find(path)
        if target.stat().st_size > _LARGEST:
            raise ToolError(f"{path} is larger than {_LARGEST} bytes")
        return target.read_text("utf-8", "replace")

    def _walk(self, path: str) -> Iterator[Path]:
        top = self._find(path)
        if not top.exists():
            raise FileNotFoundError(f"no such file or folder: {path}")
        if top.is_file():
            yield top
        for folder, folders, names in os.walk(top):
            here = Path(folder)
            folders[:] = sorted(
                name for name in folders if name not in _SKIPPED and not self._ignored.has_file(here / name)
            )
            paths = (here / name for name in sorted(names))
            yield from (path for path in paths if path.is_file() and not self._ignored.has_file(path))

    def _show(self, path: Path) -> str:
        return str(path.relative_to(self._root)) if path.is_relative_to(self._root) else str(path)


def _in_thread(work: Callable[..., str]) -> Callable[..., Awaitable[str]]:
    return lambda **args: asyncio.to_thread(work, **args)


async def _read_output(process: asyncio.subprocess.Process) -> bytes:
    """Read what a process prints until it ends; the beginning of it is kept."""
    kept = b""
    while process.stdout is not None and (chunk := await process.stdout.read(65_536)):
        kept += chunk[: _LARGEST - len(kept)]
    await process.wait()
    return kept


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}\n… ({len(text)} characters)"
