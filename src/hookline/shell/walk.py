"""List every command that a script may run.

`walk_commands` follows lists, pipelines, loops, functions, substitutions and every wrapper of the table (`sudo`, `env`,
`bash -c`, `xargs`, `find -exec`, `eval`, `ssh host`, …). Variables with a known value are put in place, `cd` is followed,
and each command knows whose output it reads or executes. Both the wrapper and the wrapped command are listed.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import dropwhile, islice, product, takewhile
from posixpath import join, normpath
from typing import Final

from msgspec import Struct, structs

from hookline.shell.program import Program, split_names
from hookline.shell.programs import (
    FD_ACTIONS,
    FIND_ACTIONS,
    Arguments,
    assign_roles,
    find_program,
    name_program,
    read_arguments,
)
from hookline.shell.reader import parse_script
from hookline.shell.script import (
    Assignment,
    Compound,
    Node,
    Redirect,
    Script,
    SimpleCommand,
    Word,
    WordPart,
)

_DEEPEST: Final = 12
# code of interpreters beyond this is not searched for commands
_LONGEST_CODE: Final = 20_000
_MOST_FEEDS: Final = 32
# the text of all scripts inside scripts
_MOST_TEXT: Final = 262_144
_LONGEST_VALUE: Final = 65_536
_MOST_FOLDERS: Final = 8
_MOST_COMMANDS: Final = 5000
_MOST_ALTERNATIVES: Final = 16
_GLOB: Final = re.compile(r"[*?\[]")
_SUFFIX: Final = re.compile(r"(?<=.)@[^/]*$")
# tests of find that say nothing about names
_OTHER_TESTS: Final = split_names(
    "-mtime -mmin -atime -amin -ctime -cmin -size -empty -perm -user -group -newer -newermt -regex -iregex -links -inum"
    " -prune -executable -readable -writable -samefile -lname"
)
_LITERAL: Final = r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|`[^`]*`"
# calls that start a shell or a program from inside the code of an interpreter, with their first texts or list of texts
_CODE_CALLS: Final = re.compile(
    r"(?:system|exec|execSync|execFile|execFileSync|spawn|spawnSync|popen|run|call|check_call|check_output|getoutput|Popen"
    r"|shell_exec|passthru|proc_open|sh|qx|exec[lv]p?e?|spawn[lv]p?e?|execute|capture2e?|capture3|popen3|posix_spawnp?)"
    rf"\s*[(\s]\s*(\[[^\]]*\]|(?:{_LITERAL})(?:\s*,\s*(?:\[[^\]]*\]|{_LITERAL}))*)",
)
# `"command" | getline` and `print | "command"` of awk
_AWK_PIPES: Final = re.compile(r"\"((?:[^\"\\]|\\.)*)\"\s*\|&?\s*getline|\|&?\s*\"((?:[^\"\\]|\\.)*)\"")
_STRING: Final = re.compile(r"'((?:[^'\\]|\\.)*)'|\"((?:[^\"\\]|\\.)*)\"|`([^`]*)`")
# names of standard input as a file
_STDIN: Final = frozenset({"-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"})
# variables whose value is a command line that the program behind them runs
_COMMAND_VARIABLES: Final = split_names(
    "GIT_SSH_COMMAND GIT_EDITOR GIT_SEQUENCE_EDITOR GIT_PAGER GIT_EXTERNAL_DIFF GIT_ASKPASS GIT_PROXY_COMMAND EDITOR"
    " VISUAL PAGER MANPAGER PROMPT_COMMAND RSYNC_RSH"
)
# what git prints where a script starts at the top of a repository
_GIT_FOLDERS: Final = {"--show-toplevel": ".", "--git-dir": ".git", "--git-common-dir": ".git"}

_SAFE_PATH: Final = "PYTHONSAFEPATH"
# programs that start others without the variables they were given, or with others
_OTHER_ENVIRONMENT: Final = frozenset({"env", "sudo", "doas", "su", "runuser", "pkexec", "systemd-run", "nix-shell"})


class KnownValue(Struct, frozen=True):
    """A value of a variable; `pattern` is set where it is a glob."""

    text: str
    pattern: str = ""
    is_home: bool = False


# None is a value that is not known
Values = tuple[KnownValue | None, ...]
_UNKNOWN_WORD: Final = Word("", "", is_literal=False)


class ShellCommand(Struct, frozen=True, kw_only=True):
    """One command that may run.

    `name` is the program's name without path and version, and empty when the program cannot be known or when the
    command has no words. `words` begin with the program. `folders` are the folders it may run in, relative to where the
    script started, the likely one first; None is a folder that cannot be known. `wrappers` are the names of the commands
    around it, outermost first. `feeds` are the commands whose output it reads, `code_from` those whose output it
    executes, `script_from` those that wrote the file that it executes. `stdin` is the text that it reads, where that is known. `is_remote` says that it runs on another machine
    or in a container.
    """

    name: str = ""
    words: tuple[Word, ...] = ()
    row: Program | None = None
    arguments: Arguments
    assignments: tuple[Assignment, ...] = ()
    redirects: tuple[Redirect, ...] = ()
    folders: tuple[str | None, ...] = (".",)
    wrappers: tuple[str, ...] = ()
    feeds: tuple["ShellCommand", ...] = ()
    code_from: tuple["ShellCommand", ...] = ()
    script_from: tuple["ShellCommand", ...] = ()
    stdin: str | None = None
    is_remote: bool = False

    @property
    def text(self) -> str:
        """The command as one text, words separated by blanks, the program without its path."""
        return (
            " ".join([self.name or self.words[0].text, *(word.text for word in self.words[1:])]) if self.words else ""
        )


class Walk(Struct, frozen=True):
    """All commands that may run, in order, and why there may be more; `scripts` are those given as text inside."""

    commands: tuple[ShellCommand, ...]
    doubts: tuple[str, ...]
    scripts: tuple[Script, ...] = ()

    @property
    def is_cut(self) -> bool:
        """Whether commands were left out because the script is too long or nested too deeply."""
        return any(doubt.startswith("too ") for doubt in self.doubts)


class _Context(Struct):
    """What a command finds around it."""

    variables: dict[str, Values]
    functions: dict[str, Compound]
    # the commands whose output a variable holds
    sources: dict[str, tuple[ShellCommand, ...]] = {}
    folders: tuple[str | None, ...] = (".",)
    wrappers: tuple[str, ...] = ()
    feeds: tuple[ShellCommand, ...] = ()
    stdin: str | None = None
    is_remote: bool = False
    is_optional: bool = False
    depth: int = 0
    called: frozenset[str] = frozenset()

    def fork(self, **changes: object) -> "_Context":
        """Return a context of its own, for a subshell or a wrapped command."""
        return structs.replace(
            self,
            **{
                "variables": dict(self.variables),
                "functions": dict(self.functions),
                "sources": dict(self.sources),
                **changes,
            },
        )


def walk_commands(script: Script, *, variables: Mapping[str, str] | None = None) -> Walk:
    """List every command that a script may run.

    Args:
        script: The parsed script.
        variables: Values of variables that are known from outside.
    """
    known: dict[str, Values] = {
        "HOME": (KnownValue("~", is_home=True),),
        "PWD": (KnownValue("."),),
        "IFS": (KnownValue(" "),),
        "SHELL": (KnownValue("/bin/sh"),),
    }
    known |= {name: (KnownValue(text),) for name, text in (variables or {}).items()}
    walker = _Walker()
    walker.doubt(*script.doubts)
    context = _Context(known, {})
    try:
        walker.script(script, context)
        for name in [one for one in context.functions if one not in walker.called]:
            # a function that is never called by name may be called in another way
            body = context.functions[name]
            walker.bodies(body, context.fork(depth=context.depth + 1, called=frozenset({name})))
    except RecursionError:
        walker.doubt("too deep: commands in commands")
    return Walk(tuple(walker.commands), tuple(walker.doubts), tuple(walker.scripts))


class _Walker:
    """The commands found so far: each method adds to them."""

    def __init__(self) -> None:
        self.commands: list[ShellCommand] = []
        self.doubts: dict[str, None] = {}
        self.called: set[str] = set()
        self.scripts: list[Script] = []
        # the commands that wrote a file, by its path from where the script started
        self.written: dict[str, tuple[ShellCommand, ...]] = {}
        self.text_left = _MOST_TEXT

    def doubt(self, *reasons: str) -> None:
        self.doubts |= dict.fromkeys(reasons)

    # structure

    def script(self, script: Script, context: _Context) -> None:
        if context.depth > _DEEPEST or len(self.commands) > _MOST_COMMANDS:
            self.doubt("too deep: commands in commands")
            return
        before: tuple[str | None, ...] = context.folders
        was_optional = context.is_optional
        is_choice = False
        for step in script.steps:
            if len(self.commands) > _MOST_COMMANDS:
                self.doubt("too many commands")
                break
            came_from = context.folders
            self.node(step.node, context)
            if is_choice and context.folders != came_from:
                # behind `||` the `cd` may be left out, and what follows happens all the same
                context.folders = tuple(dict.fromkeys((*context.folders, *came_from)))[:_MOST_FOLDERS]
            is_choice = step.then == "||" or (is_choice and step.then == "&&")
            context.is_optional = was_optional or step.then in {"&&", "||"}
            before = tuple(dict.fromkeys((*context.folders, *before)))
            if step.then == "&&":
                # what follows runs only where the `cd` has worked
                continue
            # any `cd` of the list may have failed
            context.folders = before = before[:_MOST_FOLDERS]
        context.is_optional = was_optional

    def node(self, node: Node, context: _Context) -> None:
        if isinstance(node, SimpleCommand):
            self.simple(node, context)
        elif isinstance(node, Compound):
            self.compound(node, context)
        elif len(node.stages) == 1:
            self.node(node.stages[0], context)
        else:
            feeds, stdin = context.feeds, context.stdin
            for stage in node.stages:
                start = len(self.commands)
                self.node(stage, context.fork(feeds=feeds, stdin=stdin))
                made = self.commands[start:]
                origins = [one for command in made for one in _find_sources(command.words, context)]
                feeds = (*feeds, *origins, *made)[-_MOST_FEEDS:]
                stdin = _know_output(made)

    def compound(self, node: Compound, context: _Context) -> None:
        self.words_inside(node.words, context)
        start = len(self.commands)
        inner = self.apply_redirects(node.redirects, context)
        is_file = any(one.operator not in {"<<", "<<-", "<<<"} for one in node.redirects)
        if is_file or len(self.commands) > start:
            redirects = self.resolve_redirects(node.redirects, context)
            self.add(self.make((), structs.replace(context, feeds=(), stdin=None), redirects=redirects))
        if node.kind == "function":
            context.functions[node.name] = node
            return
        if node.kind == "subshell":
            self.bodies(node, inner.fork())
            return
        if node.kind == "group":
            # it changes this shell
            self.bodies(node, inner)
            context.folders = inner.folders
            return
        if node.kind == "for" and node.name:
            values = [value for word in node.words for value in _values_of(self.resolve(word, context))]
            inner.variables[node.name] = tuple(values)[: _MOST_ALTERNATIVES * 4] or (None,)
        was_optional, inner.is_optional = inner.is_optional, True
        self.bodies(node, inner)
        inner.is_optional = was_optional
        context.folders = tuple(dict.fromkeys((*context.folders, *inner.folders)))[:_MOST_FOLDERS]

    def apply_redirects(self, redirects: Sequence[Redirect], context: _Context) -> _Context:
        """Return the context inside redirections, after the commands that run to compute their targets."""
        if not redirects:
            return context
        inner = structs.replace(context)
        for one in redirects:
            made = self.words_inside(one.words, context)
            if one.operator in {"<", "<<", "<<-", "<<<"} and one.fd in {"", "0"}:
                inner.feeds = (*_find_sources(one.words, context), *made)
                inner.stdin = (
                    self.text_of(one.body or one.target, context) if one.operator != "<" else _know_output(made)
                )
        return inner

    def bodies(self, node: Compound, context: _Context) -> None:
        for body in node.bodies:
            self.script(body, context)

    def words_inside(self, words: Iterable[Word], context: _Context) -> list[ShellCommand]:
        """Run the substitutions of words, and return their commands."""
        start = len(self.commands)
        for word in words:
            for script in word.scripts:
                self.script(script, context.fork(depth=context.depth + 1, feeds=(), stdin=None))
        return self.commands[start:]

    # commands

    def add(self, command: ShellCommand) -> None:
        if len(self.commands) <= _MOST_COMMANDS:
            self.commands.append(command)
        else:
            self.doubt("too many commands")

    def simple(self, node: SimpleCommand, context: _Context) -> None:
        start = len(self.commands)
        assigned = [word for one in node.assignments for word in one.words]
        words = [word for word in (*node.words, *assigned) if word.scripts]
        inside = {word.start: self.words_inside([word], context) for word in words}
        inner = self.apply_redirects(node.redirects, context)
        redirects = self.resolve_redirects(node.redirects, context)
        declares = node.words and node.words[0].text in {"export", "declare", "local", "readonly", "typeset"}
        if not node.words or declares:
            self.assign(node.assignments, context)
            for one in node.assignments:
                made = [command for word in one.words for command in inside.get(word.start, ())]
                context.sources[one.name] = (*made, *_find_sources(one.words, context))[-_MOST_FEEDS:]
        if not node.words:
            if redirects or len(self.commands) > start:
                self.add(self.make((), inner, redirects=redirects))
            return
        if node.assignments:
            inner = structs.replace(inner, variables={**inner.variables, **self.values(node.assignments, context)})
            for one in node.assignments:
                if one.name in _COMMAND_VARIABLES and (text := self.text_of(one.value, context)):
                    self.text(text, context.fork(wrappers=(*context.wrappers, one.name), depth=context.depth + 1))
        for expanded in self.expand(node.words, context):
            self.emit(expanded, inner, outer=context, redirects=redirects, assignments=node.assignments, inside=inside)
            # they belong to the first
            redirects = ()

    def make(
        self,
        words: tuple[Word, ...],
        context: _Context,
        *,
        redirects: tuple[Redirect, ...],
        assignments: tuple[Assignment, ...] = (),
    ) -> ShellCommand:
        program = words[0].text if words and words[0].is_literal and not words[0].is_glob else ""
        row = find_program(program)
        return ShellCommand(
            name=name_program(program),
            words=words,
            row=row,
            arguments=read_arguments(row, words[1:]),
            redirects=redirects,
            assignments=assignments,
            folders=context.folders,
            wrappers=context.wrappers,
            feeds=context.feeds,
            stdin=context.stdin,
            is_remote=context.is_remote,
        )

    def emit(
        self,
        words: tuple[Word, ...],
        context: _Context,
        *,
        outer: _Context | None = None,
        redirects: tuple[Redirect, ...] = (),
        assignments: tuple[Assignment, ...] = (),
        inside: Mapping[int, list[ShellCommand]] | None = None,
    ) -> None:
        """Add a command, and those that it wraps; `outer` is the context that it changes."""
        outer = outer or context
        if not words:
            return
        if context.depth > _DEEPEST:
            self.doubt("too deep: commands in commands")
            return
        made = self.make(words, context, redirects=redirects, assignments=assignments)
        first = words[0].text
        if first in context.functions and words[0].is_literal:
            self.call_function(first, made, context)
            return
        alias = context.variables.get(f"alias {first}", ())
        if alias and alias[0] is not None and words[0].is_literal and first not in context.called:
            # expanded by interactive shells
            inner = context.fork(depth=context.depth + 1, called=context.called | {first})
            self.text(" ".join([alias[0].text, *(word.text for word in words[1:])]), inner)
        code_from = self.find_code_sources(made, context, inside or {})
        if code_from:
            made = structs.replace(made, code_from=tuple(code_from))
        if self.written and (script_from := self.find_script_sources(made)):
            made = structs.replace(made, script_from=script_from)
        self.add(made)
        self.note_written(made)
        if first in {"cd", "pushd", "chdir", "popd"}:
            self.change_folder(made, outer)
        elif made.row is not None:
            self.unwrap(made, made.row, context)
        else:
            # a program that is not known may start the command behind its `--`
            at = next((n for n, word in enumerate(words[:-1]) if word.text == "--"), None)
            if at is not None and find_program(words[at + 1].text) is not None:
                wrappers = (*context.wrappers, made.name or first)
                self.emit(words[at + 1 :], context.fork(wrappers=wrappers, depth=context.depth + 1))
        if made.name == "alias":
            for word in made.arguments.operands:
                name, equals, value = word.text.partition("=")
                if equals and word.is_literal:
                    outer.variables[f"alias {name}"] = (KnownValue(value),)
        if made.name in {"read", "mapfile", "readarray", "unset", "getopts"} or (
            made.name == "printf" and made.arguments.has("-v")
        ):
            for word in (*made.arguments.operands, *made.arguments.values("-v")):
                outer.variables[word.text] = (None,)
                outer.sources[word.text] = context.feeds
        if made.name == "set" and made.arguments.dashes == 0:
            outer.variables |= _positional((words[0], *made.arguments.operands))
        elif made.name == "shift" or (made.name == "set" and made.arguments.operands):
            parameters = [name for name in context.variables if name.isdigit() or name in {"@", "#"}]
            outer.variables |= dict.fromkeys(parameters, (None,))

    def call_function(self, name: str, made: ShellCommand, context: _Context) -> None:
        self.called.add(name)
        if made.redirects:
            self.add(structs.replace(made, name="", row=None, words=()))
        if name in context.called:
            self.doubt("a function calls itself")
            return
        inner = context.fork(depth=context.depth + 1, called=context.called | {name})
        inner.variables |= _positional(made.words)
        self.bodies(context.functions[name], inner)
        context.folders = inner.folders

    def find_code_sources(
        self, made: ShellCommand, context: _Context, inside: Mapping[int, list[ShellCommand]]
    ) -> Sequence[ShellCommand]:
        """Return the commands whose output this one executes."""
        row, arguments = made.row, made.arguments
        if row is None or not (row.interpreter or row.wraps == "text" or made.name == "source"):
            return ()
        is_shell = row.style == "shell"
        has_code = arguments.has("-c") if is_shell else arguments.has_role("code")
        first = arguments.operands[0] if arguments.operands else None
        is_stdin = first.text in _STDIN if first is not None else row.interpreter and not arguments.values("-m")
        if has_code and is_shell and context.wrappers[-1:] == ("xargs",) and (first is None or not first.is_literal):
            return context.feeds
        if not has_code and (is_stdin or arguments.has("-s")):
            return context.feeds
        if not row.interpreter or has_code:
            found = [one for word in made.words[1:] for one in inside.get(word.start, ())]
            return [*found, *_find_sources(made.words[1:], context)]
        is_process = first is not None and any(part.kind == "process" for part in first.parts)
        return inside.get(first.start, ()) if first is not None and is_process else ()

    def find_script_sources(self, made: ShellCommand) -> tuple[ShellCommand, ...]:
        """Return the commands that wrote the file which this one executes: a script, or the program itself."""
        row, operands = made.row, made.arguments.operands
        is_script = row is not None and (row.interpreter or made.name == "source") and not made.arguments.has("-c")
        names = operands[:1] if is_script else list(made.words[:1])
        return next((self.written[path] for word in names for path in _locate(made, word) if path in self.written), ())

    def note_written(self, made: ShellCommand) -> None:
        """Remember which files a command writes: what it downloads, prints into a file, copies or moves."""
        row = made.arguments.row or made.row
        if made.is_remote or row is None:
            return
        targets = [one.target for one in made.redirects if one.target is not None and one.operator.startswith(">")]
        targets += [
            one.value for one in made.arguments.options if one.value is not None and one.option.role == "writes"
        ]
        paired = assign_roles(row.operands, made.arguments.operands)
        targets += [word for role, word in paired if role in {"writes", "into"}]
        if row.operands == ("url*",) and (made.name != "curl" or made.arguments.has("--remote-name")):
            # a program that downloads names the file after the address
            names = [word.text.partition("?")[0].rstrip("/").rpartition("/")[2] for word in made.arguments.operands]
            targets += [Word(name, name) for name in names if name]
        read = [path for role, word in paired if role in {"reads", "moves"} for path in _locate(made, word)]
        origins = (one for path in read for one in self.written.get(path, ()))
        writers = (*made.feeds, *origins, made)[-_MOST_FEEDS:]
        for path in (path for word in targets for path in _locate(made, word)):
            self.written[path] = (*self.written.get(path, ()), *writers)[-_MOST_FEEDS:]

    # wrappers

    def unwrap(self, made: ShellCommand, row: Program, context: _Context) -> None:
        arguments, last = made.arguments, made.arguments.row or row
        inner = context.fork(wrappers=(*context.wrappers, made.name), depth=context.depth + 1)
        inner.is_remote = context.is_remote or last.remote
        for one in arguments.options:
            if one.option.role == "folder" and one.value is not None:
                inner.folders = _go(inner.folders, one.value)
        for one in arguments.options:
            if one.option.role == "module" and one.value is not None:
                self.module(made, inner)
            elif one.value is not None:
                self.run_role(one.option.role, one.value, inner)
        if last.style == "shell":
            self.shell(made, inner)
        elif row.style == "git":
            self.git(made, inner)
        elif row.style in {"find", "fd"}:
            self.find(made, inner)
        elif last.style == "terminal":
            self.terminal(made, inner)
        elif last.style != "command" or not arguments.has("-v", "-V"):
            self.run_arguments(made, last, inner)

    def run_arguments(self, made: ShellCommand, row: Program, inner: _Context) -> None:
        """Run the code that a command is given, and the command that it wraps."""
        arguments = made.arguments
        if reads_code_from_stdin(made) and made.stdin is not None:
            self.code(made.stdin, inner)
        for role, word in assign_roles(row.operands, arguments.operands, scripted=arguments.has(*row.scripted)):
            self.run_role(role, word, inner)
        if row.style == "after-dashes":
            at = next((n for n, word in enumerate(made.words) if word.text in {"--", "-c", "--command"}), None)
            self.emit(made.words[at + 1 :] if at is not None else (), inner)
        if made.row is not None and made.row.style == "scripts" and made.name != "npm" and not arguments.path:
            # `yarn jest` runs a program of the project
            at = next((n for n, word in enumerate(made.words) if word in arguments.operands[:1]), len(made.words))
            if at < len(made.words) and find_program(made.words[at].text) is not None:
                self.emit(made.words[at:], inner)
        if made.name in {"at", "batch"} and made.stdin is not None:
            self.text(made.stdin, inner)
        if row.wraps and arguments.rest:
            self.unfold_wrapper(made, row, inner)

    def run_role(self, role: str, word: Word, inner: _Context) -> None:
        if role == "shell":
            self.text(word.text, inner)
        elif role == "code":
            self.code(word.text, inner)

    def unfold_wrapper(self, made: ShellCommand, row: Program, inner: _Context) -> None:
        rest = list(made.arguments.rest or ())
        for word in made.arguments.operands:
            key, equals, value = word.text.partition("=")
            if row.operands[:1] == ("env*",) and equals:
                inner.variables[key] = (KnownValue(value),) if word.is_literal else (None,)
        if row.style == "cmd":
            rest = list(dropwhile(lambda word: word.text.startswith("/"), rest))
        if row.wraps == "text":
            self.text(" ".join(word.text for word in rest), inner)
        elif row.style == "xargs":
            self.xargs(made, rest, inner)
        elif row.style == "parallel":
            # the first mark separates the command from its values, which are words like any other
            at = next((n for n, word in enumerate(rest) if re.fullmatch(r":::\+?|::::\+?", word.text)), None)
            rest = rest if at is None else [*rest[:at], *rest[at + 1 :]]
            self.text(" ".join(word.text for word in (*rest, _UNKNOWN_WORD)), inner)
        else:
            if row.style in {"taskset", "numbers"} and re.fullmatch(r"[0-9a-fx,-]+", rest[0].text):
                rest = rest[1:]
            if row.style == "run-words":
                rest = list(dropwhile(lambda word: word.text in {"run-all", "run", "--all", "--"}, rest))
            if row.acts_as and rest:
                rest = [Word(row.acts_as, row.acts_as), *rest]
            if rest and rest[0].is_literal:
                rest[0] = structs.replace(rest[0], text=_SUFFIX.sub("", rest[0].text))
            self.emit(tuple(rest), inner)
            if row.style == "image" and rest and find_program(rest[0].text) is None:
                self.run_image(made, rest, inner)

    def run_image(self, made: ShellCommand, rest: list[Word], inner: _Context) -> None:
        """Run the program that an image is named after: `docker run alpine/git push` is `git push`."""
        image = made.arguments.operands[0].text if made.arguments.operands else ""
        folder, slash, name = re.sub(r"[:@].*", "", image).rpartition("/")
        if slash and folder and find_program(name) is not None:
            self.emit((Word(name, name), *rest), inner)

    def xargs(self, made: ShellCommand, rest: list[Word], inner: _Context) -> None:
        found = _find_pattern(made.feeds[-1]) if made.feeds else None
        values: list[Word] = []
        if made.stdin is not None:
            texts = re.split(r"[\s\0]+", made.stdin)
            values = [Word(text, text, parts=(WordPart("text", text, is_quoted=True),)) for text in texts if text]
        elif found is not None:
            values = [found]
        elif made.feeds and made.feeds[-1].name == "ls":
            values = list(made.feeds[-1].arguments.operands)
        marks = made.arguments.values("-I", "-J")
        values = values or [_UNKNOWN_WORD]
        if marks or made.arguments.has("-i"):
            mark = marks[0].text if marks else "{}"
            for value in values[:_MOST_ALTERNATIVES]:
                self.emit(tuple(_replace(word, mark, value) for word in rest), inner)
        else:
            self.emit((*rest, *values), inner)

    def find(self, made: ShellCommand, inner: _Context) -> None:
        value = _find_pattern(made) or _UNKNOWN_WORD
        actions = FIND_ACTIONS if made.name == "find" else FD_ACTIONS
        chosen: list[Word] | None = None
        # each word belongs to one command at most, so that a line with thousands of them is read once
        for word in (*made.words[1:], Word(";", ";")):
            is_action = word.text in actions
            if chosen is not None and (is_action or word.text in {";", "+"}):
                if is_action:
                    self.doubt("a command of find has no end")
                if made.name != "find" and not any("{}" in one.text for one in chosen):
                    chosen.append(value)
                self.emit(tuple(_replace(one, "{}", value) for one in chosen), inner)
                chosen = None
            if is_action:
                chosen = []
            elif chosen is not None:
                chosen.append(word)

    def shell(self, made: ShellCommand, inner: _Context) -> None:
        operands = made.arguments.operands
        if made.arguments.has("-c"):
            if operands:
                inner.variables |= _positional(operands[1:])
                self.text(self.text_of(operands[0], inner) or operands[0].text, inner)
        elif made.stdin is not None and (not operands or operands[0].text in _STDIN or made.arguments.has("-s")):
            inner.variables |= _positional((made.words[0], *operands))
            self.text(made.stdin, structs.replace(inner, stdin=None, feeds=()))
        elif operands and made.code_from and (text := _know_output(made.code_from)) is not None:
            self.text(text, inner)

    def git(self, made: ShellCommand, inner: _Context) -> None:
        arguments = made.arguments
        aliases = dict(
            value.text.removeprefix("alias.").split("=", 1)
            for value in arguments.values("-c")
            if re.match(r"alias\.[^=]+=", value.text)
        )
        if not arguments.operands:
            return
        first = arguments.operands[0]
        words = made.words[next(n for n, word in enumerate(made.words) if word is first) + 1 :]
        rest = " ".join(word.text for word in words)
        match (*arguments.path, first.text):
            case (alias,) if alias in aliases:
                meaning = aliases[alias]
                self.text(f"{meaning[1:]} {rest}" if meaning.startswith("!") else f"git {meaning} {rest}", inner)
            case ("bisect", "run"):
                self.emit(words, inner)
            case ("submodule", "foreach"):
                self.text(" ".join(word.text for word in dropwhile(lambda one: one.text.startswith("-"), words)), inner)
            case ("config", name) if name.startswith("alias.") and words:
                meaning = words[0].text
                self.text(meaning[1:] if meaning.startswith("!") else f"git {meaning}", inner)

    def terminal(self, made: ShellCommand, inner: _Context) -> None:
        """Run what is typed into a terminal: texts with blanks, or the words behind the first that is a program."""
        for word in made.arguments.operands:
            if " " in word.text:
                self.text(word.text, inner)
        at = next((n for n, word in enumerate(made.words) if n and find_program(word.text)), len(made.words))
        self.emit(made.words[at:], inner)

    def module(self, made: ShellCommand, inner: _Context) -> None:
        """Run a module as a program: `python -m pip`."""
        at = next((n for n, word in enumerate(made.words) if re.fullmatch(r"-[a-zA-Z]*m", word.text)), None)
        words = made.words[at + 1 :] if at is not None else ()
        if words and find_program(words[0].text) is not None:
            self.emit(words, inner)

    def code(self, code: str, inner: _Context) -> None:
        """Find commands in the code of an interpreter: calls that start a program with a literal."""
        if inner.wrappers[-1:] in {("ruby",), ("perl",), ("php",)}:
            for text in re.findall(r"`([^`]+)`", code[:_LONGEST_CODE])[:20]:
                self.text(text, inner)
        if inner.wrappers[-1:] == ("awk",):
            for groups in _AWK_PIPES.findall(code[:_LONGEST_CODE])[:20]:
                self.text("".join(groups), inner)
        for match in islice(_CODE_CALLS.finditer(code[:_LONGEST_CODE]), 20):
            texts = [next(filter(None, groups), "") for groups in _STRING.findall(match[1])]
            is_list = match[1].startswith("[") or (len(texts) > 1 and not re.search(r"\s", texts[0]))
            if is_list:
                # execvp("git", ["git", "push"]) names the program twice
                words = texts[1:] if len(texts) > 2 and texts[0] == texts[1] else texts
                self.emit(tuple(Word(text, text) for text in words), inner)
            elif texts:
                self.text(re.sub(r"\\(.)", r"\1", texts[0]), inner)

    def text(self, text: str, inner: _Context) -> None:
        """Run a text as a script."""
        self.text_left -= len(text)
        if self.text_left < 0:
            self.doubt("too much text in commands")
            return
        script = parse_script(text)
        self.scripts.append(script)
        self.doubt(*script.doubts)
        self.script(script, inner)

    # values

    def values(self, assignments: Sequence[Assignment], context: _Context) -> dict[str, Values]:
        found: dict[str, Values] = {}
        for one in assignments:
            if one.value is None:
                found[one.name] = (None,)
                found[f"{one.name}[@]"] = tuple(
                    value for word in one.values for value in _values_of(self.resolve(word, context))
                )
                continue
            resolved = self.resolve(one.value, context, split=False)
            values = _values_of(resolved)
            if one.is_append:
                before = context.variables.get(one.name, (None,))
                values = [KnownValue(a.text + b.text) if a and b else None for a in before[:4] for b in values[:4]]
            # values that double themselves are not followed
            short = [value if value is None or len(value.text) <= _LONGEST_VALUE else None for value in values]
            found[one.name] = tuple(short)[:_MOST_ALTERNATIVES] or (None,)
        return found

    def assign(self, assignments: Sequence[Assignment], context: _Context) -> None:
        for name, values in self.values(assignments, context).items():
            before = context.variables.get(name, (None,)) if context.is_optional else ()
            context.variables[name] = tuple(dict.fromkeys((*values, *before)))

    def text_of(self, word: Word | None, context: _Context) -> str | None:
        """Return the one text that a word stands for; None when it cannot be known."""
        if word is None:
            return None
        values = _values_of(self.resolve(word, context, split=False))
        return values[0].text if len(values) == 1 and values[0] is not None else None

    def resolve_redirects(self, redirects: Sequence[Redirect], context: _Context) -> tuple[Redirect, ...]:
        found: list[Redirect] = []
        for one in redirects:
            if one.target is None or one.target.is_literal:
                found.append(one)
                continue
            for words in self.resolve(one.target, context):
                found += [structs.replace(one, target=word) for word in words]
        return tuple(found)

    def expand(self, words: Sequence[Word], context: _Context) -> list[tuple[Word, ...]]:
        """Put values in place of variables; one list of words for each combination."""
        choices = [self.resolve(word, context) for word in words]
        combined = list(islice(product(*choices), _MOST_ALTERNATIVES + 1))
        if len(combined) > _MOST_ALTERNATIVES:
            # too many: those with several values stay unknown
            combined = [
                tuple(choice[0] if len(choice) == 1 else [word] for choice, word in zip(choices, words, strict=True))
            ]
        return [tuple(word for part in one for word in part) for one in combined]

    def resolve(self, word: Word, context: _Context, *, split: bool = True) -> list[list[Word]]:
        """Return what a word may stand for: alternatives, each any number of words."""
        if word.is_literal or word.is_ambiguous or not word.parts:
            return [[word]]
        significant = [part for part in word.parts if part.kind != "text" or part.text]
        listed = _name_list(significant[0]) if len(significant) == 1 else ""
        if listed:
            values = context.variables.get(listed)
            if values is not None and None not in values:
                # a glob among the values was given without quotes
                return [[_value_word(word, [value]) for value in values if value is not None]]
            return [[word]]
        choices = [self.part_values(part, context) for part in word.parts]
        found: list[list[Word]] = []
        for combination in islice(product(*choices), _MOST_ALTERNATIVES):
            known = [value for value in combination if value is not None]
            is_known = len(known) == len(combination) and sum(len(one.text) for one in known) <= _LONGEST_VALUE
            found.append(self.join(word, known, split=split) if is_known else [word])
        return list({tuple(one): one for one in found}.values())

    def join(self, word: Word, values: list[KnownValue], *, split: bool) -> list[Word]:
        """Join the parts of a word; an unquoted value is split at blanks."""
        pieces: list[list[KnownValue]] = [[]]
        for part, value in zip(word.parts, values, strict=True):
            is_split = split and part.kind != "text" and not part.is_quoted
            texts = re.split(r"\s+", value.text) if is_split else []
            if len(texts) < 2:
                pieces[-1].append(value)
                continue
            pieces[-1] += [KnownValue(texts[0])] if texts[0] else []
            pieces += [[KnownValue(text)] if text else [] for text in texts[1:]]
        words = [_value_word(word, piece) for piece in pieces if piece]
        # an unquoted empty value is no word at all
        is_quoted = any(part.is_quoted or (part.kind == "text" and part.text) for part in word.parts)
        return [one for one in words if one.text or is_quoted]

    def part_values(self, part: WordPart, context: _Context) -> list[KnownValue | None]:
        if part.kind == "text":
            is_glob = not part.is_quoted and _GLOB.search(part.text) is not None
            return [KnownValue(part.text, part.text if is_glob else "")]
        if part.kind == "variable":
            return list(context.variables.get(part.text, (None,)))
        if part.kind == "command" and len(part.scripts) == 1:
            return [self.evaluate(part.scripts[0], context)]
        default = re.fullmatch(r"\$\{(\w+):?[-=]([\w./,:@%+=-]*)\}", part.text) if part.kind == "expansion" else None
        if default is None:
            return [None]
        # the variable may be set where the script starts
        return list(dict.fromkeys((*context.variables.get(default[1], (None,)), KnownValue(default[2]))))

    def evaluate(self, script: Script, context: _Context) -> KnownValue | None:
        """Return what a substitution gives: `$(pwd)`, `$(echo text)`, `$(printf text)`."""
        node = script.steps[0].node if len(script.steps) == 1 else None
        if not isinstance(node, SimpleCommand) or node.assignments or not node.words:
            return None
        alternatives = self.expand(node.words, context)
        if len(alternatives) != 1:
            return None
        [words] = alternatives
        texts = [word.text for word in words]
        if texts == ["pwd"]:
            return KnownValue(".")
        if texts[:2] == ["git", "rev-parse"] and len(texts) == 3 and texts[2] in _GIT_FOLDERS:
            return KnownValue(_GIT_FOLDERS[texts[2]])
        if any(one.body is None for one in node.redirects):
            return None
        stdin = self.text_of(node.redirects[-1].body, context) if node.redirects else None
        text = _know_output([self.make(words, structs.replace(context, stdin=stdin), redirects=node.redirects)])
        return KnownValue(text.rstrip("\n")) if text is not None else None

    def change_folder(self, made: ShellCommand, context: _Context) -> None:
        operands = [word for word in made.arguments.operands if word.text != "--"]
        if made.name == "popd" or any(word.text in {"-", "+1", "-1"} for word in made.words[1:]):
            context.folders = (None,)
        elif not operands:
            context.folders = ("~",) if made.name == "cd" else (None,)
        else:
            context.folders = _go(context.folders, operands[0])


def reads_code_from_stdin(made: ShellCommand) -> bool:
    """Return whether an interpreter executes what it reads: it has no operand, or `-` as the first."""
    is_interpreter = made.row is not None and made.row.interpreter and not made.arguments.has_role("code", "module")
    operands = made.arguments.operands
    return is_interpreter and (not operands or operands[0].text in _STDIN)


def _find_sources(words: Iterable[Word], context: _Context) -> list[ShellCommand]:
    """Return the commands whose output the variables in words hold."""
    names = (
        re.sub(r"\W.*", "", part.text.lstrip("${")) for word in words for part in word.parts if part.kind != "text"
    )
    return [one for name in names for one in context.sources.get(name, ())]


def _locate(made: ShellCommand, word: Word) -> list[str]:
    """Return the paths that a word may name, from where the script started."""
    if not word.is_literal or word.is_glob or not word.text or word.text in _STDIN:
        return []
    return [normpath(join(folder, word.text)) for folder in made.folders if folder is not None]


def _name_list(part: WordPart) -> str:
    """Return the name of the list that a part stands for: the positional parameters, or an array."""
    if part.kind == "variable" and part.text in {"@", "*"}:
        return "@"
    found = re.fullmatch(r"\$\{(\w+)\[[@*]\]\}", part.text) if part.kind == "expansion" else None
    return f"{found[1]}[@]" if found else ""


def _go(folders: tuple[str | None, ...], target: Word) -> tuple[str | None, ...]:
    """Return the folders after a change of folder."""
    if not target.is_literal or target.is_glob or not target.text:
        return (None,)
    if target.text.startswith("/") or target.is_home:
        return (normpath(target.text) if target.text.startswith("/") else target.text.rstrip("/"),)
    return tuple(dict.fromkeys(None if one is None else normpath(join(one, target.text)) for one in folders))


def _positional(words: Sequence[Word]) -> dict[str, Values]:
    values = _values_of([words])
    found: dict[str, Values] = {str(at): (value,) for at, value in enumerate(values)}
    found["@"] = tuple(values[1:])
    found["#"] = (KnownValue(str(max(len(values) - 1, 0))),)
    return found


def _values_of(alternatives: Iterable[Sequence[Word]]) -> list[KnownValue | None]:
    words = (word for one in alternatives for word in one)
    return [KnownValue(word.text, word.pattern, word.is_home) if word.is_literal else None for word in words]


def _value_word(word: Word, known: Sequence[KnownValue]) -> Word:
    text = "".join(value.text for value in known)
    is_glob = any(value.pattern for value in known)
    pattern = "".join(value.pattern or _GLOB.sub(r"[\g<0>]", value.text) for value in known) if is_glob else ""
    first = next((value for value in known if value.text), None)
    is_home = first is not None and first.is_home and (text == "~" or text.startswith("~/"))
    parts = (WordPart("text", text, is_quoted=True),)
    has_home = any(value.is_home for value in known)
    return Word(
        text,
        word.raw,
        word.start,
        word.end,
        parts,
        is_glob=is_glob,
        pattern=pattern,
        is_home=is_home,
        has_home=has_home,
    )


def _replace(word: Word, mark: str, value: Word) -> Word:
    if mark not in word.text:
        return word
    if word.text == mark:
        return value
    text = word.text.replace(mark, value.text)
    is_glob = value.is_glob or word.is_glob
    pattern = (word.pattern or word.text).replace(mark, value.pattern or value.text) if is_glob else ""
    return structs.replace(
        word, text=text, is_literal=value.is_literal and word.is_literal, is_glob=is_glob, pattern=pattern
    )


def find_tests(made: ShellCommand) -> tuple[list[Word], list[Word], bool]:
    """Return the roots of a `find` command, the globs of names and paths, and whether there are no other tests."""
    words = made.words[1:]
    rest = dropwhile(lambda word: word.text.startswith(("-H", "-L", "-P", "-O", "-D")), words)
    roots = list(takewhile(lambda word: not word.text.startswith(("-", "(", "!")), rest))
    tests = [word for word in words if word.text in _OTHER_TESTS]
    globs: list[Word] = []
    for before, word, following in zip((None, *words), words, words[1:], strict=False):
        if word.text in {"-name", "-iname", "-path", "-ipath", "-wholename"}:
            is_negated = before is not None and before.text in {"!", "-not"}
            (tests if is_negated else globs).append(structs.replace(following, raw=word.text))
    return roots or [Word(".", ".")], globs, not tests


def find_globs(made: ShellCommand) -> list[Word] | None:
    """Return globs for the files that a `find` command gives; None where they cannot be known."""
    roots, globs, is_all = find_tests(made)
    if not all(word.is_literal and not word.is_glob for word in roots) or not all(one.is_literal for one in globs):
        return None
    if not globs and not is_all:
        return None
    found: list[Word] = []
    for root in roots:
        base = _GLOB.sub(r"[\g<0>]", root.text.rstrip("/"))
        for one in globs:
            # a star in a path also stands for slashes
            is_path = one.raw not in {"-name", "-iname"}
            pattern = re.sub(r"\*+", "**", one.text) if is_path else f"{base}/**/{one.text}"
            found.append(Word(pattern, pattern, is_glob=True, pattern=pattern, is_home=root.is_home))
        if not globs:
            found.append(Word(f"{base}/**", root.raw, is_glob=True, pattern=f"{base}/**", is_home=root.is_home))
    return found


def _find_pattern(made: ShellCommand) -> Word | None:
    """Return a glob for the files that a `find` command gives; None for another command."""
    if made.name == "fd":
        own = [word.start for word in takewhile(lambda word: word.text not in FD_ACTIONS, made.words)]
        pattern, *roots = [word for word in made.arguments.operands if word.start in own] or (_UNKNOWN_WORD,)
        name = pattern.text.strip("^$").replace("\\.", ".")
        if not pattern.is_literal or not re.fullmatch(r"[\w.-]+", name):
            return _UNKNOWN_WORD
        glob = f"{roots[0].text.rstrip('/') if roots else '.'}/**/{'' if name.startswith('.') else '*'}{name}*"
        return Word(glob, glob, is_glob=True, pattern=glob)
    if made.name != "find":
        return None
    globs = find_globs(made)
    return globs[0] if globs and len(globs) == 1 else _UNKNOWN_WORD


def _know_output(commands: Sequence[ShellCommand]) -> str | None:
    """Return the text that commands print, where that is known: echo, printf, and cat of a here-document."""
    if len(commands) != 1:
        return None
    made = commands[0]
    if any(one.operator.startswith((">", "&>")) for one in made.redirects):
        return None
    words = made.words[1:]
    if made.name == "cat" and not made.arguments.operands:
        return made.stdin
    if made.name not in {"echo", "printf"} or not all(word.is_literal and not word.is_glob for word in words):
        return None
    if made.name == "echo":
        texts = [word.text for word in words]
        while texts and re.fullmatch(r"-[neE]+", texts[0]):
            texts = texts[1:]
        return " ".join(texts) + "\n"
    if not words:
        return None
    form, *rest = [word.text for word in words if word.text != "--"] or [""]
    if "\\" in form and form.isascii():
        form = form.encode().decode("unicode_escape", "replace")
    if "%" not in form:
        return form
    if set(re.findall(r"%(.)", form)) <= {"s", "b"} and rest:
        count = form.count("%")
        pieces = re.split(r"%[sb]", form)
        groups = [[*rest[at : at + count], *[""] * count] for at in range(0, len(rest), count)]
        return "".join("".join(map("".join, zip(pieces, [*group[:count], ""], strict=True))) for group in groups)
    return None


def list_pythons(walk: Walk) -> tuple[str, ...]:
    """Return the programs that start Python, as they are written."""
    return tuple(command.words[0].text for command in walk.commands if command.name == "python")


def can_set_safe_path(walk: Walk) -> bool:
    """Return whether PYTHONSAFEPATH keeps every Python from the folder it runs in, and none from a folder of its own.

    Python that runs a script needs the folder of the script. Python without a script runs a module, code or its input.
    """
    for command in walk.commands:
        is_assigned = any(one.name == _SAFE_PATH for one in command.assignments)
        if is_assigned or any(_SAFE_PATH in word.text for word in command.words):
            return False
    pythons = [command for command in walk.commands if command.name == "python"]
    for python in pythons:
        arguments = python.arguments
        runs_script = arguments.operands and arguments.operands[0].text != "-"
        if runs_script and not arguments.has_role("code", "module"):
            return False
        if arguments.has("-E") or not _OTHER_ENVIRONMENT.isdisjoint(python.wrappers):
            return False
    return bool(pythons)
