"""What a hook could reach by what its definition says: every file it may name, every program it may start.

A name too many is only looked for; a script too few would run unseen.
"""
# names are put together before every run, which costs many times more with pathlib
# ruff: noqa: PTH118, PTH120

import itertools
import os
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from os.path import dirname, join, normpath
from typing import Final

from hookline import surroundings
from hookline.core import lines
from hookline.core.cases import without_patterns
from hookline.model.hook import Hook
from hookline.model.reach import Reach
from hookline.model.workspace import OF_THE_PERSON, inside

# what interpreters add to a name that has no ending
_IMPLIED: Final = (".js", ".mjs", ".cjs", "/index.js", "/package.json", "/__main__.py", ".py", ".sh")

# what decides which commands such a program starts, though nobody names it
_NODE: Final = ("package.json", "bunfig.toml")
_MAKE: Final = ("GNUmakefile", "makefile", "Makefile")
_PYTHON_PROJECT: Final = ("pyproject.toml", "setup.cfg", "tox.ini")
_GRADLE: Final = ("build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts", "gradle.properties")
_RECIPES: Final[Mapping[str, tuple[str, ...]]] = {
    "make": _MAKE,
    "gmake": _MAKE,
    "just": ("justfile", "Justfile", ".justfile"),
    "task": ("Taskfile.yml", "Taskfile.yaml"),
    "rake": ("Rakefile",),
    "npm": _NODE,
    "npx": _NODE,
    "pnpm": _NODE,
    "pnpx": _NODE,
    "yarn": (*_NODE, ".yarnrc.yml", ".yarnrc"),
    "bun": _NODE,
    "bunx": _NODE,
    "deno": ("deno.json", "deno.jsonc", "package.json"),
    "composer": ("composer.json",),
    "pre-commit": (".pre-commit-config.yaml",),
    "lefthook": ("lefthook.yml",),
    "pytest": ("conftest.py", "tests/conftest.py", "pytest.ini", *_PYTHON_PROJECT),
    "tox": _PYTHON_PROJECT,
    "nox": ("noxfile.py",),
    "invoke": ("tasks.py",),
    "inv": ("tasks.py",),
    "poe": _PYTHON_PROJECT,
    "hatch": ("hatch.toml", *_PYTHON_PROJECT),
    "cargo": ("Cargo.toml", "build.rs", ".cargo/config.toml", ".cargo/config"),
    "gradle": _GRADLE,
    "mvn": ("pom.xml",),
    "ant": ("build.xml",),
    "scons": ("SConstruct",),
    "mise": ("mise.toml", ".mise.toml"),
}
_NODES: Final = frozenset({"node", "nodejs"})
_LOCAL_TOOLS: Final = frozenset({"npx", "pnpm", "pnpx", "yarn", "bun", "bunx", "npm"})

# Variables that make a program load code before its own: files, and folders in which it looks for modules.
_LOADING: Final = frozenset(
    {
        *("BASH_ENV", "ENV", "NODE_OPTIONS", "PYTHONSTARTUP", "PERL5OPT", "RUBYOPT", "LUA_INIT", "BUN_OPTIONS"),
        *("LD_PRELOAD", "LD_AUDIT", "DYLD_INSERT_LIBRARIES", "JAVA_TOOL_OPTIONS", "MAKEFILES", "GIT_CONFIG_GLOBAL"),
    }
)
_MODULE_FOLDERS: Final = "PYTHONPATH"
# children get these from us; those that shells read first they do not
_LOADING_INHERITED: Final = ("NODE_OPTIONS", "PERL5OPT", "RUBYOPT", "LD_PRELOAD", "DYLD_INSERT_LIBRARIES", "MAKEFILES")

