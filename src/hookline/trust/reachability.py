"""Static analysis of a hook's command: the files that it names, and the files and programs that it starts.

The command is read with the shell package and never run. Two answers come out of one walk. What an approval covers is wide:
every word that could lead to a file, so that no script runs unseen. What a hook *starts* is narrow: words behind a script
and operands of a program that runs none of them are data, and a file of that name in the workspace is no reason to
object to a user's own hook.
"""
# ruff: noqa: PTH118, PTH120 - words of a command are no paths until they lead to a file

import os
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain, pairwise
from os.path import dirname, join, normpath
from typing import Final

from msgspec import Struct
from msgspec.structs import astuple, replace

from hookline import caller_context
from hookline.model.hook import Hook
from hookline.model.workspace_paths import USER_SOURCES, is_inside
from hookline.shell.program import split_names
from hookline.shell.programs import SHELLS, assign_roles, find_program
from hookline.shell.reader import parse_script
from hookline.shell.script import Compound, Script, SimpleCommand, Word, find_nodes, list_words, script_of_words
from hookline.shell.walk import (
    ShellCommand,
    Walk,
    can_set_safe_path,
    find_globs,
    find_tests,
    list_pythons,
    walk_commands,
)

LONGEST: Final = 65_536
"""The longest command that is analysed; a longer one is not read before it is approved."""
_LONGEST_UNCERTAIN: Final = 16_384
_MOST_FOLDERS: Final = 64
_SHOWN: Final = 60
_MOST_PROGRAMS: Final = 64
_MOST_COMMANDS: Final = 500
_MOST_NAMES: Final = 20_000

# files that decide which commands such a program starts, though no command names them
_NODE: Final = ("package.json", "bunfig.toml", ".npmrc")
_MAKE: Final = ("GNUmakefile", "makefile", "Makefile")
_PYTHON_PROJECT: Final = ("pyproject.toml", "setup.cfg", "tox.ini")
_GRADLE: Final = ("build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts", "gradle.properties")
RECIPES: Final[Mapping[str, tuple[str, ...]]] = {
    **dict.fromkeys(("make", "gmake"), _MAKE),
    "just": ("justfile", "Justfile", ".justfile"),
    "task": ("Taskfile.yml", "Taskfile.yaml"),
    "rake": ("Rakefile",),
    **dict.fromkeys(("npm", "npx", "pnpx", "bun", "bunx"), _NODE),
    "pnpm": (*_NODE, ".pnpmfile.cjs"),
    "yarn": (*_NODE, ".yarnrc.yml", ".yarnrc"),
    "deno": ("deno.json", "deno.jsonc", "package.json"),
    "composer": ("composer.json",),
    "pre-commit": (".pre-commit-config.yaml",),
    "lefthook": ("lefthook.yml",),
    "pytest": ("conftest.py", "tests/conftest.py", "pytest.ini", *_PYTHON_PROJECT),
    **dict.fromkeys(("tox", "poe"), _PYTHON_PROJECT),
    "nox": ("noxfile.py",),
    **dict.fromkeys(("invoke", "inv"), ("tasks.py",)),
    "hatch": ("hatch.toml", *_PYTHON_PROJECT),
    "cargo": ("Cargo.toml", "build.rs", ".cargo/config.toml", ".cargo/config"),
    "gradle": _GRADLE,
    "mvn": ("pom.xml",),
    "ant": ("build.xml",),
    "scons": ("SConstruct",),
    "mise": ("mise.toml", ".mise.toml"),
}
# programs that run what node_modules/.bin holds
_LOCAL_TOOLS: Final = frozenset({"npx", "pnpm", "pnpx", "yarn", "bun", "bunx", "npm"})
# endings that interpreters add: to any word, and those of one interpreter to its script
_ENDINGS: Final = (".js", ".mjs", ".cjs", "/index.js", "/package.json", "/__main__.py", ".py", ".sh")
_SCRIPT_ENDINGS: Final[Mapping[str, tuple[str, ...]]] = {
    **dict.fromkeys(("ts-node", "tsx", "bun", "deno"), (".js", ".mjs", ".cjs", ".ts", "/index.js")),
    **dict.fromkeys(("node", "nodejs"), (".js", ".mjs", ".cjs", ".json", "/index.js", "/package.json")),
    "python": ("/__main__.py",),
}

