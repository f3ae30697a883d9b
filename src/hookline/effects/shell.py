"""Find the effects of a shell line with the table of programs."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from posixpath import basename, join
from types import MappingProxyType
from typing import Any, Final

from msgspec import structs

from hookline.effects.effects import EffectsBuilder, Target, make_absolute
from hookline.effects.patches import parse_changes
from hookline.effects.patterns import add_url, find_urls
from hookline.shell.options import Arguments
from hookline.shell.program import Program
from hookline.shell.reader import parse_script
from hookline.shell.script import Redirect, Word
from hookline.shell.walk import ShellCommand, assign_roles, find_globs, find_tests, walk_commands

_FILE_QUESTIONS: Final = ("reads", "writes", "deletes")
_WRITING: Final = frozenset({">", ">>", ">|", "&>", "&>>", "<>", ">&"})
_SYSTEM: Final = re.compile(r"(?:/usr(?:/local)?)?/s?bin/[^/]+$|/opt/homebrew/bin/[^/]+$")
_NAME: Final = re.compile(r"[\w./,:@%+=-]+")
_DESCRIPTOR: Final = re.compile(r"[0-9]*-?|-")
_CONNECTION: Final = re.compile(r"/dev/(?:tcp|udp)(?:/|$)")
_REMOTE: Final = re.compile(r"(?:[\w.-]+@)?[\w.-]+:(?!//)|[a-z+]+://")
_SCHEME: Final = re.compile(r"[a-z][a-z0-9+.-]*:", re.IGNORECASE)
# a scheme with fewer slashes than usual, with which programs still do something
_FEW_SLASHES: Final = re.compile(r"[a-z][a-z0-9+.-]*:(?:/(?!/)|$|[^/0-9])", re.IGNORECASE)
_LONGEST_CODE: Final = 20_000
_LONGEST_PATH: Final = 1024
# variables that put other programs or other code in place of those that are named
_REPLACING: Final = frozenset(
    {"PATH", "LD_PRELOAD", "LD_LIBRARY_PATH", "DYLD_INSERT_LIBRARIES", "BASH_ENV", "ENV", "IFS"}
)
# variables that make programs start others, or load other code
_STARTING: Final = frozenset(
    {
        *("PYTHONPATH", "PYTHONSTARTUP", "NODE_OPTIONS", "PERL5OPT", "RUBYOPT", "JAVA_TOOL_OPTIONS", "MAKEFLAGS"),
        *("GIT_SSH", "GIT_SSH_COMMAND", "GIT_EXTERNAL_DIFF", "GIT_PAGER", "GIT_EDITOR", "GIT_SEQUENCE_EDITOR"),
        *("GIT_ASKPASS", "GIT_PROXY_COMMAND", "GIT_EXEC_PATH", "PAGER", "EDITOR", "VISUAL", "PROMPT_COMMAND"),
    }
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
    r"\brm\w*\(|open\s*\([^)\n]{0,200}['\"][rwax+bt]*[wax+][bt+]*['\"]|write|unlink|remove|rmtree|rmdir|rename|replace\(|copy|move|truncate|mkdir|chmod"
    r"|appendFile|createWrite|dump\(|>"
)
_STRING: Final = re.compile(r"'((?:[^'\\\n]|\\.)*)'|\"((?:[^\"\\\n]|\\.)*)\"|`([^`\n]*)`")


def read_line(text: str, cwd: str, found: EffectsBuilder) -> None:
    """Add everything that a shell line does."""
    found.add("runs", (text,))
    script = parse_script(text)
    walk = walk_commands(script)
    found.add_commands(walk.commands)
    if walk.doubts:
        found.leave_open()
    found.is_cut |= walk.is_cut
    for command in walk.commands:
        read_command(command, cwd, found)
    # a link that a line makes or moves is not there yet when paths are compared
    if any(map(_may_link, walk.commands[:-1])):
        found.leave_open(*_FILE_QUESTIONS)


def read_command(command: ShellCommand, cwd: str, found: EffectsBuilder) -> None:
    """Add what one command does."""
    if command.words:
        found.add("runs", (command.text,))
    _CommandReader(command, cwd, found).read()


def _may_link(command: ShellCommand) -> bool:
    """Return whether a command may bring a link to a place where there was none."""
    copies = command.name == "cp" and command.arguments.has(
        "--recursive", "--archive", "-d", "--no-dereference", "--symbolic-link"
    )
    return command.name in {"ln", "mv", "alias"} or copies


def read_words(words: list[str], cwd: str, found: EffectsBuilder) -> None:
    """Add everything that a list of arguments does, which no shell reads."""
    line = " ".join("'" + word.replace("'", "'\\''") + "'" for word in words)
    read_line(line, cwd, found)


def apply_patch(text: str, cwd: str, found: EffectsBuilder) -> bool:
    """Add the files that a patch changes; return False when it cannot be read."""
    changes = parse_changes(text)
    for change in changes or ():
        found.writes(make_absolute(cwd, change.path))
        if change.op in {"delete", "move"}:
            found.deletes(make_absolute(cwd, change.path))
        if change.to:
            found.writes(make_absolute(cwd, change.to))
    return changes is not None


class _CommandReader:
    """Read the effects of one command."""

    def __init__(self, command: ShellCommand, cwd: str, found: EffectsBuilder) -> None:
        self.command = command
        self.arguments: Arguments = command.arguments
        self.row: Program | None = self.arguments.row
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
            if one.option.role == "folder" and one.value is not None:
                self.folders = [
                    make_absolute(base or cwd, one.value.text) if one.value.is_literal else None
                    for base in self.folders
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
        last = self.row or command.row
        if not command.name:
            self.leave_open()
        is_open = command.row.subcommands and not self.arguments.path and not self.is_information()
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
        style = _STYLES.get(last.style) or _STYLES.get(command.row.style)
        if style is None or not style(self):
            self.add_operands()
        if command.row.interpreter:
            self.add_interpreter()
        elif "reads" in open_questions:
            self.add_plain_paths()

    def add_plain_paths(self) -> None:
        """Add plain words that look like files: a program that may read any file plainly reads those."""
        values = [one.value for one in self.arguments.options if one.value is not None and one.option.role == "plain"]
        for word in (*self.operands, *values):
            for text in {word.text, *re.split(r"[=,]", word.text)}:
                if looks_like_path(text) and not _REMOTE.match(text):
                    self.touch("reads", structs.replace(word, text=text))

    def is_information(self) -> bool:
        """Return whether only the version or the help is printed."""
        return self.has("--version", "--help", "-h", "-V", "-v") and not self.operands

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

    def touch_all(self, kind: str, words: Iterable[Word], *, is_recursive: bool = False) -> None:
        """Add the files that words name."""
        for word in words:
            self.touch(kind, word, is_recursive=is_recursive)

    def touch(
        self,
        kind: str,
        word: Word,
        *,
        is_recursive: bool = False,
        folders: Sequence[str | None] | None = None,
        **more: Any,
    ) -> None:
        """Add the file that a word names, in each folder that the command may run in."""
        if not word.is_literal:
            self.leave_open(kind)
            return
        if word.text in {"-", ""}:
            return
        for number, folder in enumerate(self.folders if folders is None else folders):
            text = word.text
            if text.startswith("~") and not word.is_home:
                text = f"./{text}"
            if folder is None and not text.startswith(("/", "~")):
                self.leave_open(kind)
                continue
            pattern = ""
            if word.is_glob:
                pattern = make_absolute(folder or self.cwd, word.pattern)
            path = make_absolute(folder or self.cwd, text)
            target = Target(path, is_sure=not number, is_recursive=is_recursive, pattern=pattern)
            self.found.touch(kind, structs.replace(target, **more))
            if ".." in text and not word.is_glob:
                # behind a link, `..` leads elsewhere
                spelled = join(folder or self.cwd, text)
                self.found.touch(kind, structs.replace(target, path=spelled, **more))

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
        if target.is_glob or any(part.kind == "process" for part in target.parts):
            if target.is_glob:
                self.leave_open(*_FILE_QUESTIONS)
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
        row = self.row
        for one in self.arguments.options:
            if one.value is None:
                continue
            if one.option.role in {"reads", "writes", "deletes"}:
                self.touch(one.option.role, one.value)
            elif one.option.role == "script":
                self.touch("reads", one.value)
            elif one.option.role == "url":
                self.fetch(one.value)
            elif one.option.role == "code":
                self.add_code(one.value.text)
        has_files = row is not None and any(
            role.rstrip("*") in {"reads", "writes", "deletes", "into"} for role in row.operands
        )
        if self.arguments.strays and has_files and row is not None and not row.unknown:
            self.leave_open("reads", "writes")
        for word in self.arguments.unclear:
            if has_files and word not in self.operands:
                self.leave_open(*_FILE_QUESTIONS)

    def is_recursive(self) -> bool:
        row = self.row
        return row is not None and ("always" in row.recursive or self.has(*row.recursive))

    def add_operands(self, roles: tuple[str, ...] | None = None, **more: Any) -> None:
        """Add what the operands do, by their roles."""
        row = self.row
        if row is None:
            return
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
            self.add_operand(role, word, sources, is_recursive=is_recursive, in_place=in_place, **more)
        for folder in target_folders:
            for source in sources:
                self.add_below(folder, source, is_recursive=is_recursive)

    def add_operand(
        self, role: str, word: Word, sources: list[Word], *, is_recursive: bool, in_place: bool, **more: Any
    ) -> None:
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
        has_code = any(one.option.role in {"code", "module"} for one in self.arguments.options) or self.has("-c")
        files = operands if has_code else operands[1:]
        for word in files:
            if looks_like_path(word.text) and not (self.row and self.row.style == "shell" and word is operands[0]):
                self.touch("reads", word)
        if not operands and self.command.stdin is not None and self.row and self.row.style != "shell":
            self.add_code(self.command.stdin)

    def add_code(self, code: str) -> None:
        """Add the files and URLs that stand as texts in the code of an interpreter."""
        if len(code) > _LONGEST_CODE:
            code = code[:_LONGEST_CODE]
            self.leave_open()
        self.found.add("urls", find_urls(code))
        changes = _WRITING_CODE.search(code) is not None
        for groups in _STRING.findall(code)[:200]:
            text = next(filter(None, groups), "")
            if looks_like_path(text) and not re.search(r"[\s{}%\\<>$]", text):
                word = Word(text, text)
                self.touch("reads", word)
                if changes:
                    self.touch("writes", word)

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


# effects that the columns of the table cannot express; True when the operands were added


def _grep(reader: _CommandReader) -> bool:
    only = tuple(
        word.text for word in reader.values("--include", "--glob", "-g", "-G") if not word.text.startswith("!")
    )
    row = reader.row
    hides = row is not None and row.hides is not None and not reader.has(*row.hides)
    if reader.has("--files", "--type-list", "--files-with-matches.never"):
        reader.add_operands(("lists*",))
        return True
    if any(word.text.startswith("!") for word in reader.values("--include", "--glob", "-g", "-G")):
        # some of the files below are left out
        reader.leave_open("reads")
        return True
    reader.add_operands(only=only, hides=hides)
    return True


def _gofmt(reader: _CommandReader) -> bool:
    reader.add_operands(only=("*.go",))
    return True


def _find(reader: _CommandReader) -> bool:
    if reader.has("-fprintf"):
        reader.leave_open("writes")
    if not reader.has("-delete"):
        return True
    roots, globs, is_all = find_tests(reader.command)
    if not globs and is_all:
        for root in roots:
            reader.touch("deletes", root, is_recursive=True)
        return True
    found = find_globs(reader.command)
    if found is None:
        reader.leave_open("deletes")
    reader.touch_all("deletes", found or ())
    return True


def _sed(reader: _CommandReader) -> bool:
    row = reader.row
    scripts = reader.values("--expression")
    has_script = reader.has("--expression", "--file")
    if reader.has("--file"):
        reader.leave_open("writes", "reads", "runs")
    if not has_script:
        scripts = reader.operands[:1]
    for script in scripts:
        if not script.is_literal or not _SED_SCRIPT.fullmatch(script.text.strip()):
            reader.leave_open("writes", "reads", "runs")
    for suffix in reader.values("--in-place"):
        for word in reader.operands[0 if has_script else 1 :]:
            if word.is_glob or "*" in suffix.text:
                reader.leave_open("writes")
            reader.touch("writes", structs.replace(word, text=f"{word.text}{suffix.text}", is_glob=False))
    # BSD sed takes the word behind -i for the suffix: `sed -i '' s/a/b/ file`
    if (
        row is not None
        and reader.has("--in-place")
        and not has_script
        and reader.operands[:1]
        and not reader.operands[0].text
    ):
        for word in reader.operands[2:]:
            reader.touch("reads", word)
            reader.touch("writes", word)
        return True
    return False


def _awk(reader: _CommandReader) -> bool:
    code = reader.operands[0].text if reader.operands and not reader.has("--file") else ""
    if re.search(
        r"system\s*\(|\|\s*getline|getline\s*<|\|&|\|\s*\"|print[^;}]*[^=!<>]>\s*[^=]|close\s*\(", code
    ) or reader.has("--file", "--include"):
        reader.leave_open("runs", "writes", "reads")
        for target in re.findall(r">>?\s*\"([^\"]+)\"", code):
            reader.touch("writes", Word(target, target))
    scripted = reader.has("--file")
    for word in reader.operands[0 if scripted else 1 :]:
        if not re.match(r"\w+=", word.text):
            reader.touch("reads", word)
    return True


def _dd(reader: _CommandReader) -> bool:
    for word in reader.operands:
        key, _, value = word.text.partition("=")
        if (not word.is_literal or word.is_glob) and key not in {"bs", "count", "skip", "seek"}:
            reader.leave_open("reads", "writes")
        if key in {"if", "of"}:
            kind = "reads" if key == "if" else "writes"
            reader.touch(kind, structs.replace(word, text=value, is_home=value.startswith("~/") and word.is_literal))
    return True


def _tar(reader: _CommandReader) -> bool:
    arguments = reader.arguments
    operands = list(arguments.operands)
    letters = ""
    files = reader.values("--file")
    if (
        operands
        and reader.command.words[1:2]
        and operands[0] is reader.command.words[1]
        and re.fullmatch(r"[A-Za-z]+", operands[0].text)
    ):
        # the old way: tar xzf file
        letters = operands.pop(0).text
        if "f" in letters and operands:
            files = [operands.pop(0)]
    creates = arguments.has("--create", "--append", "--update", "-A") or any(letter in letters for letter in "cru")
    extracts = arguments.has("--extract") or "x" in letters
    for file in files:
        reader.touch("writes" if creates else "reads", file, folders=reader.shell_folders)
    if creates:
        for word in operands:
            reader.touch("reads", word, is_recursive=True)
            if arguments.has("--remove-files"):
                reader.touch("deletes", word, is_recursive=True)
    elif extracts and not arguments.has("--to-stdout") and "O" not in letters:
        for value in reader.values("--directory"):
            reader.touch("writes", value, folders=reader.shell_folders)
            reader.touch("writes", value, folders=reader.shell_folders, is_partial=True)
        if not reader.values("--directory"):
            reader.touch("writes", Word(".", "."), is_partial=True)
    return True


def _curl(reader: _CommandReader) -> bool:
    for word in reader.values(
        "--data", "--data-urlencode", "--header", "--json", "--form", "--user-agent", "--write-out"
    ):
        for text in re.findall(r"(?:^|=|<)@?([^;]+)", word.text) if "@" in word.text or "<" in word.text else ():
            at = (
                re.match(r"@(.+)", word.text)
                or re.match(r"[^=]*=[@<](.+)", word.text)
                or re.match(r"[^@=]+@(.+)", word.text)
            )
            if at is not None and text:
                reader.touch("reads", structs.replace(word, text=at[1].partition(";")[0]))
                break
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
    return True


def _wget(reader: _CommandReader) -> bool:
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
    return True


def _link(reader: _CommandReader) -> bool:
    operands = reader.operands
    if any(word.text.startswith(("/proc", "/dev")) for word in operands[:-1]):
        reader.leave_open(*_FILE_QUESTIONS)
    if len(operands) == 1:
        name = basename(operands[0].text.rstrip("/"))
        reader.touch("writes", structs.replace(operands[0], text=f"./{name}"))
        return True
    if not reader.has("--symbolic"):
        for word in operands[:-1]:
            # a second name of the same file: what is written there is written here
            reader.touch("reads", word)
            reader.touch("writes", word)
    reader.add_operands(("links*", "into"))
    return True


def _mode(reader: _CommandReader) -> bool:
    # `chmod -x file`: the mode looks like options
    if not reader.operands[1:] and reader.arguments.strays:
        reader.add_operands(("writes*",))
        return True
    return False


def _ruff(reader: _CommandReader) -> bool:
    operands = reader.operands
    if operands and operands[0].text == "format" and not reader.has("--check", "--diff"):
        for word in operands[1:]:
            reader.touch("writes", word)
        reader.leave_open("writes")
    elif reader.has("--fix", "--fix-only"):
        reader.leave_open("writes")
    return False


def _jq(reader: _CommandReader) -> bool:
    # --arg and its kind take two values, of which the table knows one
    count = sum(
        option.option.name in {"--arg", "--argjson", "--slurpfile", "--rawfile"} for option in reader.arguments.options
    )
    operands = reader.operands[count:] if count else reader.operands
    names = [
        name
        for name in ("eval", "e", "ea", "r")
        if reader.command.name == "yq" and operands[:1] and operands[0].text == name
    ]
    operands = operands[len(names) :]
    rest = operands if reader.has("--from-file") else operands[1:]
    if not reader.has("--null-input", "--args", "--jsonargs"):
        for word in rest:
            reader.touch("reads", word)
            if reader.has("--in-place"):
                reader.touch("writes", word)
    return True


def _remote_copy(reader: _CommandReader) -> bool:
    is_recursive = reader.is_recursive()
    *sources, target = reader.operands or (None,)
    local = [word for word in sources if not _REMOTE.match(word.text)]
    if len(local) < len(sources):
        reader.leave_open("urls")
    for word in local:
        reader.touch("reads", word, is_recursive=is_recursive)
        if reader.has("--remove-source-files"):
            reader.touch("deletes", word, is_recursive=True)
    if target is None:
        return True
    if _REMOTE.match(target.text):
        reader.leave_open("urls")
        return True
    reader.touch("writes", target)
    if any(word.text.endswith("/") for word in sources):
        reader.touch("writes", target, is_partial=True)
    if reader.has("--delete", "--delete-after", "--delete-excluded"):
        reader.leave_open("deletes")
    for word in sources:
        if not word.text.endswith("/"):
            reader.add_below(target, word, is_recursive=is_recursive)
    return True


def _compress(reader: _CommandReader) -> bool:
    if reader.has("--stdout", "-t", "-l"):
        reader.add_operands(("reads*",))
        return True
    for word in reader.operands:
        reader.touch("reads", word)
        # the file is replaced by another
        reader.touch("writes" if reader.has("--keep") else "deletes", word)
    return True


def _git(reader: _CommandReader) -> bool:
    for value in reader.values("-c"):
        if not value.is_literal or _GIT_CONFIG.match(value.text):
            reader.leave_open("runs")
    return False


def _git_config(reader: _CommandReader) -> bool:
    reads_only = (
        reader.has("--get", "--get-all", "--get-regexp", "--list", "--get-urlmatch") or len(reader.operands) < 2
    )
    if reader.has("--global") and (
        not reads_only or reader.has("--unset", "--edit", "--unset-all", "--remove-section")
    ):
        reader.touch("writes", Word("~/.gitconfig", "~/.gitconfig", is_home=True))
    if reader.has("--system") and not reads_only:
        reader.touch("writes", Word("/etc/gitconfig", "/etc/gitconfig"))
    return _git(reader)


def _git_rm(reader: _CommandReader) -> bool:
    if reader.has("--cached", "--dry-run"):
        return True
    return _git(reader)


def _git_restore(reader: _CommandReader) -> bool:
    return reader.has("--staged") and not reader.has("--worktree")


def _worktree(reader: _CommandReader) -> bool:
    operands = reader.operands
    if operands and operands[0].text in {"add", "move"}:
        reader.touch(
            "writes",
            operands[-1] if operands[0].text == "move" and len(operands) > 2 else operands[min(1, len(operands) - 1)],
            is_recursive=True,
        )
    elif operands and operands[0].text == "remove":
        reader.touch_all("deletes", operands[1:], is_recursive=True)
    return True


def _git_apply(reader: _CommandReader) -> bool:
    if reader.has("--check", "--stat", "--numstat", "--summary", "--cached"):
        reader.add_operands()
        return True
    if reader.command.stdin is not None:
        for folder in reader.folders:
            apply_patch(reader.command.stdin, folder or reader.cwd, reader.found)
    return False


def _patch_tool(reader: _CommandReader) -> bool:
    texts = [word.text for word in reader.operands]
    texts += [reader.command.stdin] if reader.command.stdin is not None else []
    is_read = [apply_patch(text, folder or reader.cwd, reader.found) for text in texts for folder in reader.folders]
    if not is_read or not all(is_read):
        reader.leave_open("writes", "deletes")
    return True


def _docker_cp(reader: _CommandReader) -> bool:
    for at, word in enumerate(reader.operands):
        if ":" not in word.text:
            reader.touch("writes" if at else "reads", word, is_recursive=not at)
    return True


def _compiler(reader: _CommandReader) -> bool:
    reader.touch_all("reads", reader.operands)
    return True


def _gh_api(reader: _CommandReader) -> bool:
    for value in reader.values("--field"):
        _, _, file = value.text.partition("=@")
        if file:
            reader.touch("reads", structs.replace(value, text=file))
    return True


def _http(reader: _CommandReader) -> bool:
    for word in reader.operands:
        if _SCHEME.match(word.text) or "." in word.text.partition("/")[0]:
            reader.fetch(word)
        name, at, file = word.text.partition("@")
        if at and name and file and looks_like_path(file):
            reader.touch("reads", structs.replace(word, text=file))
    return True


def _aws(reader: _CommandReader) -> bool:
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
            reader.touch("reads", structs.replace(value, text=file[1]))
    return True


def _perl(reader: _CommandReader) -> bool:
    """`perl -i -pe code files` writes the files."""
    files = reader.operands
    has_code = any(given.option.role == "code" for given in reader.arguments.options)
    for word in files if has_code else files[:1]:
        reader.touch("reads", word)
        if reader.has("-i"):
            reader.touch("writes", word)
    return True


def _shell(reader: _CommandReader) -> bool:
    operands = reader.operands
    if operands and not reader.has("-c") and not any(part.kind == "process" for part in operands[0].parts):
        reader.touch("reads", operands[0])
    return True


def _unzip(reader: _CommandReader) -> bool:
    reader.add_operands()
    for folder in reader.values("-d") or [Word(".", ".")]:
        reader.touch("writes", folder, is_partial=True)
    return True


def _builtin(reader: _CommandReader) -> bool:
    # bash computes the index of an array, substitutions included: test -v 'a[$(…)]'
    if any(re.search(r"\[.*(?:\$\(|`)", word.text) for word in reader.command.words[1:]):
        reader.leave_open()
    return True


def _switch_roles(role: str, *options: str) -> "_Style":
    """Give all operands another role when one of these options is given."""

    def add(reader: _CommandReader) -> bool:
        is_switched = reader.has(*options)
        if is_switched:
            reader.add_operands((role,))
        return is_switched

    return add


_Style = Callable[[_CommandReader], bool]
_STYLES: Final[Mapping[str, _Style]] = MappingProxyType(
    {
        "grep": _grep,
        "find": _find,
        "gofmt": _gofmt,
        "sed": _sed,
        "awk": _awk,
        "dd": _dd,
        "tar": _tar,
        "curl": _curl,
        "wget": _wget,
        "link": _link,
        "install": _switch_roles("writes*", "--directory"),
        "mode": _mode,
        "formatter": _switch_roles("reads*", "--check", "--diff", "-c"),
        "ruff": _ruff,
        "jq": _jq,
        "remote-copy": _remote_copy,
        "compress": _compress,
        "git": _git,
        "git-config": _git_config,
        "git-rm": _git_rm,
        "git-restore": _git_restore,
        "git-apply": _git_apply,
        "worktree": _worktree,
        "apply_patch": _patch_tool,
        "docker-cp": _docker_cp,
        "compiler": _compiler,
        "gh-api": _gh_api,
        "httpie": _http,
        "aws": _aws,
        "perl": _perl,
        "shell": _shell,
        "unzip": _unzip,
        "builtin": _builtin,
        "text": _builtin,
    }
)
