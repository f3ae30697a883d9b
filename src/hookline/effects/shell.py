"""Find the effects of a shell line with the table of programs."""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from posixpath import basename, join
from typing import Any, Final

from msgspec import structs

from hookline.effects.effects import Effects, EffectsBuilder, Target, make_absolute
from hookline.effects.event_paths import parse_changes
from hookline.effects.patterns import add_url, find_urls
from hookline.shell.program import Program, split_names
from hookline.shell.programs import assign_roles
from hookline.shell.reader import parse_script
from hookline.shell.script import Redirect, Word, cut_word
from hookline.shell.walk import ShellCommand, find_globs, find_tests, reads_code_from_stdin, walk_commands

_FILE_QUESTIONS: Final = ("reads", "writes", "deletes")
_COPYING_LINKS: Final = ("--recursive", "--archive", "-d", "--no-dereference", "--symbolic-link")
_WRITING: Final = frozenset({">", ">>", ">|", "&>", "&>>", "<>", ">&"})
_SYSTEM: Final = re.compile(r"(?:/usr(?:/local)?)?/s?bin/[^/]+$|/opt/homebrew/bin/[^/]+$")
_DEEP_GLOB: Final = re.compile(r"(?=.*\*\*/)(?!.*\*{3})[\w./*?@%+-]+")
_NAME: Final = re.compile(r"[\w./,:@%+=-]+")
_DESCRIPTOR: Final = re.compile(r"[0-9]*-?|-")
_CONNECTION: Final = re.compile(r"/dev/(?:tcp|udp)(?:/|$)")
_REMOTE: Final = re.compile(r"(?:[\w.-]+@)?[\w.-]+:(?!//)|[a-z+]+://")
_SCHEME: Final = re.compile(r"[a-z][a-z0-9+.-]*:", re.IGNORECASE)
# a scheme with fewer slashes than usual, with which programs still do something
_FEW_SLASHES: Final = re.compile(r"[a-z][a-z0-9+.-]*:(?:/(?!/)|$|[^/0-9])", re.IGNORECASE)
_LONGEST_CODE: Final = 20_000
_LONGEST_CACHED: Final = 4_096
_LONGEST_PATH: Final = 1024
# settings of ssh that name a file
_SSH_FILES: Final = frozenset({"identityfile", "certificatefile", "userknownhostsfile", "include"})
# variables that put other programs or other code in place of those that are named
_REPLACING: Final = split_names("PATH LD_PRELOAD LD_LIBRARY_PATH DYLD_INSERT_LIBRARIES BASH_ENV ENV IFS")
# variables that make programs start others, or load other code
_STARTING: Final = split_names(
    "PYTHONPATH PYTHONSTARTUP NODE_OPTIONS PERL5OPT RUBYOPT JAVA_TOOL_OPTIONS MAKEFLAGS GIT_SSH GIT_SSH_COMMAND"
    " GIT_EXTERNAL_DIFF GIT_PAGER GIT_EDITOR GIT_SEQUENCE_EDITOR GIT_ASKPASS GIT_PROXY_COMMAND GIT_EXEC_PATH PAGER EDITOR"
    " VISUAL PROMPT_COMMAND"
)
_GIT_CONFIG: Final = re.compile(
    r"(?:core\.(?:sshcommand|pager|editor|fsmonitor|hookspath|gitproxy|askpass)|alias\.|diff\..*|filter\.|pager\.|credential\.|"
    r"sequence\.editor|gpg\.|uploadpack\.|remote\..*\.(?:upload|receive)pack|url\.|include)",
    re.IGNORECASE,
)
# a slash in brackets ends a pattern to some and not to others, so that there is none
_BRACKETS: Final = r"\[\^?+(?:\[:[a-z]+:\]|[^]\[/\\\n])+\]"
_SEARCH: Final = rf"(?:[^/\[\\\n]|\\.|{_BRACKETS})*"
_ADDRESS: Final = rf"(?:[0-9]+|\$|/{_SEARCH}/)"
_OTHER: Final = "|".join(
    rf"s{mark}(?:[^{mark}\[\\\n]|\\.)*{mark}(?:[^{mark}\\\n]|\\[^\n])*{mark}[gpIi0-9]*"
    for mark in ("\\|", "#", ",", ":", "@", "!", "~", "%")
)
_STEP: Final = (
    rf"(?:{_ADDRESS}(?: *, *(?:{_ADDRESS}|\+[0-9]+))? *!? *)?"
    rf"(?:[pdq=DGHhNnPxl]|s/{_SEARCH}/(?:[^/\\\n]|\\[^\n])*/[gpIi0-9]*|{_OTHER}|y/[^/]*/[^/]*/|[aic]\\? *[^\n]*)"
)
# every other command of sed may write, read or run
_SED_SCRIPT: Final = re.compile(rf"(?:{_STEP})?(?:[;\n] *(?:{_STEP})?)*")
_WRITING_CODE: Final = re.compile(
    r"\brm\w*\(|makedirs|expanduser\(\)\.(?:touch|unlink)|\btouch\(|open\s*\([^)\n]{0,200}['\"][rwax+bt]*[wax+][bt+]*['\"]|write|unlink|remove|rmtree|rmdir|File\.delete|FileUtils|rename|replace\(|copy|move|truncate|mkdir|chmod"
    r"|appendFile|createWrite|dump\(|>"
)
_DELETING_CODE: Final = re.compile(
    r"\brmtree\(|\bos\.(?:remove|unlink|rename|replace|rmdir)\(|\.(?:unlink|rename)\(|\bshutil\.move\("
    r"|\b(?:rm|unlink|rename|rmdir)Sync\(|\bFile\.(?:delete|rename|unlink)\b|\bFileUtils\.(?:rm|mv)"
)
_STRING: Final = re.compile(r"'((?:[^'\\\n]|\\.)*)'|\"((?:[^\"\\\n]|\\.)*)\"|`([^`\n]*)`")