# variables that make a program load code before its own
_LOADING: Final = split_names(
    "BASH_ENV ENV NODE_OPTIONS PYTHONSTARTUP PERL5OPT RUBYOPT LUA_INIT BUN_OPTIONS LD_PRELOAD LD_AUDIT"
    " DYLD_INSERT_LIBRARIES JAVA_TOOL_OPTIONS MAKEFILES GIT_CONFIG_GLOBAL"
)
# those of them that hook processes inherit
_LOADING_INHERITED: Final = ("NODE_OPTIONS", "PERL5OPT", "RUBYOPT", "LD_PRELOAD", "DYLD_INSERT_LIBRARIES", "MAKEFILES")
_PYTHON_PATH: Final = "PYTHONPATH"
_HOMES: Final = ("HOME", "ZDOTDIR")
# files that login shells, interactive shells and every zsh read first
_PROFILES: Final = (
    *(".profile", ".bash_profile", ".bash_login", ".bashrc", ".kshrc"),
    *(".zshenv", ".zprofile", ".zshrc", ".zlogin"),
)
PROJECT_FOLDERS: Final = tuple(
    f"{agent}_PROJECT_DIR" for agent in ("CLAUDE", "GEMINI", "QWEN", "FACTORY", "DROID", "CURSOR", "COPILOT")
)
"""Variables in which agents give their hooks the project folder."""
# variables that a shell sets itself, or that the walk follows
_NOT_INHERITED: Final = frozenset({"PATH", "HOME", "PWD", "OLDPWD", "IFS", "_"})

# options of any program after which relative names are counted from another folder
_FOLDER_OPTIONS: Final = frozenset({"-C", "--chdir", "--directory", "--cwd", "--prefix", "--dir", "--project"})
_EXECUTED: Final = "script"
# rows of the table that a shell does not look up on the search path
_BUILTIN_STYLES: Final = frozenset({"builtin", "source", "command"})
BUILTINS: Final = split_names(
    "echo printf test [ [[ true false : pwd kill cd pushd popd eval exec trap let type time builtin command source ."
)
"""Names that every shell answers by itself, though most systems have a program of the same name."""
_SHELL_NAMES: Final = SHELLS | BUILTINS

# everything that may separate two names in text that is not read further
_SEPARATORS: Final = re.compile(r"[\s;&|()<>`='\"{},]+")
_SYNTAX: Final = re.compile(r"[\s;&|()<>`$~='\"{}\\]")
_GLOB: Final = re.compile(r"[*?\[]")
_BARE: Final = re.compile(r"[\w.+-]+")
_PROGRAM: Final = re.compile(r"[\w.+-]+|/[^\0]+")
_VARIABLE: Final = re.compile(r"\$\{?(\w+)")
_DEFAULT: Final = re.compile(r"\$\{(\w+):?[-=]([^{}$`]*)\}")
_EXPANSION: Final = re.compile(r"\$\([^()]*\)|`[^`]*`|\$\{[^{}]*\}|\$\w+")
# literal text behind the last expansion of a word
_TAIL: Final = re.compile(r"/[^$`(){}*?]+$")


class Started(Struct, frozen=True):
    """What a command starts.

    `files` may or may not exist. `operands` are files named to programs that are not in the table: one of them may be run.
    `programs` are looked up along the search path. `pythons` are those of them that start Python, where PYTHONSAFEPATH
    keeps all of it from finding modules in the working directory. `doubts` says why there may be more.
    """

    files: tuple[str, ...] = ()
    operands: tuple[str, ...] = ()
    programs: tuple[str, ...] = ()
    pythons: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()


class Reachability(Struct, frozen=True, kw_only=True):
    """Everything that a hook's definition can reach.

    `files` are the absolute paths that the definition could name, `programs` names or absolute paths. `patterns` are globs
    of files that are run, to be matched before each run. `python_path` are the folders that the hook puts on Python's
    module path, `code_folders` those in which Python runs code without a file and looks for modules; `imports` are all
    folders in which Python looks for modules though no script is there. `search` are the folders that the hook puts on its search path.
    `doubts` says what could not be read with certainty: there, every word counts. `problem` says why the hook cannot be approved.
    """

    files: tuple[str, ...] = ()
    programs: tuple[str, ...] = ()
    patterns: tuple[str, ...] = ()
    imports: tuple[str, ...] = ()
    python_path: tuple[str, ...] = ()
    code_folders: tuple[str, ...] = ()
    search: tuple[str, ...] = ()
    started: Started = Started()
    doubts: tuple[str, ...] = ()
    problem: str = ""


