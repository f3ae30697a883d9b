"""Decide where a template may stand in a shell line: a value may be a word, and never program text.

Each `{{name}}` is replaced by a reference to a variable of its own, and the line is read like every other script. Then
values are followed: through variables, pipes, `xargs`, functions, positional parameters, and into the text behind
`sh -c`. The table of programs says which words of a command are program text, names or options. What cannot be read with
certainty is refused.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise, takewhile
from typing import Final, NoReturn

from msgspec import Struct, structs

from hookline.shell.program import Program, split_names
from hookline.shell.programs import (
    FD_ACTIONS,
    FIND_ACTIONS,
    SHELLS,
    Arguments,
    assign_roles,
    find_program,
    name_program,
    read_arguments,
)
from hookline.shell.reader import parse_script
from hookline.shell.script import (
    Compound,
    Pipeline,
    Script,
    ScriptStep,
    SimpleCommand,
    Word,
    WordPart,
    find_nodes,
    list_words,
)
from hookline.shell.templates import (
    IN_SCRIPT,
    VARIABLE,
    Mark,
    Quoting,
    Reason,
    TemplateError,
    TemplatePosition,
    replace_marks,
)

BACKTICKS: Final = Reason("stands inside backticks, which shells parse twice", "write $(…) instead of the backticks")
HERE_DOCUMENT: Final = Reason(
    "stands inside a here-document, whose text is not made of words", "write printf '%s\\n' {{…}} | program"
)
PARAMETER: Final = Reason(
    "stands inside ${…}, where a value can be a pattern or a subscript", "assign it first: x={{…}}; then use ${x…}"
)
ARITHMETIC: Final = Reason(
    "would be evaluated as arithmetic, and bash runs $(…) in a subscript there",
    "compare with [ a -gt b ], or calculate in a program that takes the value as an argument",
)
DOLLAR_QUOTE: Final = Reason("stands inside $'…', which not every shell knows", "use plain '…' or \"…\"")
ESCAPED: Final = Reason(
    "has a backslash before it, which would change the quoting around the value", "leave the backslash out"
)
AFTER_DOLLAR: Final = Reason("has a $ before it, which would make it a variable's name", "write '$' before it")
ARRAY: Final = Reason("stands inside an array, which sh does not know", 'use set -- {{…}} and "$@"')
UNREADABLE: Final = Reason(
    "cannot be read with certainty, so no template of this line can be filled in safely",
    "use a simpler spelling, or move the line into a script that takes the templates as arguments",
)
COMMAND: Final = Reason(
    "would choose the program that runs", "write the program's name out and pass the value as an argument"
)
UNKNOWN_PROGRAM: Final = Reason(
    "would go to a program whose name is only known at run time, perhaps an interpreter", "write the program's name out"
)
UNKNOWN_TEXT: Final = Reason(
    "would be an argument of a script whose text is only known at run time",
    "write the script's text out, or use a file",
)
VANISHING: Final = Reason(
    "stands behind an unquoted variable, and takes its place when that is empty", 'quote the variable: "$name"'
)
WHOLE_LINE: Final = Reason(
    "changes what the rest of the line means, so that no template in it can be judged",
    "leave it out, or move the line into a script that takes the templates as arguments",
)
AMBIGUOUS: Final = Reason(
    "stands after &>, where it is an argument to bash and a program to sh", "write > file 2>&1, at the end"
)
DESCRIPTOR: Final = Reason("would name a descriptor", "redirect to it with > or <, then add 2>&1")
TEST: Final = Reason(
    "stands in a test where its value could become an operator or a name",
    "write [ {{…}} = text ] or [ -n {{…}} ], one each",
)
TEST_LIST: Final = Reason(
    "stands after && or || inside [[ ]], where sh would run it as a program", "write [ … ] && [ … ]"
)
LIST: Final = Reason("could be parsed again as a list", "declare the name first, then write x={{…}}")
_NO_PLACE: Final[Mapping[str, Reason]] = {"expansion": PARAMETER, "arithmetic": ARITHMETIC}
WRITTEN: Final = Reason(
    "is executed by a line that may also write it, so that a value could become program text",
    "execute a file that the line does not write, and pass the value as an argument",
)


# builtins that change how the shell reads what follows
_CHANGES_LANGUAGE: Final = frozenset({"alias", "unalias", "shopt", "setopt", "unsetopt", "emulate", "parallel"})
_NOT_BASH: Final = frozenset({"fish", "csh", "tcsh"})
# shells that evaluate arithmetic in `[ a -gt b ]` and in printf %d, too
_COMPUTING: Final = frozenset({"zsh", "ksh", "mksh"})
_DECLARING: Final = frozenset({"export", "readonly", "declare", "typeset", "local"})
_PARSED_AGAIN: Final = frozenset({"declare", "typeset", "local"})
# integers are evaluated when they are assigned, references and arrays are parsed
_EVALUATING_ATTRIBUTES: Final = re.compile(r"[-+]\w*[inaA]")
_READING: Final = frozenset({"read", "mapfile", "readarray", "getopts"})
_SETS: Final[Mapping[str, tuple[str, ...]]] = {"cd": ("PWD", "OLDPWD"), "pushd": ("PWD", "OLDPWD"), "set": ("@",)}
# $_ is the last argument of the command before
_ALWAYS_HOLD: Final = ("_", "BASH_REMATCH", "BASH_ARGV")
# the launcher reads the vetted text of a script into variables whose names begin like this; no value gets there
_VETTED: Final = "_sealed"
_CODE_ROLES: Final = frozenset({"script", "code", "shell", "module"})
_STDIN_FILES: Final = frozenset({"-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"})
_INFORMING: Final = frozenset({"--version", "-V", "--help", "-h"})
_UNARY: Final = split_names("-b -c -d -e -f -g -h -k -n -p -r -s -t -u -w -x -z -G -L -N -O -S")
_NUMERIC: Final = split_names("-eq -ne -lt -le -gt -ge")
_BINARY: Final = _NUMERIC | split_names("= == != < > -nt -ot -ef")
_HARMLESS_FILES: Final = frozenset({"/dev/null", "/dev/stderr", "/dev/stdout", "/dev/tty"})
# variables that decide what runs, how words are split, or that bash evaluates as arithmetic when they are set
_SPECIAL_VARIABLES: Final = split_names(
    "PATH IFS ENV BASH_ENV PS4 PROMPT_COMMAND SHELL SHELLOPTS BASHOPTS CDPATH EDITOR VISUAL PAGER MANPAGER"
    " BROWSER RANDOM SRANDOM SECONDS OPTIND HISTCMD LINENO DIRSTACK FUNCNEST TMOUT PS0 PS1 PS2 BASH_ARGV0"
    " EPOCHSECONDS PYTHONPATH PYTHONSTARTUP PYTHONHOME PERL5OPT PERL5LIB RUBYOPT RUBYLIB NODE_OPTIONS NODE_PATH"
    " PHPRC LUA_INIT JAVA_TOOL_OPTIONS MAKEFLAGS LESSOPEN LESSCLOSE TAR_OPTIONS RSYNC_RSH SSH_ASKPASS"
    " SUDO_ASKPASS HOME ZDOTDIR"
)
_SPECIAL_PREFIXES: Final = ("LD_", "DYLD_", "GIT_", "BASH_FUNC_", "npm_config_")
_INSTEAD: Final[Mapping[str, str]] = {
    **dict.fromkeys(SHELLS, "pass it as an argument: sh -c '… \"$1\" …' _ {{…}}"),
    "python": "pass it as an argument: python3 -c '… sys.argv[1] …' {{…}}",
    "perl": "pass it as an argument: perl -e '… $ARGV[0] …' -- {{…}}",
    "ruby": "pass it as an argument: ruby -e '… ARGV[0] …' -- {{…}}",
    "node": "pass it as an argument: node -e '… process.argv[1] …' -- {{…}}",
    "php": "pass it as an argument: php -r '… $argv[1] …' -- {{…}}",
    "awk": "make it a variable: awk -v x={{…}} '… x …'",
    "sed": "use awk, which has variables: awk -v x={{…}} '… x …'",
    "jq": "make it a variable: jq --arg x {{…}} '… $x …'",
    "ssh": "send it to stdin: printf '%s' {{…}} | ssh host program",
    "eval": "call a program directly and pass the value as an argument",
    "source": "write the file's name out",
    "make": "hand the value over in a variable: X={{…}} program",
}

_ASSIGNED: Final = re.compile(r"([A-Za-z_]\w*)\+?=", re.ASCII)
_REFERENCE: Final = re.compile(rf"\$\{{({VARIABLE}at([0-9]+))\}}")
_MARK_NAME: Final = re.compile(rf"{VARIABLE}at([0-9]+)")
# the variables that a piece of source uses, with a dollar sign, and all names in it
_USED: Final = re.compile(r"\$\{?[!#]?([A-Za-z_]\w*|[0-9]+|[@*])", re.ASCII)
_NAMED: Final = re.compile(r"([A-Za-z_]\w*)|\$\{?[!#]?([0-9]+|[@*])", re.ASCII)
# dash ends $'…' at the first quote, bash goes on behind \'
_DIFFERING: Final = re.compile(r"\$'[^']*\\'")
_ODD_EXPANSION: Final = re.compile(r"['\"]|^(?!\$\{[!#]?(?:\w|[@*#?$!-]))")
_ODD_ARITHMETIC: Final = re.compile(r"['\"]|^\$\[")
_DEFAULTED: Final = re.compile(r"\$\{(\w+)(?:\[[^]]*\])?:?=")
# what ${…} evaluates instead of only showing it: an indirection, a transformation, a subscript, an offset
_EVALUATED: Final = tuple(
    re.compile(one)
    for one in (r"\$\{!(\w+|[@*])", r"(\w+|[@*])(?:\[[^]]*\])?@[A-Za-z]\}", r"\w\[([^]]*)\]", r"\w:(?![-=?+])([^}]*)")
)
_PATTERN_OPERATOR: Final = re.compile(r"(?<=\s)(?:==|=~)(?=\s)")
_TEST_ARITHMETIC: Final = re.compile(r"(?:^|\s)(?:-eq|-ne|-lt|-le|-gt|-ge|-v|-R)(?=\s)")

# characters that stand for what is only known at run time in a word: a value, in quotes or split into words; other text
_VALUE: Final = 0xF0000
_SPLIT_VALUE: Final = 0x100000
_MOST_SUBJECTS: Final = 0xFFF0
_UNKNOWN: Final = chr(0xFFFF0)
_SPLIT_UNKNOWN: Final = chr(0x10FFF0)
_VALUES: Final = re.compile(
    f"[{chr(_VALUE)}-{chr(_VALUE + _MOST_SUBJECTS - 1)}{chr(_SPLIT_VALUE)}-{chr(_SPLIT_VALUE + _MOST_SUBJECTS - 1)}]"
)
_OPEN: Final = re.compile("[\U000f0000-\U0010fffd]")
_SPLITTING: Final = re.compile("[\U00100000-\U0010fffd]")
_SPLIT_BEFORE_VALUE: Final = re.compile(
    f"[{chr(_SPLIT_VALUE)}-{chr(_SPLIT_VALUE + _MOST_SUBJECTS - 1)}]|{_SPLIT_UNKNOWN}.*{_VALUES.pattern}", re.DOTALL
)
_ONLY_SPLITTING: Final = re.compile("[\U00100000-\U0010fffd]+")

# more commands inside one command, or texts inside texts, are no honest work, and each costs another look
_MOST_INNER: Final = 20
_DEEPEST_TEXT: Final = 5


def find_positions(line: str, marks: Sequence[Mark]) -> tuple[TemplatePosition, ...]:
    """Return the templates of a line that are filled in, with the quotes around each; those in comments are not.

    Raises:
        TemplateError: A value could be more than a word. It says which one, why, and how to write it instead.
    """
    source = _ValueSource(line, marks)
    script = parse_script(source.text)
    if _OPEN.search(line):
        source.refuse(0, UNREADABLE)
    quotings = _locate(script, source)
    if script.doubts:
        why = UNREADABLE.why.replace("certainty", f"certainty ({script.doubts[0]})", 1)
        source.refuse_line(structs.replace(UNREADABLE, why=why))
    for number, mark in enumerate(marks):
        if number not in quotings and not source.is_comment(number, script):
            before = line[mark.start - 1 : mark.start]
            source.refuse(number, AFTER_DOLLAR if before == "$" else ESCAPED if before == "\\" else UNREADABLE)
    places = tuple(TemplatePosition(mark, quotings[number]) for number, mark in enumerate(marks) if number in quotings)
    if not places:
        return ()
    _check_references(source, quotings)
    _Judge(source, script).check()
    return places


class _ValueSource:
    """A line with its templates, and the script that is read instead: with a variable for each of them."""

    def __init__(self, line: str, marks: Sequence[Mark]) -> None:
        self.line = line
        self.marks = marks
        self.references = [f"${{{VARIABLE}at{number}}}" for number in range(len(marks))]
        self.text = replace_marks(line, zip(marks, self.references, strict=True))

    def position(self, offset: int) -> int:
        """Return the place in the line for a byte offset in the script."""
        at = len(self.text.encode("utf-8", "surrogatepass")[:offset].decode("utf-8", "replace"))
        for mark, reference in zip(self.marks, self.references, strict=True):
            size = len(reference)
            if at <= mark.start:
                break
            at -= min(size, at - mark.start) - (0 if at < mark.start + size else mark.end - mark.start)
        return min(at, max(len(self.line) - 1, 0))

    def is_comment(self, number: int, script: Script) -> bool:
        """Return whether a template stands in a comment."""
        at = self.text.encode("utf-8", "surrogatepass").find(self.references[number].encode())
        return any(start <= at < end for start, end in script.comments)

    def refuse(self, number: int, reason: Reason) -> NoReturn:
        """Refuse a template."""
        mark = self.marks[number]
        raise TemplateError(self.line[mark.start : mark.end], reason, text=self.line, position=mark.start)

    def refuse_line(self, reason: Reason) -> NoReturn:
        """Refuse the line as a whole."""
        raise TemplateError("the line", reason, text=self.line, position=0)


def _read_test(node: Compound) -> Script:
    """Read a test as sh does: as a command, whose name is replaced here so that the reader takes it for one."""
    size = 2 if node.text.startswith("[[") else 1
    # the reader takes what stands behind these operators for a pattern, in other commands, too
    return parse_script("t" * size + _PATTERN_OPERATOR.sub("!=", node.text[size:]))


def _list_all_words(node: SimpleCommand | Compound) -> Iterator[Word]:
    """Yield the words of a command, those of a test as sh reads them."""
    if isinstance(node, Compound) and node.kind == "test":
        for inner in find_nodes(_read_test(node)):
            yield from list_words(inner)
        yield from list_words(structs.replace(node, words=()))
    else:
        yield from list_words(node)


def _locate(script: Script, source: _ValueSource) -> dict[int, Quoting]:
    """Find the quotes around each template; refuse those in places where no quotes can hold a value."""
    found: dict[int, Quoting] = {}
    for node in find_nodes(script):
        for redirect in node.redirects:
            if redirect.body is not None:
                _keep_marks_out(redirect.body.raw, HERE_DOCUMENT, source)
        if isinstance(node, Compound) and (node.kind == "arithmetic" or (node.kind == "for" and node.text)):
            _keep_marks_out(node.text, ARITHMETIC, source)
        for one in node.assignments if isinstance(node, SimpleCommand) else ():
            _keep_marks_out(one.name, COMMAND, source)
            for word in () if one.value is not None else one.values:
                _keep_marks_out(word.raw, ARRAY, source)
        for word in _list_all_words(node):
            for part in word.parts:
                _locate_in_part(part, word, found, source)
            # shells differ about expansions with quotes inside or without a name
            odd = {"expansion": _ODD_EXPANSION, "arithmetic": _ODD_ARITHMETIC}
            if _DIFFERING.search(word.raw) or any(
                odd[part.kind].search(part.text) for part in word.parts if part.kind in odd
            ):
                source.refuse_line(UNREADABLE)
    return found


def _keep_marks_out(text: str, reason: Reason, source: _ValueSource) -> None:
    mark = _MARK_NAME.search(text)
    if mark is not None:
        source.refuse(int(mark[1]), reason)


def _locate_in_part(part: WordPart, word: Word, found: dict[int, Quoting], source: _ValueSource) -> None:
    if part.kind == "variable":
        mark = _MARK_NAME.fullmatch(part.text)
        if mark is not None:
            found[int(mark[1])] = Quoting.DOUBLE if part.is_quoted else Quoting.BARE
    elif part.kind == "text":
        for one in _REFERENCE.finditer(part.text) if part.is_quoted else ():
            if f"\\{one[0]}" in word.raw and f"\\{one[0]}" not in part.text:
                source.refuse(int(one[2]), ESCAPED)
            if "$'" in word.raw:
                source.refuse(int(one[2]), DOLLAR_QUOTE)
            found[int(one[2])] = Quoting.SINGLE
    elif part.kind in _NO_PLACE or part.text.startswith("`"):
        _keep_marks_out(part.text, _NO_PLACE.get(part.kind, BACKTICKS), source)


def _check_references(source: _ValueSource, quotings: Mapping[int, Quoting]) -> None:
    """Read the script that will run, and see to it that each reference stands in double quotes."""
    texts = [(source.marks[number], IN_SCRIPT[one] % f"{VARIABLE}at{number}") for number, one in quotings.items()]
    script = parse_script(replace_marks(source.line, sorted(texts, key=lambda one: one[0].start)))
    parts = [
        part
        for node in find_nodes(script)
        for word in _list_all_words(node)
        for part in word.parts
        if part.kind == "variable" and _MARK_NAME.fullmatch(part.text)
    ]
    held = {int(part.text[len(VARIABLE) + 2 :]) for part in parts}
    if script.doubts or held != quotings.keys() or not all(part.is_quoted for part in parts):
        source.refuse(min(quotings), UNREADABLE)


class _Subject(Struct, frozen=True):
    """What a value comes from: a template, or `what`; `at` is its offset in the script."""

    number: int = -1
    what: str = "what stands"
    at: int = 0


def _describe_holder(name: str, at: int) -> _Subject:
    return _Subject(what=f"${name}, which may hold a template's value,", at=at)


def _is_held(text: str) -> bool:
    return _VALUES.search(text) is not None


def _leads(text: str) -> bool:
    """Return whether a value may make this word an option."""
    return _is_held(text) and (
        _OPEN.match(text) is not None or text[0] in "-+" or _SPLIT_BEFORE_VALUE.search(text) is not None
    )


def _reason_program_text(name: str) -> Reason:
    instead = "move the program text into a file that takes the value as an argument, or send the value to stdin"
    return Reason(f"would become program text for {name}, or choose what it runs", _INSTEAD.get(name, instead))


def _reason_option(name: str) -> Reason:
    return Reason(
        f"could be read as an option by {name} and make it run something or overwrite a file",
        "write literal text such as ./ before it" + ("" if name == "find" else ", or --"),
    )


def _reason_stdin(name: str) -> Reason:
    return Reason(
        f"stands in a line where {name} takes its program from stdin",
        f"give {name} a script, and the value as argument",
    )


def _reason_variable(name: str) -> Reason:
    return Reason(f"would set {name}, which decides how programs run", "use a variable of your own")


def _share_name(name: str) -> str:
    """Return one name for all positional parameters: `shift` moves values among them."""
    return "@" if name in {"@", "*"} or name.isdigit() else name


class _Judge:
    """Judges one script: the line itself, or the text behind a `-c` in it.

    `holders` are the variables that hold values from outside, `fixed` is the position that errors in an inner text name.
    """

    def __init__(
        self,
        source: _ValueSource,
        script: Script,
        *,
        holders: Iterable[str] = (),
        fixed: int | None = None,
        language: str = "sh",
        outer: "_Judge | None" = None,
    ) -> None:
        self.source = source
        self.script = script
        self.fixed = fixed
        self.language = language
        self.outer = outer
        self.depth: int = outer.depth + 1 if outer is not None else 0
        self.subjects: list[_Subject] = []
        self.inner = 0
        self.nodes = list(find_nodes(script))
        self.functions = {node.name for node in self.nodes if isinstance(node, Compound) and node.kind == "function"}
        self.assigned = {name for node in self.nodes for name, _ in self.flows_of(node)}
        self.holders = self.find_holders(holders)
        self.evaluates = any(
            isinstance(node, SimpleCommand)
            and node.words
            and node.words[0].text in _DECLARING
            and any(_EVALUATING_ATTRIBUTES.match(word.text) for word in node.words[1:])
            for node in self.nodes
        )
        # names of files, with the position in the line for those that are executed; inner scripts add theirs
        self.written: list[str] = outer.written if outer is not None else []
        self.executed: list[tuple[str, int]] = outer.executed if outer is not None else []

    # errors

    def refuse(self, text: str, reason: Reason, *, at: int = 0) -> NoReturn:
        """Refuse the first value in a text; without one, what stands at an offset."""
        found = _VALUES.search(text)
        subject = self.subjects[ord(found[0]) & 0xFFFF] if found else _Subject(at=at)
        if subject.number >= 0:
            self.source.refuse(subject.number, reason)
        position = self.source.position(subject.at) if self.fixed is None else self.fixed
        raise TemplateError(subject.what, reason, text=self.source.line, position=position)

    def keep_out(self, words: Iterable[Word], reason: Reason) -> None:
        for word in words:
            if _is_held(word.text):
                self.refuse(word.text, reason)

    # values

    def flows_of(self, node: SimpleCommand | Compound) -> Iterator[tuple[str, Word | None]]:
        """Yield each variable that a command sets, and the word it is set from; None when it is read from somewhere."""
        words = list(_list_all_words(node))
        for word in words:
            for name in _DEFAULTED.findall(word.raw):
                yield name, word
        if isinstance(node, Compound):
            if node.kind == "for":
                yield from ((node.name, word) for word in node.words)
            return
        for one in node.assignments:
            name = one.name.partition("[")[0]
            yield from ((name, word) for word in one.words)
        for word in node.words:
            assigned = _ASSIGNED.match(word.text)
            if assigned is not None:
                yield assigned[1], word
        # the second word, too: `command read x`
        heads = {word.text for word in node.words[:2]}
        if heads & _READING:
            yield from ((word.text, None) for word in node.words[1:])
            yield from ((name, None) for name in ("REPLY", "MAPFILE", "OPTARG"))
        targets = [target for head in heads for target in _SETS.get(head, ())]
        for target in (*targets, "@") if heads & self.functions else targets:
            yield from ((target, word) for word in node.words[1:])
        if "printf" in heads:
            yield from ((name.text, None) for option, name in pairwise(node.words) if option.text == "-v")

    def find_holders(self, given: Iterable[str]) -> frozenset[str]:
        """Return the variables that may hold a value, directly or from one another."""
        passed_on: defaultdict[str, list[str]] = defaultdict(list)
        fresh = [*_ALWAYS_HOLD, *given]
        for node in self.nodes:
            for name, word in self.flows_of(node):
                if word is None or _MARK_NAME.search(word.raw):
                    fresh.append(_share_name(name))
                    continue
                # arithmetic reads the name of a variable in another one's value, also without a dollar sign
                for used in _names_in(word.raw):
                    passed_on[used].append(_share_name(name))
        reached: set[str] = set()
        while fresh:
            name = fresh.pop()
            if name and name not in reached and not name.startswith(_VETTED):
                reached.add(name)
                fresh += passed_on[name]
        return frozenset(reached)

    def holds_name(self, text: str) -> bool:
        """Return whether a text names a variable that may hold a value, or a template."""
        return not self.holders.isdisjoint(_names_in(text)) or _MARK_NAME.search(text) is not None

    def view(self, word: Word, *, is_split: bool = True) -> Word:
        """Return a word in which characters stand for what is only known at run time."""
        if word.is_literal and not word.is_glob and not (self.fixed is None and VARIABLE in word.text):
            return word
        pieces: list[str] = []
        for part in word.parts:
            is_open = is_split and not part.is_quoted
            if part.kind == "text":
                if part.is_quoted and self.fixed is None:
                    pieces.append(_REFERENCE.sub(lambda one: self.mark(int(one[2]), word), part.text))
                else:
                    pieces.append(part.text)
                continue
            names = [part.text] if part.kind == "variable" else _USED.findall(part.text) if part.scripts else []
            if part.kind in {"expansion", "arithmetic"}:
                names += [a or b for a, b in _NAMED.findall(part.text)]
            marked = next((int(one[1]) for name in names if (one := _MARK_NAME.fullmatch(name))), None)
            held = next((name for name in names if _share_name(name) in self.holders), None)
            if marked is not None:
                # the quotes around a template keep it one word; those around $(…) are the line's own
                pieces.append(self.mark(marked, word, is_open=is_open and part.kind != "variable"))
            elif held is not None:
                is_list = held == "@" or part.text in {"@", "*"} or "@" in part.text
                pieces.append(
                    self.stand_in(_describe_holder(held, word.start), is_open=is_open or (is_split and is_list))
                )
            else:
                several = part.text == "@" or (part.kind == "expansion" and "@" in part.text)
                pieces.append(_SPLIT_UNKNOWN if is_open or (is_split and several) else _UNKNOWN)
        if word.is_glob:
            pieces.append(_SPLIT_UNKNOWN)
        return Word("".join(pieces), word.raw, word.start, word.end)

    def mark(self, number: int, word: Word, *, is_open: bool = False) -> str:
        return self.stand_in(_Subject(number=number, at=word.start), is_open=is_open)

    def stand_in(self, subject: _Subject, *, is_open: bool) -> str:
        self.subjects.append(subject)
        if len(self.subjects) >= _MOST_SUBJECTS:
            self.source.refuse_line(UNREADABLE)
        return chr((_SPLIT_VALUE if is_open else _VALUE) + len(self.subjects) - 1)

    # structure

    def check(self) -> None:
        """Refuse the first value that would be more than a word."""
        for node in self.nodes:
            self.check_evaluations(node)
        self.check_script(self.script, is_fed=True)
        for name, position in self.executed if self.outer is None and self.written else ():
            if name in self.written or name == "*" or "*" in self.written:
                subject = f'"{name}"' if name != "*" else "the file"
                raise TemplateError(subject, WRITTEN, text=self.source.line, position=position)

    def check_evaluations(self, node: SimpleCommand | Compound) -> None:
        """Refuse values that the shell evaluates: in arithmetic, subscripts and some forms of `${…}`."""
        if isinstance(node, Compound) and node.text and node.kind != "test" and self.holds_name(node.text):
            self.refuse_evaluated(node.text, node.start)
        for one in node.assignments if isinstance(node, SimpleCommand) else ():
            if "[" in one.name and self.holds_name(one.name.partition("[")[2]):
                self.refuse_evaluated(one.name, node.start)
        for word in _list_all_words(node):
            for part in word.parts:
                if part.kind == "arithmetic" and self.holds_name(part.text):
                    self.refuse_evaluated(part.text, word.start)
                if part.kind == "expansion" and any(
                    self.holds_name(f"${found} {found}")
                    for pattern in _EVALUATED
                    for found in pattern.findall(part.text)
                ):
                    self.refuse_evaluated(part.text, word.start)

    def refuse_evaluated(self, text: str, at: int) -> NoReturn:
        mark = _MARK_NAME.search(text)
        if mark is not None and self.fixed is None:
            self.source.refuse(int(mark[1]), ARITHMETIC)
        name = next((name for name in _names_in(text) if name in self.holders), "")
        self.refuse(self.stand_in(_describe_holder(name, at), is_open=False), ARITHMETIC)

    def check_script(self, script: Script, *, is_fed: bool) -> None:
        for step in script.steps:
            self.check_node(step.node, is_fed=is_fed)

    def check_node(self, node: SimpleCommand | Pipeline | Compound, *, is_fed: bool) -> None:
        """Judge a command; `is_fed` says that it may read a value from stdin, as from the event itself."""
        if isinstance(node, Pipeline):
            for number, stage in enumerate(node.stages):
                self.check_node(stage, is_fed=is_fed)
                is_fed = (is_fed if number else False) or self.holds_value(stage)
            return
        if any(one.operator.startswith("<") and one.fd in {"", "0"} for one in node.redirects):
            is_fed = any(_is_held(self.view(word).text) for word in self.list_inputs(node))
        for word in _list_all_words(node):
            for script in word.scripts:
                self.check_script(script, is_fed=is_fed)
        self.check_redirects(node)
        if isinstance(node, SimpleCommand):
            for one in node.assignments:
                for word in one.words:
                    self.check_assigned(one.name.partition("[")[0], self.view(word, is_split=False))
            declares = bool(node.words) and node.words[0].text in _PARSED_AGAIN
            for one in node.assignments if declares else ():
                self.keep_out([self.view(one.value)] if one.value is not None else [], LIST)
            self.inner = 0
            self.check_words([self.view(word) for word in node.words], node=node, is_fed=is_fed)
            return
        if node.kind == "test":
            self.check_test_node(node)
        if node.kind == "for":
            values = [self.view(word) for word in node.words]
            if self.evaluates or _is_special(node.name):
                self.keep_out(values, _reason_variable(node.name))
        for body in node.bodies:
            self.check_script(body, is_fed=is_fed)

    def holds_value(self, node: SimpleCommand | Pipeline | Compound) -> bool:
        return any(
            _is_held(self.view(word).text)
            for one in find_nodes(Script((ScriptStep(node),)))
            for word in _list_all_words(one)
        )

    def list_inputs(self, node: SimpleCommand | Compound) -> list[Word]:
        inputs = [one for one in node.redirects if one.operator.startswith("<") and one.fd in {"", "0"}]
        return [word for one in inputs for word in one.words]

    def check_redirects(self, node: SimpleCommand | Compound) -> None:
        for one in node.redirects:
            if one.target is None:
                continue
            target = self.view(one.target)
            if one.operator in {">&", "<&", ">&-", "<&-"}:
                self.keep_out((target,), DESCRIPTOR)
            if one.operator.startswith("&"):
                self.keep_out((self.view(word) for word in node.words if word.start > one.target.start), AMBIGUOUS)
            if ">" in one.operator and not one.target.text.isdigit():
                self.note_written(target)

    def check_assigned(self, name: str, word: Word) -> None:
        is_special = _is_special(name)
        # what is evaluated needs no dollar sign to name a variable
        if (self.evaluates or is_special) and (_is_held(word.text) or self.holds_name(word.raw)):
            held = "" if _is_held(word.text) else self.stand_in(_describe_holder(name, word.start), is_open=False)
            self.refuse(held or word.text, _reason_variable(name) if is_special else ARITHMETIC)

    # commands

    def check_words(self, words: Sequence[Word], *, node: SimpleCommand, is_fed: bool) -> None:
        """Judge one command by its program's row of the table, and then the command that it starts."""
        if not words:
            return
        self.inner += 1
        if self.inner > _MOST_INNER:
            self.source.refuse_line(UNREADABLE)
        first, arguments = words[0], words[1:]
        self.keep_out((first,), COMMAND)
        base = first.text.rpartition("/")[2]
        name = "" if _OPEN.search(base) else name_program(base)
        if not name:
            self.keep_out(arguments, UNKNOWN_PROGRAM)
            self.check_stdin("a program whose name is only known at run time", node, is_fed=is_fed and self.is_piped())
            # one of them is the program when the name is empty
            self.check_words(arguments, node=node, is_fed=is_fed)
            return
        if name in _CHANGES_LANGUAGE:
            self.source.refuse_line(structs.replace(WHOLE_LINE, why=f"uses {name}, which {WHOLE_LINE.why}"))
        if "/" in first.text:
            self.note_executed(first)
        row = find_program(name)
        if row is None:
            self.check_embedded(arguments, node=node, is_fed=is_fed)
        elif name in {"test", "["}:
            self.check_test(list(arguments[:-1] if name == "[" else arguments))
        elif row.style in {"find", "fd"}:
            self.check_find(name, arguments, node=node, is_fed=is_fed)
        else:
            self.check_row(name, row, arguments, node=node, is_fed=is_fed)

    def is_piped(self) -> bool:
        return self.fixed is not None or "|" in re.sub(r"\|\|", "", self.source.line)

    def check_row(self, name: str, row: Program, words: Sequence[Word], *, node: SimpleCommand, is_fed: bool) -> None:
        arguments = read_arguments(row, words)
        last = arguments.row or row
        if row.subcommands and not arguments.path:
            self.keep_out(arguments.operands[:1], COMMAND)
        self.check_vanishing(name, row, arguments, words)
        for word in words:
            if name in _DECLARING or (last.operands[:1] == ("env*",)):
                assigned = _ASSIGNED.match(word.text)
                if assigned is not None:
                    self.check_assigned(assigned[1], word)
        has_code, is_stdin = self.check_options(name, row, arguments, words)
        operands = arguments.operands
        if row.style == "shell":
            is_stdin |= self.check_shell(name, arguments)
        elif row.interpreter and has_code:
            options = takewhile(lambda word: word.text != "--", operands if row.open_options else ())
            self.keep_out((word for word in options if _leads(word.text)), _reason_option(name))
        else:
            is_stdin |= self.check_operands(name, row, arguments)
        waits = row.interpreter and not operands and not has_code
        if (row.reads_code and not has_code) or (waits and not arguments.has(*_INFORMING)) or is_stdin:
            self.check_stdin(name, node, is_fed=True)
        if name == "printf":
            self.check_printf(arguments)
        if arguments.rest is not None and not (last.style == "command" and arguments.has("-v", "-V")):
            self.check_wrapped(name, arguments, node=node, is_fed=is_fed)
        elif not row.interpreter and row.style != "text":
            self.check_embedded(words, node=node, is_fed=is_fed)

    def check_vanishing(self, name: str, row: Program, arguments: Arguments, words: Sequence[Word]) -> None:
        """Refuse values behind an unquoted variable where it decides what the next word is."""
        last = arguments.row or row
        has_code_options = last.interpreter or any(one.role in _CODE_ROLES for one in last.options.values())
        if not (has_code_options or last.wraps or last.evaluates or last.guarded or name == "printf"):
            return
        end = len(words) if arguments.rest is None else len(words) - len(arguments.rest)
        if row.interpreter and arguments.operands and not arguments.has("-s"):
            # behind the script, or its text, everything is an argument
            at = next(n for n, word in enumerate(words) if word is arguments.operands[0])
            end = min(end, at + 1)
        # a word that may turn out to be none, so that the next one takes its place
        if any(_ONLY_SPLITTING.fullmatch(word.text) for word in words[:end]):
            self.keep_out(words, VANISHING)

    def check_options(self, name: str, row: Program, arguments: Arguments, words: Sequence[Word]) -> tuple[bool, bool]:
        """Judge the options; return whether one gives the program text, and whether that comes from stdin."""
        last = arguments.row or row
        evaluates = row.evaluates | last.evaluates
        has_code = is_stdin = False
        for given in arguments.options:
            option, value = given.option, given.value
            is_code = option.role in _CODE_ROLES or option.name in evaluates
            if _is_held(option.name) and (
                row.interpreter or last.wraps or row.style == "git" or _is_guarded(row, last)
            ):
                self.refuse(option.name, _reason_program_text(name) if row.interpreter else _reason_option(name))
            if is_code and (last.wraps or row.style == "git") and option.role != "script":
                self.keep_out(words, _reason_program_text(name))
            if value is None:
                continue
            if is_code:
                self.keep_out((value,), _reason_program_text(name))
                is_stdin |= value.text in _STDIN_FILES
            self.check_role(name, option.role, value)
            has_code |= option.role in {"code", "module"} or option.name in last.scripted
            has_code |= row.reads_code and is_code
        stray = next((one for one in arguments.strays if not _is_held(one)), None)
        if row.interpreter and stray is not None and not has_code:
            why = f"stands behind {stray}, an option of {name} that is not known and may take a value"
            self.keep_out(words, Reason(why, f"leave {stray} out, or call a script that starts {name}"))
        return has_code, is_stdin

    def check_shell(self, name: str, arguments: Arguments) -> bool:
        """Judge the operands of a shell; return whether it reads its commands from stdin."""
        operands = arguments.operands
        if operands and operands[0].text[:1] == "+":
            self.keep_out(operands, UNREADABLE)
        if not arguments.has("-c"):
            self.keep_out(operands[:1], _reason_program_text(name))
            if operands:
                self.note_executed(operands[0])
            return arguments.has("-s") or (bool(operands) and operands[0].text in _STDIN_FILES)
        if not operands:
            return True
        self.keep_out(operands[:1], _reason_program_text(name))
        self.check_text(operands[0], operands[1:], language=name)
        return False

    def check_operands(self, name: str, row: Program, arguments: Arguments) -> bool:
        """Judge the operands by their roles; return whether one of them makes stdin the program text."""
        last = arguments.row or row
        evaluates = row.evaluates | last.evaluates if not arguments.path else last.evaluates
        is_scripted = arguments.has(*last.scripted) if last.scripted else False
        is_stdin = False
        spelled = f"{name} {arguments.path[-1]}" if arguments.path else name
        for number, (role, word) in enumerate(
            assign_roles(last.operands, arguments.operands, scripted=is_scripted), start=1
        ):
            is_first = number == 1 and "1" in evaluates and not is_scripted
            if role in _CODE_ROLES or is_first or "*" in evaluates:
                self.keep_out((word,), _reason_program_text(name))
                is_stdin |= role == "script" and word.text in _STDIN_FILES
            if not self.check_role(name, role, word) and (role in {"writes", "into", "moves"} or last.in_place):
                self.note_written(word)
            is_open = arguments.dashes is None or number <= arguments.dashes
            is_behind = (last.stops or row.interpreter) and number > 1 and not is_scripted
            if is_open and not is_behind and (last.wraps or _is_guarded(row, last)) and _leads(word.text):
                self.refuse(word.text, _reason_option(spelled))
        return is_stdin

    def check_role(self, name: str, role: str, word: Word) -> bool:
        """Judge a word that is executed or evaluated; return whether it is one."""
        match role:
            case "script":
                self.note_executed(word)
            case "shell":
                self.check_text(word, (), language="sh")
            case "name" if name in _DECLARING and _ASSIGNED.match(word.text):
                self.keep_out((word,) if name in _PARSED_AGAIN else (), LIST)
            case "name":
                self.check_name(name, word)
            case "arithmetic":
                self.check_arithmetic(word)
            case _:
                return False
        return True

    def check_wrapped(self, name: str, arguments: Arguments, *, node: SimpleCommand, is_fed: bool) -> None:
        """Judge the command that a wrapper starts, or the text that it gives to a shell."""
        last, rest = arguments.row, list(arguments.rest or ())
        assert last is not None  # noqa: S101 - only a row wraps
        if last.wraps == "text":
            self.keep_out(rest, _reason_program_text(name))
            if rest and not last.remote:
                text = " ".join(word.text for word in rest)
                self.check_text(Word(text, text, rest[0].start, rest[-1].end), (), language=self.language)
            return
        if last.style == "xargs" and is_fed:
            read = self.stand_in(_Subject(what="what xargs reads", at=node.start), is_open=False)
            marks = [word.text for word in arguments.values("-I", "-J")]
            marks += ["{}"] if arguments.has("-i") else []
            if marks:
                rest = [structs.replace(word, text=word.text.replace(marks[0] or "{}", read)) for word in rest]
            elif rest:
                rest.append(Word(read, read, node.start, node.end))
        self.check_words(rest, node=node, is_fed=is_fed)

    def check_find(self, name: str, words: Sequence[Word], *, node: SimpleCommand, is_fed: bool) -> None:
        """Judge `find`: a folder's name comes back in every {}."""
        actions = FIND_ACTIONS if name == "find" else FD_ACTIONS
        place = next((n for n, word in enumerate(words) if word.text in actions), len(words))
        if all(word.text != "--" for word in words[:place]):
            operands = read_arguments(find_program(name), words[:place]).operands
            self.keep_out((word for word in operands if _leads(word.text)), _reason_option(name))
        while place < len(words):
            end = next((n for n in range(place, len(words)) if words[n].text in {";", "+"}), len(words))
            read = self.stand_in(_Subject(what="a name that find gives", at=node.start), is_open=False)
            rest = [structs.replace(word, text=word.text.replace("{}", read)) for word in words[place + 1 : end]]
            if name != "find" and not any("{}" in word.text for word in words[place + 1 : end]):
                rest.append(Word(read, read, node.start, node.end))
            self.check_words(rest, node=node, is_fed=is_fed)
            following = next((n for n in range(end, len(words)) if words[n].text in actions), len(words))
            for word in words[end:following]:
                if _leads(word.text) and words[max(words.index(word) - 1, 0)].text[:1] != "-":
                    self.refuse(word.text, _reason_option(name))
            place = following

    def check_embedded(self, words: Sequence[Word], *, node: SimpleCommand, is_fed: bool) -> None:
        """Look for an interpreter with program text among the arguments of a program that may start it."""
        if not any(_is_held(word.text) for word in words):
            return
        for place, (word, following) in enumerate(pairwise(words)):
            row = find_program(word.text) if not _OPEN.search(word.text) else None
            if row is None or not row.interpreter or following.text[:1] != "-":
                continue
            inner = read_arguments(row, words[place + 1 :])
            if inner.has("-c") or inner.has_role("code") or _is_held(following.text):
                self.check_words(words[place:], node=node, is_fed=is_fed)

    def check_stdin(self, name: str, node: SimpleCommand, *, is_fed: bool) -> None:
        """Refuse a line in which a value may reach a program that takes its program text from stdin."""
        inputs = self.list_inputs(node)
        self.keep_out([self.view(word) for word in inputs], _reason_stdin(name))
        for one in node.redirects:
            if one.body is not None and name in SHELLS:
                self.check_text(self.view(one.body), (), language=name)
            elif one.operator == "<" and one.target is not None:
                self.note_executed(self.view(one.target))
        if is_fed and not inputs:
            self.source.refuse(0, _reason_stdin(name))

    def check_text(self, word: Word, arguments: Sequence[Word], *, language: str) -> None:
        """Judge the text of a script, with the words that are its positional parameters."""
        text = word.text
        self.keep_out((word,), _reason_program_text(language))
        held = next((one for one in arguments if _is_held(one.text)), None)
        if _OPEN.search(text):
            if held is not None:
                self.refuse(held.text, UNKNOWN_TEXT)
            return
        if language in _NOT_BASH:
            return
        if self.depth >= _DEEPEST_TEXT:
            self.source.refuse_line(UNREADABLE)
        script = parse_script(text)
        holders = set(self.holders) | ({"@"} if held is not None else set())
        fixed = self.fixed if self.fixed is not None else self.source.position(word.start)
        if script.doubts:
            if held is not None or any(name in text for name in holders - set(_ALWAYS_HOLD)):
                self.refuse(held.text if held is not None else "", UNREADABLE, at=word.start)
            return
        if held is None:
            # the script's own parameters are none of this one's
            holders -= {"@"}
        _Judge(self.source, script, holders=holders, fixed=fixed, language=language, outer=self).check()

    # what the shell itself computes

    def check_name(self, name: str, word: Word) -> None:
        why = f"would be a name to {name}, and bash runs $(…) in the subscript of a name"
        self.keep_out((word,), Reason(why, "write the name out: x={{…}}"))
        if "[" in word.text:
            self.check_arithmetic(word)

    def check_arithmetic(self, word: Word) -> None:
        self.keep_out((word,), ARITHMETIC)
        if self.holds_name(word.raw):
            self.refuse_evaluated(word.raw, word.start)

    def check_printf(self, arguments: Arguments) -> None:
        operands = arguments.operands
        if len(operands) > 1 and arguments.dashes is None and _leads(operands[0].text):
            self.refuse(operands[0].text, _reason_option("printf"))
        form = operands[0].text if operands else ""
        if self.language in _COMPUTING and re.search(r"%[^sbqc%]*[^sbqc%\s]", re.sub(r"%[-0-9.]*[sbqc%]", "", form)):
            self.keep_out(operands, ARITHMETIC)

    def check_test_node(self, node: Compound) -> None:
        """Judge a test, as bash reads it and as sh does, to which `&&` inside `[[ ]]` ends a command."""
        script = _read_test(node)
        is_held = any(_is_held(self.view(word).text) for one in find_nodes(script) for word in _list_all_words(one))
        if not is_held and not self.holds_name(node.text):
            return
        if script.doubts:
            self.refuse(self.stand_in(self.first_held(script), is_open=False), UNREADABLE)
        is_double = node.text.startswith("[[")
        if is_double and _TEST_ARITHMETIC.search(node.text) and self.holds_name(node.text):
            self.refuse_evaluated(node.text, node.start)
        for number, one in enumerate(find_nodes(script)):
            if not isinstance(one, SimpleCommand) or not one.words:
                continue
            words = [self.view(word) for word in one.words]
            if words[0].text not in {"t", "tt"} or number:
                # sh runs it as a program
                self.keep_out(words[:1], TEST_LIST)
                self.check_words(words, node=one, is_fed=True)
            elif not is_double:
                self.check_test(words[1:-1])

    def first_held(self, script: Script) -> _Subject:
        for one in find_nodes(script):
            for word in _list_all_words(one):
                found = _VALUES.search(self.view(word).text)
                if found is not None:
                    return self.subjects[-1]
        return _Subject()

    def check_test(self, words: list[Word]) -> None:
        """Allow only the forms whose meaning does not depend on what the values are."""
        for word in words:
            if "[" in word.text and self.holds_name(word.raw):
                self.check_arithmetic(word)
        held = next((word for word in words if _is_held(word.text)), None)
        if held is None:
            return
        if words[0].text == "!":
            del words[0]
        match [word.text for word in words]:
            case [_]:
                is_sound = True
            case [operator, _]:
                is_sound = operator in _UNARY
            case [_, operator, _]:
                is_sound = operator in _BINARY and not (operator in _NUMERIC and self.language in _COMPUTING)
            case _:
                is_sound = False
        if not is_sound or any(_is_held(word.text) and _SPLITTING.search(word.text) for word in words):
            self.refuse(held.text, TEST)

    # files that are written and then executed

    def note_written(self, word: Word) -> None:
        if word.text not in _HARMLESS_FILES:
            self.written.append(self.name_file(word))

    def note_executed(self, word: Word) -> None:
        if word.text not in _STDIN_FILES:
            position = self.source.position(word.start) if self.fixed is None else self.fixed
            self.executed.append((self.name_file(word), position))

    def name_file(self, word: Word) -> str:
        """Return the last part of a file's name: its text, the source where that is not known, `*` when it may be any."""
        base = word.text.rstrip("/").rpartition("/")[2]
        if not _OPEN.search(base):
            return base
        is_any = _is_held(base) or not self.assigned.isdisjoint(_names_in(word.raw))
        return "*" if is_any else word.raw


def _names_in(text: str) -> set[str]:
    """Return the variables that a text may name, with and without a dollar sign."""
    return {_share_name(a or b) for a, b in _NAMED.findall(text)}


def _is_special(name: str) -> bool:
    return name in _SPECIAL_VARIABLES or name.startswith(_SPECIAL_PREFIXES)


def _is_guarded(row: Program, last: Program) -> bool:
    """Return whether an option in the place of an operand could run something or overwrite a file."""
    return row.guarded or last.guarded or any(option.role in _CODE_ROLES for option in last.options.values())