def read_line(text: str, cwd: str, found: EffectsBuilder) -> None:
    """Add everything that a shell line does."""
    found.merge(_read_short_line(text, cwd) if len(text) <= _LONGEST_CACHED else _read_line(text, cwd))


def _read_line(text: str, cwd: str) -> Effects:
    found = EffectsBuilder()
    found.add("runs", (text,))
    walk = walk_commands(parse_script(text))
    found.add_commands(walk.commands)
    if walk.doubts:
        found.leave_open()
    found.is_cut = walk.is_cut
    for command in walk.commands:
        read_command(command, cwd, found)
    # a link that a line makes, moves or copies is not there yet when paths are compared
    if any(
        command.name in {"ln", "mv", "alias"} or (command.name == "cp" and command.arguments.has(*_COPYING_LINKS))
        for command in walk.commands[:-1]
    ):
        found.leave_open(*_FILE_QUESTIONS)
    return found.build()


# cached: an agent raises several events for each call
_read_short_line = lru_cache(maxsize=128)(_read_line)


def read_command(command: ShellCommand, cwd: str, found: EffectsBuilder) -> None:
    """Add what one command does."""
    if command.words:
        found.add("runs", (command.text,))
    _CommandReader(command, cwd, found).read()


def apply_patch(text: str, cwd: str, found: EffectsBuilder) -> bool:
    """Add the files that a patch changes; return False when it cannot be read."""
    changes = parse_changes(text)
    for change in changes or ():
        found.touch_paths("writes", *(make_absolute(cwd, path) for path in (change.path, change.to) if path))
        if change.op in {"delete", "move"}:
            found.touch_paths("deletes", make_absolute(cwd, change.path))
    return changes is not None


