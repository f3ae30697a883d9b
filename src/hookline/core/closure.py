"""What a hook could reach by what its definition says: every file it may name, every program it may start.

A name too many is only looked for; a script too few would run unseen.
"""
# names are put together before every run, which costs many times more with pathlib
# ruff: noqa: PTH111, PTH118, PTH120

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from os.path import dirname, expanduser, join, normpath
from typing import Final

from msgspec import Struct

from hookline.model.hook import Hook

_SYNTAX: Final = re.compile(r"[\s;&|()<>`$~='\"{}]")
_OPERATORS: Final = re.compile(r"[\s;&|()<>`='\"{},]+")
_VARIABLE: Final = re.compile(r"\$(?:\{(\w+)\}|(\w+))")
_TILDE: Final = re.compile(r"(^|[\s=:'\"])~/")
_ENTERED: Final = re.compile(r"\b(?:cd|pushd)\s+[\"']?([^\s;&|\"']+)")

# what a line only writes to is no part of what it runs, or a hook with a log would change by each run
_WRITTEN: Final = re.compile(r"(?:\d|&)?>>?[|&]?\s*(?:\"[^\"]*\"|'[^']*'|[^\s;&|()<>`\"'])+")

# what interpreters add to a name that has no ending
_IMPLIED: Final = (".js", ".mjs", ".cjs", "/index.js", "/package.json", "/__main__.py", ".py", ".sh")

# what decides which commands such a program starts, though nobody names it
_NODE: Final = ("package.json",)
_RECIPES: Final[Mapping[str, tuple[str, ...]]] = {
    "make": ("GNUmakefile", "makefile", "Makefile"),
    "gmake": ("GNUmakefile", "makefile", "Makefile"),
    "just": ("justfile", "Justfile", ".justfile"),
    "task": ("Taskfile.yml", "Taskfile.yaml"),
    "rake": ("Rakefile",),
    "npm": _NODE,
    "npx": _NODE,
    "pnpm": _NODE,
    "pnpx": _NODE,
    "yarn": _NODE,
    "bun": _NODE,
    "bunx": _NODE,
    "composer": ("composer.json",),
    "pre-commit": (".pre-commit-config.yaml",),
    "lefthook": ("lefthook.yml",),
}
_LOCAL_TOOLS: Final = frozenset({"npx", "pnpm", "pnpx", "yarn", "bun", "bunx", "npm"})

# after these words comes another command; the first are no programs themselves
_KEYWORDS: Final = frozenset({"if", "then", "elif", "else", "fi", "while", "until", "for", "do", "done", "!", "{", "}"})
_PREFIXES: Final = frozenset(
    {
        *("time", "exec", "eval", "command", "builtin"),
        *("env", "sudo", "doas", "nohup", "nice", "timeout", "xargs", "setsid", "stdbuf", "ionice"),
    }
)
_SHELLS: Final = frozenset({"sh", "bash", "dash", "zsh", "ksh"})
_BARE: Final = re.compile(r"[\w.+-]+")
_PROGRAM: Final = re.compile(r"[\w.+-]+|/[^\0]+")
_SEPARATOR: Final = re.compile(r"[;&|()<>]+")
_REDIRECTION: Final = re.compile(r"[<>]+[&|]?")
_PASSED_OVER: Final = re.compile(r"-\S*|\w+=.*|[\d.]+[smhd]?")
_DEEPEST: Final = 3
_MOST_PROGRAMS: Final = 64


class Reach(Struct, frozen=True):
    """The files a hook may name, by absolute path, and the programs it may start, by name or by absolute path.

    `recipes` are those files that say what a program such as make starts.
    """

    files: tuple[str, ...]
    programs: tuple[str, ...]
    recipes: frozenset[str]


def reach(hook: Hook, cwd: str) -> Reach:
    """Name everything that may be part of what would run."""
    programs = _programs(hook, cwd)
    recipes = frozenset(map(normpath, _recipes(hook, cwd, programs)))
    files: dict[str, None] = {}
    for path in _named(hook, cwd):
        files[normpath(path)] = None
        if "/../" in path:
            # behind a link to a folder, the system does not mean the folder that the spelling says
            files[path] = None
    return Reach(tuple(dict.fromkeys((*files, *sorted(recipes)))), programs, recipes)


def base_of(hook: Hook, cwd: str) -> str:
    """Give the folder a hook runs in."""
    return join(cwd, expanduser(hook.working_directory))


def _texts(hook: Hook) -> tuple[str, ...]:
    return (hook.command, *hook.args) if hook.command else ()


def _folders(hook: Hook, cwd: str) -> tuple[str, ...]:
    base = base_of(hook, cwd)
    return (base, *(join(base, word) for text in _texts(hook) for word in _ENTERED.findall(text)))


