"""Read the tables of MCP servers in a document: in our own keys, or in those of agents."""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from msgspec.structs import replace

from hookline.config.document import Document, KeyPath, Problem, Severity
from hookline.config.edit import value_at
from hookline.config.keys import Key, describe, flag, headers, make_keys, nonempty_text, table, text, texts
from hookline.model.mcp_server import McpServer, find_server_problem
from hookline.text import quote, suggest

TABLE: Final = "mcp"
_SSE: Final = "it speaks the retired SSE transport; only stdio and streamable HTTP are supported"

KEYS: Final[Mapping[str, Key]] = make_keys(
    {
        "command": (nonempty_text, True, "The program to start; it is spoken to through its stdin and stdout."),
        "args": (texts, True, "The arguments of the program, one word each."),
        "env": (table, True, "Variables of the program; ${NAME} is one of your own."),
        "cwd": (text, True, "The folder that the program runs in."),
        "url": (nonempty_text, True, "The URL of a server that speaks streamable HTTP."),
        "headers": (headers, True, "Headers to send; ${NAME} is a variable of your own."),
        "enabled": (flag, False, "Whether the server may be used."),
    }
)
# how agents spell these keys
_FOREIGN_KEYS: Final[Mapping[str, str]] = {"httpUrl": "url", "serverUrl": "url", "http_headers": "headers"}
_BARE_VARIABLE: Final = re.compile(r"\$(\w+)")


class ServerReader:
    """Reads the servers of one document, in our keys or in those of agents."""

    def __init__(self, document: Document, path: str, *, is_ours: bool) -> None:
        self.problems: list[Problem] = []
        self._document = document
        self._path = path
        self._is_ours = is_ours

    def read(self, pointer: KeyPath, *, bare_variables: bool = False) -> Iterator[McpServer]:
        """Yield the servers of the table at a place; `problems` has what is wrong with the others."""
        entries = value_at(self._document.value, pointer)
        if entries is None:
            return
        if not isinstance(entries, Mapping):
            self._report(pointer, f"wanted a table for each MCP server, as in [mcp.NAME], got {describe(entries)}")
            return
        for name, entry in entries.items():
            where = (*pointer, name)
            if not isinstance(entry, Mapping):
                self._report(where, f"wanted a table for the MCP server {quote(name)}, got {describe(entry)}")
                continue
            given = entry if self._is_ours else _translate(entry, bare_variables=bare_variables)
            if given.get("enabled", True) is False:
                continue
            values = self._read_keys(name, given, where)
            if values is not None:
                yield self._build(name, values, where)

    def _read_keys(self, name: str, entry: Mapping[str, object], where: KeyPath) -> dict[str, object] | None:
        values: dict[str, object] = {}
        is_usable = True
        owner = f"the MCP server {quote(name)}"
        for key, value in entry.items():
            if key == "problem" and not self._is_ours:
                values[key] = value
                continue
            if key not in KEYS:
                if self._is_ours:
                    self._report((*where, key), f"unknown key {quote(key)} in {owner}{suggest(key, KEYS)}")
                continue
            try:
                values[key] = KEYS[key].read(value)
            except ValueError as problem:
                is_usable = False
                self._report((*where, key), f"{key} of {owner}: {problem}; the server is not loaded")
        values.pop("enabled", None)
        if "/" in name or not name:
            is_usable = False
            self._report(where, f'{owner} has a "/" in its name, or none; hooks could not name it')
        return values if is_usable else None

    def _build(self, name: str, values: Mapping[str, object], where: KeyPath) -> McpServer:
        build: Callable[..., McpServer] = McpServer
        line = self._document.line_of(where) if self._document.lines else 0
        server = build(name=name, line=line, **values)
        problem = find_server_problem(server)
        if problem and self._is_ours:
            self._report(where, f"the MCP server {quote(name)} cannot be used: {problem}")
        return replace(server, problem=problem)

    def _report(self, where: KeyPath, message: str) -> None:
        line = self._document.line_of(where) if self._document.lines else 0
        # what is wrong in an agent's file is the agent's business
        severity = Severity.ERROR if self._is_ours else Severity.NOTE
        self.problems.append(Problem(self._path, line, message, severity, settled=True))


def _translate(entry: Mapping[str, object], *, bare_variables: bool) -> dict[str, object]:
    """Return an entry of an agent's file with our keys; keys that mean nothing to us are left out."""
    given = {_FOREIGN_KEYS.get(key, key): value for key, value in entry.items()}
    found: dict[str, object] = {key: given[key] for key in KEYS if key in given}
    if given.get("disabled") is True:
        found["enabled"] = False
    if given.get("type", given.get("transport")) == "sse":
        found["problem"] = _SSE
    named = given.get("env_http_headers")
    variables = dict(named) if isinstance(named, Mapping) else {}
    if isinstance(given.get("bearer_token_env_var"), str):
        found["headers"] = {"Authorization": f"Bearer ${{{given['bearer_token_env_var']}}}"}
    if variables:
        own = found.get("headers")
        own = dict(own) if isinstance(own, Mapping) else {}
        found["headers"] = {**own, **{name: f"${{{variable}}}" for name, variable in variables.items()}}
    return {key: _brace_variables(value) for key, value in found.items()} if bare_variables else found


def _brace_variables(value: object) -> object:
    if isinstance(value, str):
        return _BARE_VARIABLE.sub(r"${\1}", value)
    if isinstance(value, list):
        return [_brace_variables(item) for item in value]
    if isinstance(value, Mapping):
        return {name: _brace_variables(item) for name, item in value.items()}
    return value