class _CommandReader:
    """Read the effects of one command."""

    def __init__(self, command: ShellCommand, cwd: str, found: EffectsBuilder) -> None:
        self.command = command
        self.arguments = command.arguments
        self.row = self.arguments.row or Program(name="")
        self.operands = self.arguments.operands
        self.has = self.arguments.has
        self.values = self.arguments.values
        self.found = found
        self.leave_open = found.leave_open
        self.cwd = cwd
        # the folders of the shell, and those of the program, which may have an option for it
        self.shell_folders = [None if one is None else make_absolute(cwd, one) for one in command.folders]
        self.folders = self.shell_folders
        for one in self.arguments.options:
            if one.option.role == "folder" and (value := one.value) is not None:
                self.folders = [
                    make_absolute(base or cwd, value.text) if value.is_literal else None for base in self.folders
                ]

    def read(self) -> None:
        """Add the effects of the command, its redirections and assignments."""
        command = self.command
        for one in command.redirects:
            self.add_redirect(one)
        if any(one.name in _REPLACING for one in command.assignments) or command.name == "alias":
            self.leave_open()
        elif any(one.name in _STARTING for one in command.assignments) and command.words:
            self.leave_open("runs")
        if not command.words:
            return
        if command.row is None:
            self.add_unknown_program()
            return
        last = self.row
        # only the version or the help is printed
        is_information = self.has("--version", "--help", "-h", "-V", "-v") and not self.operands
        is_open = command.row.subcommands and not self.arguments.path and not is_information
        if "/" in command.words[0].text and not _SYSTEM.match(command.words[0].text):
            # a program of that name, which may do something else
            self.leave_open()
        if open_questions := command.row.unknown if is_open else last.unknown:
            self.leave_open(*open_questions)
        if "urls" in open_questions:
            self.found.add("urls", (url for word in command.words for url in find_urls(word.text)))
        is_session = (
            last.wraps and not self.arguments.rest and (last.remote or self.has("--login", "--shell", "-i", "-s"))
        )
        if is_session and not self.has("--edit", "--validate", "--list"):
            # what is typed there later is not known
            self.leave_open()
        if command.is_remote:
            return
        self.add_options()
        if command.row.style == "git" and any(
            not value.is_literal or _GIT_CONFIG.match(value.text) for value in self.values("-c")
        ):
            self.leave_open("runs")
        style = _STYLES.get(last.style) or _STYLES.get(command.row.style) or _CommandReader.add_operands
        instead = (roles for options, roles in last.instead.items() if self.has(*options.split()))
        if (roles := next(instead, None)) is not None:
            self.add_operands(tuple(roles.split()))
        else:
            style(self)
        if command.row.interpreter:
            self.add_interpreter()
        elif "reads" in open_questions:
            self.add_plain_paths()

    def add_plain_paths(self) -> None:
        """Add plain words that look like files: a program that may read any file plainly reads those."""
        values = [one.value for one in self.arguments.options if one.value is not None and one.option.role == "plain"]
        for word in (*self.operands, *values):
            for text in dict.fromkeys((word.text, *re.split(r"[=,]", word.text))):
                if looks_like_path(text) and not _REMOTE.match(text):
                    self.touch("reads", structs.replace(word, text=text))

    def add_unknown_program(self) -> None:
        """A program that the table does not have may do anything; it plainly reads the files that it is given."""
        self.leave_open()
        self.found.add("urls", (url for word in self.command.words for url in find_urls(word.text)))
        if not self.command.is_remote:
            for word in (*self.operands, *(one.value for one in self.arguments.options if one.value)):
                if looks_like_path(word.text):
                    self.touch("reads", word)
            if "/" in self.command.words[0].text:
                self.touch("reads", self.command.words[0])

    # files

    def touch(self, kind: str, *words: Word, folders: Sequence[str | None] | None = None, **more: Any) -> None:
        """Add the files that words name, in each folder that the command may run in; `more` are fields of `Target`."""
        for word in words:
            if not word.is_literal:
                self.leave_open(kind)
                if word.is_ambiguous and _DEEP_GLOB.fullmatch(word.pattern):
                    # bash reads `**` like `*`, zsh as any number of folders: one folder in between is certain
                    glob = word.pattern.replace("**", "*")
                    self.touch(kind, Word(glob, glob, is_glob=True, pattern=glob), folders=folders, **more)
            elif word.text not in {"-", ""}:
                for number, folder in enumerate(self.folders if folders is None else folders):
                    self.touch_in(folder, kind, word, is_sure=not number, **more)

    def touch_in(self, folder: str | None, kind: str, word: Word, **more: Any) -> None:
        text = f"./{word.text}" if word.text.startswith("~") and not word.is_home else word.text
        if folder is None and not text.startswith(("/", "~")):
            self.leave_open(kind)
            return
        base = folder or self.cwd
        pattern = make_absolute(base, word.pattern) if word.is_glob else ""
        self.found.touch(kind, Target(make_absolute(base, text), pattern=pattern, **more))
        if ".." in text and not word.is_glob:
            # behind a link, `..` leads elsewhere
            self.found.touch(kind, Target(join(base, text), **more))

    def add_redirect(self, one: Redirect) -> None:
        target = one.target
        if target is None or one.operator == "<<<" or (self.command.is_remote and not self.command.words):
            return
        if one.operator in {">&", "<&"}:
            if _DESCRIPTOR.fullmatch(target.text):
                return
            if not _NAME.fullmatch(target.text):
                # bash expands such a target a second time after quotes are removed
                self.leave_open()
        if target.is_glob:
            self.leave_open(*_FILE_QUESTIONS)
        if target.is_glob or any(part.kind == "process" for part in target.parts):
            return
        if target.is_literal and _CONNECTION.match(target.text):
            self.leave_open("urls")
            return
        # redirections are opened in the folder of the shell
        if one.operator in _WRITING:
            self.touch("writes", target, folders=self.shell_folders)
        if one.operator in {"<", "<>", "<&"}:
            self.touch("reads", target, folders=self.shell_folders)

    def add_options(self) -> None:
        """Add the files and URLs that are values of options."""
        for one in self.arguments.options:
            if one.value is not None:
                self.add_word(one.option.role, one.value)
        if not {role.rstrip("*") for role in self.row.operands} & {"reads", "writes", "deletes", "into"}:
            return
        if self.arguments.strays and not self.row.unknown:
            self.leave_open("reads", "writes")
        if any(word not in self.operands for word in self.arguments.unclear):
            self.leave_open(*_FILE_QUESTIONS)

    def add_mount(self, word: Word) -> None:
        """Add what a container gets to see; of a folder around the project nobody knows what it reads."""
        named = re.search(r"(?:^|,)(?:source|src)=([^,]+)", word.text)
        path = named[1] if named else word.text.partition(":")[0]
        if not word.is_literal or path.startswith(("/", ".", "~")) or named:
            source = cut_word(word, path) if named else structs.replace(word, text=path)
            base = make_absolute(self.cwd, path)
            is_around = base == "~" or f"{self.cwd}/".startswith(f"{base.rstrip('/')}/")
            self.touch("reads", source, is_recursive=not is_around)

    def is_recursive(self) -> bool:
        return "always" in self.row.recursive or self.has(*self.row.recursive)

    def add_operands(self, roles: tuple[str, ...] | None = None, **more: Any) -> None:
        """Add what the operands do, by their roles."""
        row = self.row
        wanted = row.operands if roles is None else roles
        paired = assign_roles(wanted, self.operands, scripted=self.has(*row.scripted))
        is_recursive = self.is_recursive()
        in_place = "always" in row.in_place or self.has(*row.in_place)
        sources: list[Word] = []
        if not [role for role, _ in paired if role != "plain"] and row.here:
            paired = [*paired, (wanted[-1].rstrip("*"), Word(".", "."))]
        if any(word.is_glob for _, word in paired) and any(
            not role.endswith("*") and role != "plain" for role in wanted
        ):
            # a glob becomes any number of words, the last of which may be written
            self.leave_open("writes")
        target_folders = self.arguments.values("--target-directory")
        for role, word in paired:
            is_source = role in {"reads", "moves", "links"} and (wanted[-1:] == ("into",))
            if role == "into" and target_folders:
                role, is_source = wanted[0].rstrip("*"), True  # noqa: PLW2901 - the last is a source, too
            if is_source:
                sources.append(word)
            self.add_word(role, word, sources, is_recursive=is_recursive, in_place=in_place, **more)
        for folder in target_folders:
            for source in sources:
                self.add_below(folder, source, is_recursive=is_recursive)

    def add_word(
        self,
        role: str,
        word: Word,
        sources: Sequence[Word] = (),
        *,
        is_recursive: bool = False,
        in_place: bool = False,
        **more: Any,
    ) -> None:
        """Add what the value of an option or an operand does."""
        match role:
            case "reads" | "script":
                self.touch("reads", word, is_recursive=is_recursive, **more)
                if in_place:
                    self.touch("writes", word, is_recursive=is_recursive, **more)
            case "writes" | "deletes":
                self.touch(role, word, is_recursive=is_recursive)
            case "moves":
                self.touch("reads", word, is_recursive=True)
                self.touch("deletes", word, is_recursive=True)
            case "into":
                self.touch("writes", word)
                for source in sources:
                    self.add_below(word, source, is_recursive=is_recursive)
            case "revision":
                shows = self.arguments.path[:1] != ("log",) or self.has("--patch", "-S", "-G", "-L")
                if shows and self.arguments.path[:1] != ("status",):
                    self.add_revision(word)
            case "checkout":
                if self.is_behind_dashes(word) or looks_like_path(word.text):
                    self.touch("writes", word)
            case "url":
                self.fetch(word)
            case "clones":
                self.clone(word)
            case "code":
                self.add_code(word.text)
            case "mount":
                self.add_mount(word)
            case "setting":
                name, equals, value = word.text.partition("=")
                if equals and name.casefold() in _SSH_FILES:
                    self.touch("reads", cut_word(word, value))

    def add_below(self, folder: Word, source: Word, *, is_recursive: bool) -> None:
        """Add a file that comes into a folder under its own name, and for a folder what is in it."""
        name = basename(source.text.rstrip("/"))
        if not folder.is_literal:
            return
        if not source.is_literal or source.is_glob or name in {"", ".", "..", "~"}:
            self.touch("writes", folder, is_partial=True)
            return
        for path in (f"{folder.text.rstrip('/')}/{name}", *([folder.text] if is_recursive else [])):
            word = structs.replace(folder, text=path)
            self.touch("writes", word)
            if is_recursive:
                self.touch("writes", word, is_partial=True)

    def is_behind_dashes(self, word: Word) -> bool:
        dashes = self.arguments.dashes
        return dashes is not None and any(one is word for one in self.operands[dashes:])

    def add_revision(self, word: Word) -> None:
        """Add the path of `revision:path`, or a path."""
        before, colon, path = word.text.partition(":")
        if colon and path and not before.startswith(("http", "git@")) and "/" not in before[:1]:
            self.touch("reads", structs.replace(word, text=path))
        elif self.is_behind_dashes(word) or (looks_like_path(word.text) and ".." not in word.text.replace("../", "")):
            self.touch("reads", word)

    # code and URLs

    def add_interpreter(self) -> None:
        operands = self.operands
        has_code = self.arguments.has_role("code", "module") or self.has("-c")
        files = operands if has_code else operands[1:]
        for word in files:
            if looks_like_path(word.text) and not (self.row.style == "shell" and word is operands[0]):
                self.touch("reads", word)
        if self.command.stdin is not None and self.row.style != "shell" and reads_code_from_stdin(self.command):
            self.add_code(self.command.stdin)

    def add_code(self, code: str) -> None:
        """Add the files and URLs that stand as texts in the code of an interpreter."""
        if len(code) > _LONGEST_CODE:
            code = code[:_LONGEST_CODE]
            self.leave_open()
        self.found.add("urls", find_urls(code))
        changes = _WRITING_CODE.search(code) is not None
        deletes = _DELETING_CODE.search(code) is not None
        for groups in _STRING.findall(code)[:200]:
            # perl opens ">file"
            text = re.sub(r"^\s*[<>]{1,2}\s*", "", next(filter(None, groups), ""))
            if looks_like_path(text) and not re.search(r"[\s{}%\\<>$]", text):
                # programs expand it with functions of theirs
                word = Word(text, text, is_home=text.startswith("~/"))
                self.touch("reads", word)
                if changes:
                    self.touch("writes", word)
                if deletes:
                    self.touch("deletes", word, is_recursive=True)

    def fetch(self, word: Word) -> str:
        """Add a URL that a program fetches, which has a scheme or means the usual one."""
        if not word.is_literal:
            self.leave_open("urls")
            self.found.add("urls", find_urls(word.text))
            return ""
        if _FEW_SLASHES.match(word.text):
            self.leave_open("urls", "reads")
        url = word.text if "://" in word.text else f"http://{word.text}"
        add_url(self.found, url)
        if url.lower().startswith("file://"):
            self.touch("reads", structs.replace(word, text=re.sub(r"(?i)^file://[^/]*", "", url)))
        return url

    def clone(self, word: Word) -> None:
        self.found.add("urls", find_urls(word.text))
        if len(self.operands) < 2:
            name = basename(word.text.rstrip("/").removesuffix("/.git").rpartition(":")[2]).removesuffix(".git")
            if word.is_literal and name:
                self.touch("writes", Word(f"./{name}", name))