def _named(hook: Hook, cwd: str) -> Iterator[str]:
    folders = _folders(hook, cwd)
    words = [word for text in _texts(hook) for word in _words(text, _variables(hook, cwd))]
    for place, word in enumerate(words):
        for folder in folders:
            path = join(folder, word)
            yield path
            # the first word is started as it is
            if place and "." not in word.rpartition("/")[2]:
                yield from (f"{path}{ending}" for ending in _IMPLIED)
        if place and words[place - 1] == "-m":
            yield from _module_files(word, folders)
    # A definition read from a file carries the line it stands on; a hook registered by a program names
    # its script.
    if hook.source_path and not hook.source_line:
        yield join(folders[0] if folders else cwd, hook.source_path)
    if hook.module:
        beside = dirname(join(cwd, hook.source_path))
        yield from _module_files(
            hook.module, (base_of(hook, cwd), beside, join(beside, "hooks"), join(cwd, ".ollama", "hooks"), cwd)
        )


def _recipes(hook: Hook, cwd: str, programs: tuple[str, ...]) -> Iterator[str]:
    names = [name for program in programs for name in _RECIPES.get(program, ())]
    if not names:
        return
    folders = _folders(hook, cwd)
    if not _LOCAL_TOOLS.isdisjoint(programs):
        words = [word for text in _texts(hook) for word in _words(text, _variables(hook, cwd))]
        names += [f"node_modules/.bin/{word.partition('@')[0]}" for word in words if _BARE.match(word)]
    yield from (join(folder, name) for folder in folders for name in names)


def _programs(hook: Hook, cwd: str) -> tuple[str, ...]:
    """Name the programs a hook starts, in their order: words to be looked for, and absolute paths."""
    if not hook.command:
        return ()
    if not hook.args:
        return tuple(dict.fromkeys(_commands(_filled(hook.command, _variables(hook, cwd)), _DEEPEST)))[:_MOST_PROGRAMS]
    name = hook.command.rpartition("/")[2]
    # the words of such a program are a command again
    inner = _commands(shlex.join(hook.args), _DEEPEST) if name in _PREFIXES or name in _SHELLS else ()
    outer = [hook.command] if _PROGRAM.fullmatch(hook.command) or hook.command.startswith("/") else []
    return tuple(dict.fromkeys((*outer, *inner)))[:_MOST_PROGRAMS]


def _commands(line: str, depth: int) -> Iterator[str]:
    """Find the words of a line that a shell would take for programs, in nested lines, too."""
    lexer = shlex.shlex(line.replace("\n", " ; ").replace("`", " ; "), posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        tokens = list(lexer)
    except ValueError:
        yield from (word for word in _OPERATORS.split(line) if _PROGRAM.fullmatch(word))
        return
    is_command, is_file = True, False
    for token in tokens:
        if _REDIRECTION.fullmatch(token):
            is_file = True
        elif _SEPARATOR.fullmatch(token):
            is_command, is_file = True, False
        elif is_file:
            is_file = False
        else:
            if depth and _SYNTAX.search(token):
                yield from _commands(token, depth - 1)
            passed_over = token in _KEYWORDS or _PASSED_OVER.fullmatch(token) is not None
            if is_command and not passed_over and _PROGRAM.fullmatch(token):
                yield token
            name = token.rpartition("/")[2]
            is_command = is_command and (passed_over or name in _PREFIXES or name in _SHELLS)


def _variables(hook: Hook, cwd: str) -> dict[str, str]:
    own = {"PWD": cwd, "OLLAMA_PROJECT_DIR": cwd, "CLAUDE_PROJECT_DIR": cwd, "HOME": expanduser("~")}
    return {**own, **hook.env}


def _words(text: str, variables: Mapping[str, str]) -> list[str]:
    """Give a text as it is and, where a shell could read it otherwise, everything it could be read as."""
    if not _SYNTAX.search(text):
        return [text] if text and "\0" not in text else []
    filled = _WRITTEN.sub(" ", _filled(text, variables))
    try:
        split = shlex.split(filled)
    except ValueError:
        split = []
    pieces = [piece for piece in _OPERATORS.split(filled) if piece]
    inside = [piece for word in split for piece in _OPERATORS.split(word) if piece]
    return list(dict.fromkeys([text, *split, *pieces, *inside]))


def _filled(text: str, variables: Mapping[str, str]) -> str:
    filled = _VARIABLE.sub(lambda found: variables.get(found[1] or found[2], found[0]), text.replace("\0", ""))
    return _TILDE.sub(lambda found: f"{found[1]}{variables['HOME']}/", filled)


def _module_files(module: str, folders: Iterable[str]) -> Iterator[str]:
    """Name every file a dotted name could lead through; which is loaded, the kind decides when it runs."""
    parts = module.split(".")
    for folder in folders:
        for count in range(1, len(parts) + 1):
            path = join(folder, *parts[:count])
            yield from (f"{path}.py", join(path, "__init__.py"), join(path, "__main__.py"))