# after these words comes another command; the first are no programs themselves
_KEYWORDS: Final = frozenset({"if", "then", "elif", "else", "fi", "while", "until", "for", "do", "done", "!", "{", "}"})
_PREFIXES: Final = frozenset(
    {
        *("time", "exec", "eval", "command", "builtin"),
        *("env", "sudo", "doas", "nohup", "nice", "timeout", "xargs", "setsid", "stdbuf", "ionice", "flock", "chronic"),
    }
)
_SHELLS: Final = frozenset({"sh", "bash", "dash", "zsh", "ksh"})
_INTERPRETERS: Final = frozenset(
    {
        *(*_SHELLS, ".", "source", "fish", "python", "pypy", "node", "nodejs", "deno", "bun", "tsx", "ts-node"),
        *(
            "ruby",
            "perl",
            "php",
            "lua",
            "luajit",
            "tclsh",
            "expect",
            "Rscript",
            "osascript",
        ),
    }
)
# programs that run what their arguments say, whatever a shell puts there
_RUNNERS: Final = frozenset(
    {
        *(*_PREFIXES, *_INTERPRETERS),
        *("find", "fd", "parallel", "watch", "entr", "su", "ssh", "script", "unshare", "chroot", "strace", "busybox"),
    }
)
# programs that run what they read
_RUN_INPUT: Final = frozenset({"xargs", "parallel", "entr", "eval"})
# programs that run nothing of what they are given, and keywords that look like such
_ONLY_DATA: Final = frozenset(
    {
        *("echo", "printf", "grep", "egrep", "fgrep", "rg", "jq", "test", "[", "[[", "exit", "return", "true", "false"),
        *(":", "cut", "tr", "wc", "case", "in", "esac"),
    }
)
# programs that run a file only if told to
_WITH_FILE: Final = frozenset({"awk", "gawk", "mawk", "sed", "make", "just", "psql", "sqlite"})
# after these options comes program text, and then nothing but data
_CODE: Final = re.compile(r"-[A-Za-z]*[cemp]|--eval|--print")
_CODE_OF_A_SHELL: Final = re.compile(r"-[A-Za-z]*c")
_ASKED: Final = frozenset({"-V", "--version", "-v", "-h", "--help"})
_PYTHONS: Final = frozenset({"python", "pypy"})
_RUNS_ALL_OF: Final = frozenset({"run-parts"})
_BARE: Final = re.compile(r"[\w.+-]+")
_PROGRAM: Final = re.compile(r"[\w.+-]+|/[^\0]+")
_PASSED_OVER: Final = re.compile(r"-\S*|\w+=.*|[\d.]+[smhd]?")
_ASSIGNED: Final = re.compile(r"\w+\+?=")
_GLOB: Final = re.compile(r"[*?\[]")
# programs, though they look like patterns
_TESTS: Final = frozenset({"[", "[["})
_DEEPEST: Final = 3
_MOST_PROGRAMS: Final = 64
_MOST_COMMANDS: Final = 500
_MOST_NAMES: Final = 20_000
# what agents call the folder of the project in the environment of their hooks
_PROJECT_FOLDERS: Final = tuple(
    f"{agent}_PROJECT_DIR" for agent in ("CLAUDE", "GEMINI", "QWEN", "FACTORY", "DROID", "CURSOR", "COPILOT")
)


def reach(hook: Hook, cwd: str) -> Reach:
    """Name everything that may be part of what would run."""
    if sum(map(len, (hook.command, *hook.args))) > lines.LONGEST:
        return Reach(problem=f"its command is longer than {lines.LONGEST // 1024} KB: put it into a script")
    command = _Command(hook, cwd)
    programs = tuple(dict.fromkeys(name for words in command.parts for name in _started_by(words)))
    recipes = frozenset(map(normpath, command.recipes(programs)))
    files: dict[str, None] = {}
    for path in command.named():
        files[normpath(path)] = None
        if "/../" in path:
            # behind a link to a folder, the system does not mean the folder that the spelling says
            files[path] = None
        if len(files) > _MOST_NAMES:
            break
    limits = ((files, _MOST_NAMES), (programs, _MOST_PROGRAMS), (command.parts, _MOST_COMMANDS))
    too_much = any(len(found) > most for found, most in (*limits, (command.folders, lines.MOST_FOLDERS)))
    return Reach(
        files=tuple(dict.fromkeys((*files, *sorted(recipes)))),
        data=frozenset() if too_much else frozenset(files) - {*map(normpath, command.run()), *recipes},
        programs=programs[:_MOST_PROGRAMS],
        recipes=recipes,
        scripts=tuple(command.scripts()),
        patterns=tuple(command.patterns()),
        imports=tuple(command.imports()),
        search=tuple(command.search),
        problem="its command names too many files, folders or programs to look at: put it into a script"
        if too_much
        else "",
    )


def base_of(hook: Hook, cwd: str) -> str:
    """Give the folder a hook runs in."""
    return join(cwd, surroundings.expanded(hook.working_directory))