_REACHED: Final = ("files", "programs", "patterns", "imports", "python_path", "code_folders", "search", "doubts")


def run_dir(hook: Hook, cwd: str) -> str:
    """Return the folder that a hook runs in."""
    return join(cwd, caller_context.expand_home(hook.working_directory))


def analyse_reach(hook: Hook, cwd: str, *, is_line: bool = True) -> Reachability:
    """Analyse a hook's definition; `is_line` says that a shell reads the command."""
    if sum(map(len, (hook.command, *hook.args))) > LONGEST:
        return Reachability(problem=f"its command is longer than {LONGEST // 1024} KB: put it into a script")
    return _Analysis(hook, cwd, is_line=is_line).result()


def merge_reach(first: Reachability, second: Reachability) -> Reachability:
    """Return what two commands of one hook can reach together."""
    started = Started(*(_merge(*pair) for pair in zip(astuple(first.started), astuple(second.started), strict=True)))
    tuples = {name: _merge(getattr(first, name), getattr(second, name)) for name in _REACHED}
    return Reachability(**tuples, started=started, problem=first.problem or second.problem)


class _Analysis:
    """One hook's command, parsed and walked."""

    def __init__(self, hook: Hook, cwd: str, *, is_line: bool) -> None:
        self.hook = hook
        self.cwd = cwd
        self.is_line = is_line
        self.base = run_dir(hook, cwd).rstrip("/") or "/"
        self.texts = (hook.command, *hook.args) if hook.command else ()
        self.loading = [value for name, value in hook.env.items() if name in _LOADING]
        variables = self._list_variables()
        self.variables = variables[0]
        script = read_command(hook, is_line=is_line) if hook.command else Script()
        self.walks = [walk_commands(script, variables=known) for known in variables]
        self.doubts = _merge(*(walk.doubts for walk in self.walks))
        scripts = [script, *chain.from_iterable(walk.scripts for walk in self.walks)]
        self.commands = [command for walk in self.walks for command in walk.commands]
        for hidden in list(self._list_hidden()):
            walk = walk_commands(hidden, variables=self.variables)
            scripts += [hidden, *walk.scripts]
            self.commands += walk.commands
        # the kind may fill in variables of single words
        self.words = [parse_script(text) for text in (self.texts if hook.args else ()) if _SYNTAX.search(text)]
        self.nodes = [node for one in (*scripts, *self.words) for node in find_nodes(one)]
        # words that are scripts themselves, and were read as such
        self.read = {one.text for one in scripts}
        self.folders = self._list_folders()
        values = [hook.env.get(_PYTHON_PATH, ""), *self._list_assigned(_PYTHON_PATH)]
        self.python_path = self._split_path(os.pathsep.join(values))
        can_import = _is_python if self.doubts else _imports_from_here
        self.code_folders = tuple(self.folders) if any(map(can_import, self.commands)) else ()
        inherits = _PYTHON_PATH not in hook.env and any(map(_is_python, self.commands))
        inherited = caller_context.environ().get(_PYTHON_PATH, "").split(os.pathsep) if inherits else ()
        near = self._split_path(os.pathsep.join(filter(self._is_near, inherited)))
        self.imports = _merge(self.python_path, near, self.code_folders)

    def _split_path(self, value: str) -> tuple[str, ...]:
        return _merge(normpath(join(self.base, folder)) for folder in value.split(os.pathsep) if folder)

    def result(self) -> Reachability:
        programs = self._list_programs()
        files: dict[str, None] = {}
        loaded = dict.fromkeys(map(normpath, self._list_loaded()))
        for path in chain(self._list_named(), loaded, map(normpath, self._list_recipes(programs))):
            files[normpath(path)] = None
            if "/../" in path:
                # behind a link to a folder, the system does not mean the folder that the spelling says
                files[path] = None
            if len(files) > _MOST_NAMES:
                break
        counts = (
            (files, _MOST_NAMES),
            (programs, _MOST_PROGRAMS),
            (self.commands, _MOST_COMMANDS),
            (self.folders, _MOST_FOLDERS),
        )
        is_cut = any(walk.is_cut for walk in self.walks) or any(len(found) > most for found, most in counts)
        problem = (
            "its command names too many files, folders or programs to look at: put it into a script" if is_cut else ""
        )
        if self.doubts and sum(map(len, self.texts)) > _LONGEST_UNCERTAIN:
            problem = problem or f"its command cannot be read, because {self.doubts[0]}: put it into a script"
        started = list_started(self.walks, self.base, is_line=self.is_line)
        return Reachability(
            files=tuple(files),
            programs=programs[:_MOST_PROGRAMS],
            patterns=self._list_patterns(),
            imports=self.imports,
            python_path=self.python_path,
            code_folders=self.code_folders,
            search=tuple(
                folder for value in self._list_assigned("PATH") for folder in value.split(os.pathsep) if folder
            ),
            started=replace(started, files=_merge(started.files, loaded)),
            doubts=_merge(self.doubts, self._list_open()),
            problem=problem,
        )

    # variables

    def _list_variables(self) -> list[dict[str, str]]:
        """Return the values of variables that are known before the run: one mapping, or two where agents differ."""
        hook, environ = self.hook, caller_context.environ()
        known = {"OLLAMA_PROJECT_DIR": self.cwd, **dict.fromkeys(PROJECT_FOLDERS, hook.project(self.cwd))}
        used = {name for text in (*self.texts, *self.loading) for name in _VARIABLE.findall(text)}
        inherited = {name: value for name in sorted(used - _NOT_INHERITED) if (value := environ.get(name))}
        found = [{**inherited, **known, **hook.env}]
        if any(name in inherited for name in PROJECT_FOLDERS):
            # a dialect without such a variable leaves that of the agent around us
            found.append({**known, **inherited, **hook.env})
        return found

    def _fill(self, word: Word | None, own: str = "") -> str:
        """Return a word with the values of its variables; `.` stands for a value that is only known at run time."""
        if word is None:
            return ""
        if not word.parts:
            return _EXPANSION.sub(lambda found: self._value(found[0].strip("${}"), own), word.text)
        filled = ""
        for part in word.parts:
            default = _DEFAULT.fullmatch(part.text) if part.kind == "expansion" else None
            if part.kind == "text":
                filled += part.text
            elif part.kind == "variable":
                filled += self._value(part.text, own)
            else:
                filled += (self.variables.get(default[1]) or default[2]) if default is not None else "."
        return caller_context.expand_home(filled) if filled.startswith("~/") else filled

    def _value(self, name: str, own: str) -> str:
        if name == own:
            return ""
        if name == "HOME":
            return self.variables.get(name) or caller_context.expand_home("~")
        return self.variables.get(name, self.base if name == "PWD" else ".")

    def _list_assigned(self, *names: str) -> list[str]:
        """Return the values that the command itself gives to variables."""
        found = [
            self._fill(one.value, one.name)
            for node in self.nodes
            if isinstance(node, SimpleCommand)
            for one in node.assignments
            if one.name in names
        ]
        starts = tuple(f"{name}=" for name in names)
        for word in chain.from_iterable(node.words for node in self.nodes):
            name, _, value = word.text.partition("=")
            if word.text.startswith(starts) and word.text not in self.read:
                found.append(self._fill(parse_word(value), name))
        return found

    # commands

    def _list_hidden(self) -> Iterator[Script]:
        """Yield scripts that the walk does not follow: what an unknown program may start, and code with expansions."""
        for command in self.commands:
            row, words = command.row, command.words[1:]
            if row is None or (row.unknown and not row.interpreter and not row.wraps):
                rows = map(find_program, (word.text for word in words))
                start = next((at for at, found in enumerate(rows) if found is not None and found.interpreter), None)
                if start is not None:
                    yield script_of_words(tuple(word.text for word in words[start:]))
            if row is None:
                yield from (parse_script(word.text) for word in words if re.search(r"\s", word.text))
        if any(map(_is_open, self.commands)):
            # a here-document whose text is only known at run time may be what a shell reads
            bodies = [one.body for command in self.commands for one in command.redirects if one.body is not None]
            yield from (parse_script(body.text) for body in bodies if not body.is_literal)

    def _list_programs(self) -> tuple[str, ...]:
        names: list[str] = []
        for command in self.commands:
            first = command.words[0] if command.words else None
            if first is None or not first.is_literal or first.is_glob:
                continue
            # a shell answers to the names of its builtins itself
            if not (self.is_line and first.text in BUILTINS and _SHELL_NAMES.issuperset(command.wrappers)):
                names.append(caller_context.expand_home(first.text) if first.is_home else first.text)
        if self.doubts:
            names += self._list_pieces()
        return tuple(dict.fromkeys(name for name in names if _PROGRAM.fullmatch(name)))

    def _list_pieces(self) -> list[str]:
        """Return everything in the text of an uncertain command that could be a name."""
        return [piece for text in self.texts for piece in _SEPARATORS.split(text) if piece]

    def _list_folders(self) -> list[str]:
        """Return every folder that relative names may be counted from: any `cd` may fail, or follow another."""
        found = [self.base]
        for command in self.commands:
            targets = _list_folder_options(command)
            if command.words and command.words[0].text in {"cd", "pushd", "chdir"}:
                targets += command.arguments.operands[:1]
            for target in targets:
                text = caller_context.expand_home(target.text) if target.is_home else self._fill(target)
                found = list(dict.fromkeys((*found, *(normpath(join(folder, text)) for folder in found))))
                if len(found) > _MOST_FOLDERS:
                    return found
        followed = {folder for command in self.commands for folder in command.folders if folder is not None}
        found += [normpath(join(self.base, caller_context.expand_home(folder))) for folder in sorted(followed)]
        if self.hook.root and self.hook.source not in USER_SOURCES and any("$(" in t or "`" in t for t in self.texts):
            # most lines that ask for a folder when they run ask for the top of the project
            found.append(self.hook.root)
        return list(dict.fromkeys(found))

    # files

    def _list_named(self) -> Iterator[str]:
        """Return every file that a word of the definition could mean."""
        words = [word for node in self.nodes for word in _list_read_words(node)]
        for command in self.commands:
            words += command.words
            words += [given.value for given in command.arguments.options if given.value is not None]
            words += [one.target for one in command.redirects if one.target and not _is_written(one.operator)]
        names = dict.fromkeys(chain(self.texts, *map(self._spell, words)))
        if self.doubts:
            names |= dict.fromkeys(self._list_pieces())
        # inherited variables that make programs load code, as far as they name files of the project
        environ = caller_context.environ()
        inherited = [environ[name] for name in _LOADING_INHERITED if name in environ and name not in self.hook.env]
        spelled = chain.from_iterable(self._spell(parse_word(value)) for value in inherited)
        names |= dict.fromkeys(filter(self._is_near, spelled))
        for name in names:
            # a program is started as it is called
            yield from self._list_paths(name, () if name == self.hook.command else _ENDINGS)

    def _spell(self, word: Word) -> Iterator[str]:
        """Return the names that a word may stand for: itself, filled in, and the pieces of both."""
        texts = [caller_context.expand_home(word.text) if word.is_home else word.text]
        if not word.is_literal:
            texts.append(self._fill(word))
            texts.append(_EXPANSION.sub(".", word.text))
            tail = _TAIL.search(word.text)
            texts += [tail[0].lstrip("/")] if tail is not None else []
        for text in dict.fromkeys(texts):
            yield text
            if text not in self.read and _SYNTAX.search(text):
                yield from filter(None, _SEPARATORS.split(text))

    def _list_paths(self, name: str, endings: Sequence[str] = _ENDINGS) -> Iterator[str]:
        if not name or "\0" in name:
            return
        name = caller_context.expand_home(name) if name.startswith("~/") else name
        last = name.rpartition("/")[2]
        for folder in self.folders:
            path = join(folder, name)
            yield path
            if "." not in last or last in {".", ".."}:
                yield from (f"{path}{ending}" for ending in endings)

    def _is_near(self, name: str) -> bool:
        """Return whether a name from the environment may lead into the project; others are the user's own."""
        return bool(name) and (not name.startswith("/") or is_inside(normpath(name), (self.cwd,)))

    def _list_loaded(self) -> Iterator[str]:
        """Return the files that are loaded though no command starts them: by variables, as modules, as profiles."""
        own = [name for value in self.loading for name in self._spell(parse_word(value))]
        yield from chain.from_iterable(map(self._list_paths, own))
        for module in self._list_modules():
            yield from _module_files(module, (*self.folders, *self.imports))
        hook, cwd = self.hook, self.cwd
        # a definition in a file has the line it stands on; a hook registered by a program names its script
        if hook.source_path and not hook.source_line:
            yield join(self.base, hook.source_path)
        if hook.module:
            beside = dirname(join(cwd, hook.source_path))
            folders = (self.base, beside, join(beside, "hooks"), join(cwd, ".ollama", "hooks"), cwd)
            yield from _module_files(hook.module, folders)
        if any(map(_reads_profiles, self.commands)):
            homes = [hook.env[name] for name in _HOMES if name in hook.env] + self._list_assigned(*_HOMES)
            for home in filter(None, homes):
                yield from (join(folder, home, name) for folder in self.folders for name in _PROFILES)

    def _list_modules(self) -> list[str]:
        options = [given for command in self.commands if _is_python(command) for given in command.arguments.options]
        return [given.value.text for given in options if given.option.role == "module" and given.value is not None]

    def _list_recipes(self, programs: Sequence[str]) -> Iterator[str]:
        """Return the files that say what programs such as make start."""
        started = [name.rpartition("/")[2] for name in (*programs, *self._list_modules())]
        names = [name for program in started for name in RECIPES.get(program, ())]
        words = [word.text for command in self.commands for word in command.words]
        words += [piece for word in words if _SYNTAX.search(word) for piece in _SEPARATORS.split(word)]
        if not _LOCAL_TOOLS.isdisjoint(started):
            names += [f"node_modules/.bin/{word.partition('@')[0]}" for word in words if _BARE.match(word)]
        if not {"node", "nodejs"}.isdisjoint(started):
            # code without a file requires modules from the folder it runs in
            files = ("package.json", "index.js")
            names += [f"node_modules/{word}/{file}" for word in words if _BARE.fullmatch(word) for file in files]
        yield from (join(folder, name) for folder in self.folders for name in dict.fromkeys(names))

    def _list_patterns(self) -> tuple[str, ...]:
        """Return the globs of files that are run. Globs that are only arguments of a program are data: `lint src/*.js`."""
        globs: list[str] = []
        for command in self.commands:
            globs += [word.pattern for word, _ in _list_executed(command) if word.is_glob]
            if command.words and command.words[0].is_glob:
                globs.append(command.words[0].pattern)
            if any(word.text.rpartition("/")[2] == "run-parts" for word in command.words):
                globs += [join(word.text, "*") for word in command.words]
        if self.doubts or any(map(_is_open, self.commands)):
            # what runs is only known at run time, and may be anything that a glob finds
            words = [word for command in self.commands for word in command.words]
            # a shell only compares the words of `case` and `[[` with text, and finds no files by them
            read = [one for one in self.nodes if not (isinstance(one, Compound) and one.kind in {"case", "test"})]
            words += [word for node in read for word in _list_read_words(node)]
            globs += [word.pattern for word in words if word.is_glob]
        if self.doubts:
            globs += [piece for piece in self._list_pieces() if _GLOB.search(piece) and not _SYNTAX.search(piece)]
        for search in self.commands:
            if search.name != "find":
                continue
            # the commands that are started with the files that it finds
            fed = (one for one in self.commands if "find" in one.wrappers or any(two is search for two in one.feeds))
            if not any(map(_is_open, fed)):
                continue
            # any file that it finds may be run
            words = find_globs(search) or [Word(join(root.text, "**"), root.raw) for root in find_tests(search)[0]]
            globs += [word.pattern or word.text for word in words]
        found = dict.fromkeys(glob for glob in globs if glob not in {"[", "[["})
        return _merge(normpath(join(folder, glob)) for glob in found for folder in self.folders)

    def _list_open(self) -> list[str]:
        """Return which commands run something whose name is only known at run time."""
        found = [
            command.text or command.words[0].raw
            for command in self.commands
            for word, _ in _list_executed(command)
            if not word.is_literal and _TAIL.search(word.text) is None
        ]
        return [f"`{text[:_SHOWN]}` runs what is only known when it runs" for text in dict.fromkeys(found)]