def looks_like_path(text: str) -> bool:
    """Return whether a text may be the name of a file: a slash or an ending, one row, no URL."""
    if not 0 < len(text) <= _LONGEST_PATH or "\n" in text or "://" in text or text.startswith(("-", "@")):
        return False
    name = text.rpartition("/")[2]
    return (
        "/" in text or text.startswith("~") or ("." in name.rstrip(".") and " " not in name and not name.endswith("()"))
    )


# effects that the columns of the table cannot express, those of the operands included


def _grep(reader: _CommandReader) -> None:
    globs = reader.values("--include", "--glob", "-g", "-G")
    only = tuple(word.text for word in globs if not word.text.startswith("!"))
    hides = reader.row.hides is not None and not reader.has(*reader.row.hides)
    if len(only) < len(globs):
        # some of the files below are left out
        reader.leave_open("reads")
    else:
        reader.add_operands(only=only, hides=hides)


def _find(reader: _CommandReader) -> None:
    if reader.has("-fprintf"):
        reader.leave_open("writes")
    if not reader.has("-delete"):
        return
    roots, globs, is_all = find_tests(reader.command)
    if not globs and is_all:
        reader.touch("deletes", *roots, is_recursive=True)
    elif (found := find_globs(reader.command)) is not None:
        reader.touch("deletes", *found)
    else:
        reader.leave_open("deletes")