class _Command:
    """A hook's command, read once: its simple commands, its words, and where its names are counted from."""

    def __init__(self, hook: Hook, cwd: str) -> None:
        self._hook = hook
        self._cwd = cwd
        environ = surroundings.environ()
        self.base = base_of(hook, cwd)
        own = {"PWD": self.base, "OLLAMA_PROJECT_DIR": cwd, "HOME": surroundings.expanded("~")}
        texts = (hook.command, *hook.args) if hook.command else ()
        here = {**own, **dict.fromkeys(_PROJECT_FOLDERS, hook.project(cwd))}
        # a dialect that has no such variable leaves the one of the agent we run under, if there is one
        said = {
            name: environ[name]
            for name in _PROJECT_FOLDERS
            if any(name in text for text in texts) and environ.get(name)
        }
        self._variables = [{**here, **hook.env}, *([{**here, **said, **hook.env}] if said else ())]
        joined = (" ".join(hook.args),) if hook.args else ()
        self.folders = self._folders((*texts, *joined))
        self.search = [folder for known in self._variables for folder in lines.search_folders(texts, known)]
        loading = [value for name, value in hook.env.items() if name in _LOADING]
        self._texts = (*texts, *loading)
        self._loading = self._read(loading)
        self._words = self._read(self._texts)
        inherited = [environ[name] for name in _LOADING_INHERITED if name in environ and name not in hook.env]
        self._inherited = list(filter(self._is_near, self._read(inherited)))
        self._words += self._inherited
        self.parts = list(itertools.islice(self._parts(), _MOST_COMMANDS + 1))

    def _read(self, texts: Iterable[str]) -> list[str]:
        """Give everything that some texts could be read as."""
        known, *others = self._variables
        found = [word for text in texts for word in lines.words(text, known)]
        return found + [word for other in others for text in texts for word in lines.words(text, other)]

    def _folders(self, texts: Sequence[str]) -> list[str]:
        found = [folder for known in self._variables for folder in lines.folders(texts, self.base, known)]
        root = self._hook.root if self._hook.source not in OF_THE_PERSON else ""
        # most lines that ask for a folder when they run ask for the top of the project
        is_asked = root and any("$(" in text or "`" in text for text in texts)
        return list(dict.fromkeys((*found, root) if is_asked else found))

    def _is_near(self, name: str) -> bool:
        """Say whether a name of our own environment may lead into the project; others are the person's own."""
        return bool(name) and (not name.startswith("/") or inside(normpath(name), (self._cwd,)))

    def _parts(self) -> Iterator[list[str]]:
        """Give the words of each simple command; those of a program that starts others are a command again."""
        command, args = self._hook.command, self._hook.args
        if not command:
            return
        if not args:
            for known in self._variables:
                yield from lines.simple_commands(lines.filled(command, known), _DEEPEST)
            return
        yield [command, *args]
        name = command.rpartition("/")[2]
        if name in _PREFIXES or name in _SHELLS:
            yield from lines.simple_commands(shlex.join(args), _DEEPEST)

    def named(self) -> Iterator[str]:
        """Name every file that a word could mean."""
        # the first word is started as it is
        yield from self._meant(self._words[:1], implied=())
        yield from self._meant(self._words[1:])
        yield from self._loaded()

    def run(self) -> Iterator[str]:
        """Name every file that something could run or load: what a word only says to grep is none of them."""
        yield from self._meant(self._run_words())
        yield from self._loaded()

    def _run_words(self) -> Iterable[str]:
        if self._hook.args or any(_is_open(words) or not _RUN_INPUT.isdisjoint(words) for words in self.parts):
            return self._words
        line = without_patterns(self._hook.command)
        found = [
            piece
            for known in self._variables
            for reading in lines.readings(line, known)
            for word in _words_that_count(reading, _DEEPEST)
            for piece in (word, *lines.words(word, known))
        ]
        return dict.fromkeys((*found, *self._loading, *self._inherited))

    def _meant(self, words: Iterable[str], implied: Sequence[str] = _IMPLIED) -> Iterator[str]:
        for word in words:
            last = word.rpartition("/")[2]
            for folder in self.folders:
                path = join(folder, word)
                yield path
                if "." not in last or last in {".", ".."}:
                    yield from (f"{path}{ending}" for ending in implied)

    def _loaded(self) -> Iterator[str]:
        for words in self.parts:
            module = _module_of(words)
            if module:
                yield from _module_files(module, (*self.folders, *self.imports()))
        yield from self._own_files()

    def _own_files(self) -> Iterator[str]:
        hook, cwd = self._hook, self._cwd
        # A definition read from a file carries the line it stands on; a hook registered by a program names
        # its script.
        if hook.source_path and not hook.source_line:
            yield join(self.base, hook.source_path)
        if hook.module:
            beside = dirname(join(cwd, hook.source_path))
            yield from _module_files(
                hook.module, (self.base, beside, join(beside, "hooks"), join(cwd, ".ollama", "hooks"), cwd)
            )

    def recipes(self, programs: Sequence[str]) -> Iterator[str]:
        """Name the files that say what its programs start."""
        modules = [_module_of(words) for words in self.parts]
        names = [name for program in (*programs, *modules) for name in _RECIPES.get(program.rpartition("/")[2], ())]
        if not _LOCAL_TOOLS.isdisjoint(programs):
            names += [f"node_modules/.bin/{word.partition('@')[0]}" for word in self._words if _BARE.match(word)]
        if not _NODES.isdisjoint(programs):
            # code without a file requires what lies in the folder it runs in
            names += [
                f"node_modules/{word}/{file}"
                for word in self._words
                if _BARE.fullmatch(word)
                for file in ("package.json", "index.js")
            ]
        yield from (join(folder, name) for folder in self.folders for name in names)

    def scripts(self) -> Iterator[tuple[str, ...]]:
        """Give the words that an interpreter could take for its script; each word, if it runs what it is sent."""
        for words in self.parts:
            if any(_stem(word) in _WITH_FILE for word in words):
                named = [word for option, word in itertools.pairwise(words) if option in {"-f", "--file"}]
                yield from ((normpath(join(folder, word)),) for word in named for folder in self.folders)
            tried = _tried(words)
            if tried:
                yield tuple(normpath(join(folder, word)) for word in tried for folder in self.folders)
            elif tried is not None:
                # it runs what it is sent
                yield from ((normpath(join(folder, word)),) for word in self._words for folder in self.folders)

    def patterns(self) -> Iterator[str]:
        """Give the names that a shell would look for and then run, and the folders all of which is run.

        What is only given to a program is data, which may change: `lint src/*.js`.
        """
        globs = self._globs()
        run: list[str] = []
        for words in self.parts:
            first = _first(words)
            run += globs if _is_open(words) else [first] if first in globs else []
            if any(_stem(word) in _RUNS_ALL_OF for word in words):
                run += [join(word, "*") for word in words]
        yield from (join(folder, word) for word in dict.fromkeys(run) for folder in self.folders)

    def _globs(self) -> list[str]:
        """Give the words that a shell could look for among the files; what it only compares with is none."""
        if not any(map(_GLOB.search, self._words)):
            return []
        words = self._read([without_patterns(text) for text in self._texts]) + self._inherited
        return [word for word in words if _GLOB.search(word) and not lines.SYNTAX.search(word) and word not in _TESTS]

    def imports(self) -> list[str]:
        """Give the folders that Python puts on its path: those it is told to, and its own for code without a file."""
        told = self._hook.env.get(_MODULE_FOLDERS)
        if told is None:
            inherited = surroundings.environ().get(_MODULE_FOLDERS, "").split(os.pathsep)
            is_used = any(_stem(word) in _PYTHONS for words in self.parts for word in words)
            told = os.pathsep.join(filter(self._is_near, inherited)) if is_used else ""
        for words in self.parts:
            told += "".join(f":{word.partition('=')[2]}" for word in words if word.startswith(f"{_MODULE_FOLDERS}="))
        found = [normpath(join(self.base, folder)) for folder in told.split(os.pathsep) if folder]
        if any(_imports_from_here(words) for words in self.parts):
            found += self.folders
        return list(dict.fromkeys(found))