def list_started(walks: Sequence[Walk], base: str, *, is_line: bool) -> Started:
    """List what a script starts when it runs in the folder `base`; where that is empty, names stay relative.

    Several walks are of one script, with other values of its variables.
    """
    files: dict[str, None] = {}
    operands: dict[str, None] = {}
    programs: dict[str, None] = {}
    for command in chain.from_iterable(walk.commands for walk in walks):
        if command.is_remote or not command.words:
            continue
        for word, endings in _list_executed(command):
            for path in _list_word_paths(word, command, base):
                files |= dict.fromkeys(path + ending for ending in ("", *endings))
        for name, folder in _list_command_recipes(command):
            files |= dict.fromkeys(normpath(join(base, one or "", folder, name)) for one in command.folders)
        if command.row is None:
            # a word without a folder and without an ending is seldom a file
            named = [word for word in command.arguments.operands if "/" in word.text or "." in word.text]
            operands |= dict.fromkeys(path for word in named for path in _list_word_paths(word, command, base))
            values = [word.text.partition("=")[2] for word in command.words if word.text.startswith("-")]
            operands |= dict.fromkeys(normpath(join(base, value)) for value in values if value)
        first = command.words[0]
        is_builtin = command.row is not None and command.row.style in _BUILTIN_STYLES
        if "/" not in first.text and first.is_literal and not (is_line and (is_builtin or first.text in BUILTINS)):
            programs[first.text] = None
            if command.wrappers and "." in first.text:
                # some wrappers take a script for a program
                files |= dict.fromkeys(_list_word_paths(first, command, base))
    pythons = [list_pythons(walk) if can_set_safe_path(walk) else () for walk in walks]
    return Started(
        files=tuple(files),
        operands=tuple(operands),
        programs=tuple(programs),
        pythons=_merge(*pythons) if all(pythons) else (),
        doubts=_merge(*(walk.doubts for walk in walks)),
    )