def _sed(reader: _CommandReader) -> None:
    has_script = reader.has("--expression", "--file")
    scripts = reader.values("--expression") if has_script else reader.operands[:1]
    is_read = all(script.is_literal and _SED_SCRIPT.fullmatch(script.text.strip()) for script in scripts)
    if reader.has("--file") or not is_read:
        reader.leave_open("writes", "reads", "runs")
    for suffix in reader.values("--in-place"):
        for word in reader.operands[0 if has_script else 1 :]:
            if word.is_glob or "*" in suffix.text:
                reader.leave_open("writes")
            reader.touch("writes", structs.replace(word, text=f"{word.text}{suffix.text}", is_glob=False))
    # BSD sed takes the word behind -i for the suffix: `sed -i '' s/a/b/ file`
    if reader.has("--in-place") and not has_script and reader.operands and not reader.operands[0].text:
        reader.touch("reads", *reader.operands[2:])
        reader.touch("writes", *reader.operands[2:])
    else:
        reader.add_operands()


def _awk(reader: _CommandReader) -> None:
    code = reader.operands[0].text if reader.operands and not reader.has("--file") else ""
    if re.search(
        r"system\s*\(|\|\s*getline|getline\s*<|\|&|\|\s*\"|print[^;}]*[^=!<>]>\s*[^=]|close\s*\(", code
    ) or reader.has("--file", "--include"):
        reader.leave_open("runs", "writes", "reads")
        for target in re.findall(r">>?\s*\"([^\"]+)\"", code):
            reader.touch("writes", Word(target, target))
    files = [word for word in reader.operands[0 if reader.has("--file") else 1 :] if not re.match(r"\w+=", word.text)]
    reader.touch("reads", *files)
    if any(library.text == "inplace" for library in reader.values("--include")):
        reader.touch("writes", *files)