def _stem(word: str) -> str:
    name = word.rpartition("/")[2]
    return name.rstrip("0123456789.") or name


def _heads(words: Sequence[str]) -> Iterator[str]:
    """Give the words of a simple command from the program on."""
    return itertools.dropwhile(lambda word: word in _KEYWORDS or bool(_PASSED_OVER.fullmatch(word)), iter(words))


def _tried(words: Sequence[str]) -> list[str] | None:
    """Give the words that an interpreter could take for its script; none if it runs what it is sent.

    None, when there is no interpreter, or it is told on the spot what to do.
    """
    place = next((place for place, word in enumerate(words) if _stem(word) in _INTERPRETERS), None)
    if place is None:
        return None
    code = _CODE_OF_A_SHELL if _stem(words[place]) in _SHELLS else _CODE
    behind = words[place + 1 :]
    end = next((end for end, word in enumerate(behind) if code.fullmatch(word)), len(behind))
    found = [word for word in behind[:end] if word[:1] not in {"-", "+"}]
    is_told = end < len(behind) or not _ASKED.isdisjoint(behind)
    return None if is_told and not found else found


def _first(words: Sequence[str]) -> str:
    """Give the word of a simple command that is run: what its interpreter is given, or itself."""
    tried = _tried(words)
    return next(_heads(words), "") if tried is None else tried[0] if tried else ""