def parse_word(text: str) -> Word:
    """Return a text as one word, with its variables as parts."""
    if "$" not in text and "`" not in text:
        return Word(text, text)
    steps = parse_script(f'x="{text}"').steps
    node = steps[0].node if len(steps) == 1 else None
    value = node.assignments[0].value if isinstance(node, SimpleCommand) and node.assignments else None
    return value if value is not None else Word(text, text, is_literal=False)


def read_command(hook: Hook, *, is_line: bool) -> Script:
    """Parse a hook's command; `is_line` says that a shell reads it."""
    if hook.args:
        return script_of_words((hook.command, *hook.args))
    if not is_line:
        with suppress(ValueError):
            return script_of_words(tuple(shlex.split(hook.command)))
    return parse_script(hook.command)


def _merge(*parts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(chain.from_iterable(parts)))


def _is_written(operator: str) -> bool:
    """Return whether a redirection only writes its file: a hook with a log would change by each run."""
    return ">" in operator and not operator.startswith("<")


def _list_read_words(node: SimpleCommand | Compound) -> list[Word]:
    """Return the words of one command as they are written, but for the files that it only writes."""
    return list_words(replace(node, redirects=tuple(one for one in node.redirects if not _is_written(one.operator))))


def _list_folder_options(command: ShellCommand) -> list[Word]:
    """Return the folders that options tell a program to work in."""
    given = [one.value for one in command.arguments.options if one.option.role == "folder" and one.value is not None]
    given += [value for option, value in pairwise(command.words) if option.text in _FOLDER_OPTIONS]
    for word in command.words:
        name, equals, value = word.text.partition("=")
        given += [parse_word(value)] if equals and name in _FOLDER_OPTIONS else []
    return given


