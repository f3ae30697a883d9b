"""What the project says to the agent: context files, ignored files, definitions of subagents and skills.

Which of these the agent reads, and under which name its events are recorded, depends on the agent that `--as` names.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from msgspec import Struct

from hookline import ConfigError, Engine, Verdict
from hookline.config import yaml
from hookline.events import BeforeTool

# longer context files are cut: they are sent with every request
_LONGEST: Final = 40_000
_NAME: Final = re.compile(r"[A-Za-z0-9][\w-]*")


class Persona(Struct, frozen=True, kw_only=True):
    """An agent that `--as` names.

    `host` is its name in traces. With a `dialect`, only configuration of this dialect and our own is loaded. `context` are the
    files that the model gets to read, `folders` hold `agents/NAME.md` and `skills/NAME.md`.
    """

    host: str
    dialect: str = ""
    context: tuple[str, ...]
    folders: tuple[str, ...]


# honoured under every name: it keeps files from the model
IGNORE_FILE: Final = ".ollamaignore"

OWN: Final = "hookline"
PERSONAS: Final[Mapping[str, Persona]] = {
    OWN: Persona(host="hookline-agent", context=("AGENTS.md", "OLLAMA.md"), folders=(".agents", ".ollama")),
    "ollm": Persona(host="ollm", dialect="ollm", context=("OLLM.md", "AGENTS.md"), folders=(".ollm",)),
    "ollama-cli": Persona(host="ollama-cli", dialect="ollama-cli", context=("OLLAMA.md",), folders=(".ollama",)),
    "cli-agent": Persona(host="cli-agent", dialect="cli-agent", context=("AGENT.md",), folders=(".config/agent",)),
}


def read_context(root: Path, persona: Persona) -> str:
    """Return the context files of a project, each under its name."""
    found = ((name, root / name) for name in persona.context)
    texts = [f"# {name}\n\n{path.read_text('utf-8', 'replace')[:_LONGEST]}" for name, path in found if path.is_file()]
    return "\n\n".join(texts)


class IgnoredFiles:
    """The files that `.ollamaignore` keeps from the agent, with the rules of `.gitignore`."""

    def __init__(self, root: Path) -> None:
        from pathspec import GitIgnoreSpec  # noqa: PLC0415 - only agents need it

        self._root = root.resolve()
        path = root / IGNORE_FILE
        lines = path.read_text("utf-8", "replace").splitlines() if path.is_file() else []
        self._spec = GitIgnoreSpec.from_lines(lines)

    def has_file(self, path: Path) -> bool:
        """Return whether a file is ignored, by its own name or by that of the file that it links to."""
        for spelled in dict.fromkeys((path.absolute(), path.resolve())):
            try:
                inside = spelled.relative_to(self._root).as_posix()
            except ValueError:
                continue
            if self._spec.match_file(inside) or self._spec.match_file(f"{inside}/"):
                return True
        return False

    def guard(self, engine: Engine) -> None:
        """Deny every tool call that would read an ignored file, also one that a command line reads."""

        @engine.on.before_tool(id="ollamaignore", name=f"files in {IGNORE_FILE}", on_error="block")
        def deny_ignored(event: BeforeTool) -> Verdict | None:
            first = next((path for path in event.effects.reads if self.has_file(Path(path))), None)
            return Verdict.deny(f"{first} is listed in {IGNORE_FILE}") if first else None


class Definition(Struct, frozen=True, kw_only=True):
    """A subagent or a skill: the text of its file, and the keys at its top."""

    name: str
    description: str = ""
    text: str
    path: str = ""
    model: str = ""
    tools: tuple[str, ...] = ()


DEFAULT_AGENT: Final = Definition(
    name="general",
    description="works on one task by itself and reports what it found",
    text="You work on one task that another agent gave you. Report the result in a few sentences.",
)


def find_definitions(root: Path, home: Path, persona: Persona, *, what: str) -> dict[str, Definition]:
    """Return the subagents ("agents") or skills ("skills") of a project and a user, by name; the project's count first.

    Raises:
        ConfigError: The keys at the top of a file cannot be read.
    """
    found: dict[str, Definition] = {}
    for base in (home, root):
        for folder in persona.folders:
            for path in _list_files(base / folder / what):
                definition = _read_definition(path)
                found[definition.name] = definition
    return found


def _list_files(folder: Path) -> Iterator[Path]:
    yield from sorted(folder.glob("*.md"))
    yield from sorted(folder.glob("*/SKILL.md"))


def _read_definition(path: Path) -> Definition:
    text = path.read_text("utf-8", "replace")
    keys: Mapping[str, object] = {}
    if text.startswith("---\n") and "\n---" in text[4:]:
        head, _, text = text[4:].partition("\n---")
        data = yaml.parse(head, path=str(path)).value
        if not isinstance(data, dict):
            raise ConfigError("wanted `key: value` lines between the two lines of dashes", path=str(path), line=1)
        keys = data
    usual = path.parent.name if path.name == "SKILL.md" else path.stem
    name = str(keys.get("name") or usual)
    if not _NAME.fullmatch(name):
        raise ConfigError(f'"{name}" is no name; use letters, digits, "-" and "_"', path=str(path), line=1)
    tools = keys.get("tools") or ()
    listed = tools.split(",") if isinstance(tools, str) else tools if isinstance(tools, list) else ()
    return Definition(
        name=name,
        description=str(keys.get("description") or ""),
        text=text.strip("-\n").strip(),
        path=str(path),
        model=str(keys.get("model") or ""),
        tools=tuple(str(tool).strip() for tool in listed),
    )


def fill_template(text: str, parameters: Mapping[str, object]) -> str:
    """Return the text of a skill with its parameters: `{{name}}` is replaced, and all of them are listed below."""
    filled = re.sub(r"\{\{\s*(\w+)\s*\}\}", lambda found: str(parameters.get(found[1], found[0])), text)
    listed = "\n".join(f"- {key}: {value}" for key, value in parameters.items())
    return f"{filled}\n\nParameters:\n{listed}" if listed else filled