def _is_open(words: Sequence[str]) -> bool:
    """Say whether a command runs something that is only known when it runs: `sh`, `$tool`, `eval "$line"`."""
    first = _first(words)
    if "$" in first or "{}" in first or _tried(words) == []:
        return True
    return any("$" in word for word in words) and any(_stem(word) in _RUNNERS for word in words)


def _words_that_count(line: str, depth: int) -> Iterator[str]:
    """Give the words of a line that a command could run, or take what it runs from."""
    is_plain = lines.is_plain(line)
    for words in lines.simple_commands(line, 0):
        head = next(_heads(words), "")
        is_data = is_plain and head in _ONLY_DATA
        # a program without a folder is looked for elsewhere
        is_found = is_plain and _BARE.fullmatch(head)
        counted = [word for word in words if not is_data and not (is_found and word == head)]
        # what a variable is called is no file
        yield from (_ASSIGNED.sub("", word, count=1) if _ASSIGNED.match(word) else word for word in counted)
        for word in words if depth else ():
            if "$(" in word or (not is_data and lines.SYNTAX.search(word)):
                yield from _words_that_count(word, depth - 1)


def _started_by(words: Sequence[str]) -> Iterator[str]:
    """Name the programs that a simple command starts, in their order: words to be looked for, and absolute paths."""
    for word in words:
        passed_over = word in _KEYWORDS or _PASSED_OVER.fullmatch(word) is not None
        if not passed_over and _PROGRAM.fullmatch(word):
            yield word
        name = word.rpartition("/")[2]
        if not (passed_over or name in _PREFIXES or name in _SHELLS):
            return


def _python_options(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Give the letters of Python's options, each with the word that follows."""
    place = next((place for place, word in enumerate(words) if _stem(word) in _PYTHONS), len(words))
    rest = words[place + 1 :]
    for word, following in zip(rest, (*rest[1:], ""), strict=False):
        if not word.startswith("-"):
            return
        yield word, following
        if word.startswith("-m") or (not word.startswith("--") and word.endswith(("m", "c"))):
            return


def _module_of(words: Sequence[str]) -> str:
    """Name the module that Python is told to run."""
    for word, following in _python_options(words):
        if word.startswith("-m") and len(word) > len("-m"):
            return word.removeprefix("-m")
        if word.endswith("m") and not word.startswith("--"):
            return following
    return ""


def _imports_from_here(words: Sequence[str]) -> bool:
    """Say whether Python would look for modules in the folder it is started in: it does, unless it runs a file."""
    place = next((place for place, word in enumerate(words) if _stem(word) in _PYTHONS), None)
    if place is None:
        return False
    options = [word for word, _ in _python_options(words) if not word.startswith("--")]
    if any({"I", "P"} & set(word.partition("m")[0].partition("c")[0]) for word in options):
        return False
    has_script = any(not word.startswith("-") for word in words[place + 1 :])
    is_code = any(word.startswith("-m") or word.endswith(("m", "c")) for word in options)
    return is_code or not has_script or "-" in words[place + 1 :]


def _module_files(module: str, folders: Iterable[str]) -> Iterator[str]:
    """Name every file a dotted name could lead through; which is loaded, the kind decides when it runs."""
    parts = module.split(".")
    for folder in folders:
        for count in range(1, len(parts) + 1):
            path = join(folder, *parts[:count])
            yield from (f"{path}.py", join(path, "__init__.py"), join(path, "__main__.py"))