def _is_python(command: ShellCommand) -> bool:
    return command.row is not None and command.row.name == "python"


def has_code(command: ShellCommand) -> bool:
    """Return whether an interpreter is given code or a module instead of a script."""
    row, arguments = command.arguments.row, command.arguments
    if row is not None and row.style == "shell":
        return arguments.has("-c")
    return arguments.has_role("code", "module")


def _imports_from_here(command: ShellCommand) -> bool:
    """Return whether Python looks for modules in the folder it is started in: it does, unless it runs a file."""
    if not _is_python(command) or command.arguments.has("-I", "-P"):
        return False
    operands = command.arguments.operands
    return has_code(command) or not operands or any(word.text == "-" for word in operands)


def _reads_profiles(command: ShellCommand) -> bool:
    """Return whether a shell reads profile files before its command."""
    row = command.arguments.row
    is_shell = row is not None and row.style == "shell"
    return is_shell and (command.name == "zsh" or command.arguments.has("--login", "-i"))


def _is_open(command: ShellCommand) -> bool:
    """Return whether a command runs something that is only known at run time: `sh`, `$tool`, `eval "$line"`."""
    if not command.words:
        return False
    first, row = command.words[0], command.arguments.row
    if command.code_from or not first.is_literal:
        return True
    if row is None:
        return False
    if any(not word.is_literal for word, _ in _list_executed(command)):
        return True
    is_text = row.wraps == "text" or has_code(command) or row.style in {"find", "fd", "xargs", "parallel", "terminal"}
    if is_text and any(not word.is_literal for word in command.words):
        return True
    is_asked = command.arguments.has("--version", "--help", "-v", "-h")
    return row.interpreter and not command.arguments.operands and not has_code(command) and not is_asked