def _dd(reader: _CommandReader) -> None:
    for word in reader.operands:
        key, _, value = word.text.partition("=")
        if (not word.is_literal or word.is_glob) and key not in {"bs", "count", "skip", "seek"}:
            reader.leave_open("reads", "writes")
        if key in {"if", "of"}:
            # bash expands `~` behind `=`
            file = structs.replace(word, text=value, is_home=value.startswith("~/") and word.is_literal)
            reader.touch("reads" if key == "if" else "writes", file)


def _tar(reader: _CommandReader) -> None:
    operands, files, letters = list(reader.operands), reader.values("--file"), ""
    if operands and operands[0] is reader.command.words[1] and re.fullmatch(r"[A-Za-z]+", operands[0].text):
        # the old way: tar xzf file
        letters = operands.pop(0).text
        if "f" in letters and operands:
            files = [operands.pop(0)]
    creates = reader.has("--create", "--append", "--update", "-A") or not set("cru").isdisjoint(letters)
    extracts = reader.has("--extract") or "x" in letters
    reader.touch("writes" if creates else "reads", *files, folders=reader.shell_folders)
    if creates:
        reader.touch("reads", *operands, is_recursive=True)
        if reader.has("--remove-files"):
            reader.touch("deletes", *operands, is_recursive=True)
    elif extracts and not reader.has("--to-stdout") and "O" not in letters:
        targets = reader.values("--directory")
        reader.touch("writes", *targets, folders=reader.shell_folders)
        reader.touch("writes", *targets, folders=reader.shell_folders, is_partial=True)
        if not targets:
            reader.touch("writes", Word(".", "."), is_partial=True)


def _curl(reader: _CommandReader) -> None:
    sent = ("--data", "--data-urlencode", "--header", "--json", "--form", "--user-agent", "--write-out")
    for word in reader.values(*sent):
        # @file, name=@file, name=<file, name@file
        file = re.match(r"@(.+)|[^=]*=[@<](.+)|[^@=]+@(.+)", word.text)
        if file is not None:
            reader.touch("reads", cut_word(word, (file[1] or file[2] or file[3]).partition(";")[0]))
    for word in reader.values("--cert"):
        reader.touch("reads", cut_word(word, word.text.partition(":")[0]))
    if reader.has("--config"):
        reader.leave_open("reads", "writes", "urls")
    if reader.has("--netrc"):
        reader.touch("reads", Word("~/.netrc", "~/.netrc", is_home=True))
    for word in (*reader.operands, *reader.values("--url")):
        url = reader.fetch(word)
        if word.is_literal and re.search(r"[\[\]{}#]", word.text):
            reader.leave_open("urls", "writes")
        if reader.has("--remote-name", "--remote-name-all"):
            name = basename(url.partition("?")[0])
            if reader.has("--remote-header-name") or name in {"", ".", ".."} or reader.values("--output-dir"):
                reader.leave_open("writes")
            else:
                reader.touch("writes", Word(f"./{name}", name))