def _list_executed(command: ShellCommand) -> Iterator[tuple[Word, tuple[str, ...]]]:
    """Yield the words of a command that name what is executed, each with the endings that its interpreter adds."""
    first = command.words[0] if command.words else None
    if first is None:
        return
    if "/" in first.text or not first.is_literal:
        yield first, ()
    row, arguments = command.arguments.row, command.arguments
    endings = _SCRIPT_ENDINGS.get(command.name, ())
    values = [given.value for given in arguments.options if given.option.role == _EXECUTED]
    yield from ((value, endings) for value in values if value is not None)
    reads_code = not first.text
    if row is not None and not has_code(command):
        roles = assign_roles(row.operands, arguments.operands)
        yield from ((word, endings) for role, word in roles if role == _EXECUTED)
        if row.interpreter and not arguments.operands:
            reads_code = True
            sources = [one.target for one in command.redirects if one.operator.startswith("<")]
            yield from ((target, ()) for target in sources if target is not None)
    if reads_code:
        # the command itself is only known at run time, as behind xargs, or runs what it is sent
        yield from ((word, ()) for fed in command.feeds for word in fed.arguments.operands)


def _list_command_recipes(command: ShellCommand) -> Iterator[tuple[str, str]]:
    """Yield the files that say what a program such as make starts, and the files of a module, each with its folder."""
    arguments = command.arguments
    for given in arguments.options:
        if given.option.role == "module" and given.value is not None:
            yield from ((name, "") for name in _module_files(given.value.text, ("",)))
    folders = [word.text for word in _list_folder_options(command)]
    for name in RECIPES.get(command.name, ()):
        yield from ((name, folder) for folder in folders or [""])
    if command.name in _LOCAL_TOOLS:
        tools = [word.text.partition("@")[0] for word in (arguments.rest or arguments.operands)[:1]]
        yield from ((f"node_modules/.bin/{tool}", "") for tool in tools if _BARE.match(tool))
    if command.name == "node" and has_code(command):
        code = " ".join(given.value.text for given in arguments.options if given.option.role == "code" and given.value)
        for piece in filter(_BARE.fullmatch, _SEPARATORS.split(code)):
            yield from ((f"node_modules/{piece}/{file}", "") for file in ("package.json", "index.js"))


def _list_word_paths(word: Word, command: ShellCommand, base: str) -> Iterator[str]:
    text = caller_context.expand_home(word.text) if word.is_home else word.text
    if not word.is_literal:
        # a folder that is only known at run time: most often it is the top of the project
        tail = _TAIL.search(text)
        if tail is None:
            return
        text = tail[0].lstrip("/")
    for folder in command.folders:
        path = join(base, caller_context.expand_home(folder) if folder is not None else "", text)
        yield normpath(path)
        if "/../" in path:
            # behind a link to a folder, the system does not mean the folder that the spelling says
            yield path


def _module_files(module: str, folders: Iterable[str]) -> Iterator[str]:
    """Yield every file that importing a dotted name could load."""
    parts = module.split(".")
    for folder in folders:
        for count in range(1, len(parts) + 1):
            path = join(folder, *parts[:count])
            yield from (f"{path}.py", join(path, "__init__.py"), join(path, "__main__.py"))