def _wget(reader: _CommandReader) -> None:
    targets = reader.values("--output-document", "-o", "-O")
    if reader.has("--input-file"):
        reader.leave_open("writes", "urls")
    for word in reader.operands:
        url = reader.fetch(word)
        name = basename(url.partition("?")[0].partition("#")[0])
        if not targets and not reader.has("--spider"):
            # the server has a say in the name
            reader.leave_open("writes")
            folder = reader.values("--directory-prefix")
            if name and word.is_literal:
                reader.touch("writes", Word(f"{folder[0].text if folder else '.'}/{name}", name))
    if reader.has("--recursive", "--mirror", "--page-requisites"):
        reader.leave_open("writes", "urls")


def _link(reader: _CommandReader) -> None:
    operands = reader.operands
    if any(word.text.startswith(("/proc", "/dev")) for word in operands[:-1]):
        reader.leave_open(*_FILE_QUESTIONS)
    if len(operands) == 1:
        name = basename(operands[0].text.rstrip("/"))
        reader.touch("writes", structs.replace(operands[0], text=f"./{name}"))
        return
    if not reader.has("--symbolic"):
        # a second name of the same file: what is written there is written here
        reader.touch("reads", *operands[:-1])
        reader.touch("writes", *operands[:-1])
    reader.add_operands(("links*", "into"))


def _mode(reader: _CommandReader) -> None:
    # `chmod -x file`: the mode looks like options
    is_mode = not reader.operands[1:] and reader.arguments.strays
    reader.add_operands(("writes*",) if is_mode else None)


def _ruff(reader: _CommandReader) -> None:
    operands = reader.operands
    if operands and operands[0].text == "format" and not reader.has("--check", "--diff"):
        reader.touch("writes", *operands[1:])
        reader.leave_open("writes")
    elif reader.has("--fix", "--fix-only"):
        reader.leave_open("writes")
    reader.add_operands()


def _jq(reader: _CommandReader) -> None:
    # --arg and its kind take two values, of which the table knows one
    two_values = {"--arg", "--argjson", "--slurpfile", "--rawfile"}
    operands = reader.operands[sum(one.option.name in two_values for one in reader.arguments.options) :]
    if reader.command.name == "yq" and operands and operands[0].text in {"eval", "e", "ea", "r"}:
        operands = operands[1:]
    files = operands if reader.has("--from-file") else operands[1:]
    if not reader.has("--null-input", "--args", "--jsonargs"):
        reader.touch("reads", *files)
        if reader.has("--in-place"):
            reader.touch("writes", *files)


def _remote_copy(reader: _CommandReader) -> None:
    is_recursive = reader.is_recursive()
    *sources, target = reader.operands or (None,)
    local = [word for word in sources if not _REMOTE.match(word.text)]
    if len(local) < len(sources):
        reader.leave_open("urls")
    reader.touch("reads", *local, is_recursive=is_recursive)
    if reader.has("--remove-source-files"):
        reader.touch("deletes", *local, is_recursive=True)
    if target is None:
        return
    if _REMOTE.match(target.text):
        reader.leave_open("urls")
        return
    reader.touch("writes", target)
    if any(word.text.endswith("/") for word in sources):
        reader.touch("writes", target, is_partial=True)
    if reader.has("--delete", "--delete-after", "--delete-excluded"):
        reader.leave_open("deletes")
        if not reader.has("--exclude", "--exclude-from", "--include", "--files-from", "--dry-run"):
            # whatever the sources do not have
            reader.touch("deletes", target, is_recursive=True)
    for word in sources:
        if not word.text.endswith("/"):
            reader.add_below(target, word, is_recursive=is_recursive)


def _compress(reader: _CommandReader) -> None:
    reader.touch("reads", *reader.operands)
    # the file is replaced by another
    reader.touch("writes" if reader.has("--keep") else "deletes", *reader.operands)


def _git_config(reader: _CommandReader) -> None:
    asks = reader.has("--get", "--get-all", "--get-regexp", "--list", "--get-urlmatch")
    reads_only = asks or len(reader.operands) < 2
    changes = reader.has("--unset", "--edit", "--unset-all", "--remove-section")
    if reader.has("--global") and (not reads_only or changes):
        reader.touch("writes", Word("~/.gitconfig", "~/.gitconfig", is_home=True))
    if reader.has("--system") and not reads_only:
        reader.touch("writes", Word("/etc/gitconfig", "/etc/gitconfig"))
    reader.add_operands()


def _worktree(reader: _CommandReader) -> None:
    action = reader.operands[0].text if reader.operands else ""
    if action in {"add", "move"}:
        *_, last = reader.operands[: None if action == "move" else 2]
        reader.touch("writes", last, is_recursive=True)
    elif action == "remove":
        reader.touch("deletes", *reader.operands[1:], is_recursive=True)


def _git_apply(reader: _CommandReader) -> None:
    if reader.command.stdin is not None:
        for folder in reader.folders:
            apply_patch(reader.command.stdin, folder or reader.cwd, reader.found)
    reader.add_operands()


def _patch_tool(reader: _CommandReader) -> None:
    texts = [word.text for word in reader.operands]
    texts += [reader.command.stdin] if reader.command.stdin is not None else []
    is_read = [apply_patch(text, folder or reader.cwd, reader.found) for text in texts for folder in reader.folders]
    if not is_read or not all(is_read):
        reader.leave_open("writes", "deletes")


def _docker_cp(reader: _CommandReader) -> None:
    for at, word in enumerate(reader.operands):
        if ":" not in word.text:
            reader.touch("writes" if at else "reads", word, is_recursive=not at)


def _gh_api(reader: _CommandReader) -> None:
    for value in reader.values("--field"):
        if file := value.text.partition("=@")[2]:
            reader.touch("reads", cut_word(value, file))


def _http(reader: _CommandReader) -> None:
    for word in reader.operands:
        if _SCHEME.match(word.text) or "." in word.text.partition("/")[0]:
            reader.fetch(word)
        name, at, file = word.text.partition("@")
        if at and name and file and looks_like_path(file):
            reader.touch("reads", cut_word(word, file))


def _aws(reader: _CommandReader) -> None:
    """Add the files that are copied from and to a store."""
    words = reader.operands
    if [word.text for word in words[:1]] == ["s3"] and len(words) > 2:
        files = words[2:]
        for at, word in enumerate(files):
            if word.text.startswith("s3://"):
                continue
            is_target = at == len(files) - 1 and at > 0
            reader.touch("writes" if is_target else "reads", word, is_recursive=True)
            if words[1].text == "mv" and not is_target:
                reader.touch("deletes", word, is_recursive=True)
    for value in (given.value for given in reader.arguments.options if given.value is not None):
        file = re.match(r"fileb?://(.+)", value.text)
        if file is not None:
            reader.touch("reads", cut_word(value, file[1]))


def _perl(reader: _CommandReader) -> None:
    """`perl -i -pe code files` writes the files."""
    files = reader.operands if reader.arguments.has_role("code") else reader.operands[:1]
    reader.touch("reads", *files)
    if reader.has("-i"):
        reader.touch("writes", *files)


def _shell(reader: _CommandReader) -> None:
    operands = reader.operands
    if operands and not reader.has("-c") and not any(part.kind == "process" for part in operands[0].parts):
        reader.touch("reads", operands[0])


def _unzip(reader: _CommandReader) -> None:
    reader.add_operands()
    reader.touch("writes", *(reader.values("-d") or [Word(".", ".")]), is_partial=True)


def _builtin(reader: _CommandReader) -> None:
    # bash computes the index of an array, substitutions included: test -v 'a[$(…)]'
    if any(re.search(r"\[.*(?:\$\(|`)", word.text) for word in reader.command.words[1:]):
        reader.leave_open()


_STYLES: Final[Mapping[str, Callable[[_CommandReader], None]]] = {
    "grep": _grep,
    "find": _find,
    "gofmt": lambda reader: reader.add_operands(only=("*.go",)),
    "sed": _sed,
    "awk": _awk,
    "dd": _dd,
    "tar": _tar,
    "curl": _curl,
    "wget": _wget,
    "link": _link,
    "mode": _mode,
    "ruff": _ruff,
    "jq": _jq,
    "remote-copy": _remote_copy,
    "compress": _compress,
    "git-config": _git_config,
    "git-apply": _git_apply,
    "worktree": _worktree,
    "apply_patch": _patch_tool,
    "docker-cp": _docker_cp,
    "gh-api": _gh_api,
    "httpie": _http,
    "aws": _aws,
    "perl": _perl,
    "shell": _shell,
    "unzip": _unzip,
    "builtin": _builtin,
    "text": _builtin,
}
