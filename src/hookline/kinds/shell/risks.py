"""Judge where templates may stand: a value may be a plain word of a program, and never its program text."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from types import MappingProxyType
from typing import Final

from hookline.kinds.shell import programs
from hookline.kinds.shell.line import ARITHMETIC, UNREADABLE, Command, Line, Reason, Shape, TemplateError, Word
from hookline.kinds.shell.options import (
    COMMAND,
    STDIN_FILES,
    VANISHING,
    InterpreterWords,
    WrapperWords,
    asks_for_code,
    option_like,
)
from hookline.kinds.shell.programs import Wrapper
from hookline.kinds.shell.values import Values, assigned, is_option, may_vanish

UNKNOWN_PROGRAM: Final = Reason(
    "would go to a program whose name is only known at run time, perhaps an interpreter", "write the program's name out"
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
    "stands in a test where its value could become an operator", "write [ {{…}} = text ] or [ -n {{…}} ], one each"
)
TEST_LIST: Final = Reason(
    "stands after && or || inside [[ ]], where sh would run it as a program", "write [ … ] && [ … ]"
)
SET: Final = Reason("could be read as an option by set", "write set -- {{…}}")
FORMAT: Final = Reason("could be read as an option by printf", "write printf '%s' {{…}}")
LIST: Final = Reason("could be parsed again as a list", "declare the name first, then write x={{…}}")

_VERSION: Final = re.compile(r"-?[0-9]+(?:\.[0-9]+)*(?:\.exe)?$|\.exe$")
_PIPE: Final = re.compile(r"(?<!\|)\|(?!\|)")
_INFORM: Final = frozenset(("--version", "-V", "--help"))
# more programs inside one command than this are nobody's honest work, and each costs another look at its words
_MAX_INNER: Final = 20


def check(line: Line) -> None:
    """Refuse the first template that would be more than a plain word.

    Raises:
        TemplateError: Says which one, why, and how to write it instead.
    """
    judge = _Judge(line)
    for evaluated in line.sums:
        if judge.values.in_any(evaluated.names):
            subject = "a variable that may hold a template's value"
            raise TemplateError(subject, ARITHMETIC, text=line.text, position=evaluated.start)
    for command in line.commands:
        judge.check_command(command)


def _from_stdin(name: str) -> Reason:
    return Reason(
        f"stands in a line where {name} takes its program from stdin",
        f"give {name} a script, and the value as argument",
    )


def _variable(name: str) -> Reason:
    return Reason(f"would set {name}, which decides how programs run", "use a variable of your own")


def _name(name: str) -> Reason:
    return Reason(
        f"would be a name to {name}, and bash runs $(…) in the subscript of a name", "write the name out: x={{…}}"
    )


def _program(word: Word) -> str | None:
    """Give a program's name without folder and version, or None when it is not written out."""
    text = word.literal
    if text is None:
        text = word.suffix if "/" in word.suffix else ""
    name = text.rpartition("/")[2]
    return _VERSION.sub("", name) or name or None


def _evaluating(words: Sequence[Word]) -> bool:
    """Say whether variables are declared whose values bash evaluates when they are set."""
    return any(is_option(word) and programs.EVALUATING_ATTRIBUTES & set(word.prefix) for word in words[1:])


class _Judge:
    def __init__(self, line: Line) -> None:
        self.line = line
        self.values = Values(line)
        self.command = Command()
        self.inner = 0
        self.is_fed = _PIPE.search(line.text) is not None
        self.appends = False
        self.evaluates = any(
            command.words and command.words[0].literal in programs.DECLARERS and _evaluating(command.words)
            for command in line.commands
        )

    def check_command(self, command: Command) -> None:
        self.command = command
        self.inner = 0
        for redirect in command.redirects:
            if redirect.operator in {">&", "<&"}:
                self.values.keep_out((redirect.target,), DESCRIPTOR)
            if redirect.operator.startswith("&"):
                later = (word for word in command.words if word.start > redirect.target.start)
                self.values.keep_out(later, AMBIGUOUS)
        for word in command.assignments:
            self.check_assignment(word)
        match command.shape:
            case Shape.LOOP:
                self.check_loop(command.words)
            case Shape.TEST:
                self.check_double_test(command.words)
            case Shape.SIMPLE:
                self.check_words(command.words)
            case Shape.CASE:
                pass  # a quoted value is literal, as subject and as pattern

    def check_assignment(self, word: Word) -> None:
        name = assigned(word) or ""
        special = name in programs.SPECIAL_VARIABLES or name.startswith(programs.SPECIAL_PREFIXES)
        # what is evaluated needs no dollar sign to name a variable
        if self.values.within(word) or ((self.evaluates or special) and self.values.names(word)):
            if special:
                raise self.values.refusal(word, _variable(name))
            if self.evaluates:
                raise self.values.refusal(word, ARITHMETIC)

    def check_loop(self, words: Sequence[Word]) -> None:
        self.values.keep_out(words[:1], _name("the loop"))
        name = words[0].literal if words else None
        if self.evaluates or name is None or name in programs.SPECIAL_VARIABLES:
            self.values.keep_out(words, _variable(name or "the loop's variable"))

    def count_inner(self, words: Sequence[Word]) -> None:
        self.inner += 1
        if self.inner > _MAX_INNER and words:
            raise self.values.refusal(words[0], UNREADABLE)

    def check_words(self, words: Sequence[Word]) -> None:
        """Judge one simple command, through all programs that only start the next one."""
        before, self.appends = self.values.replaced, False
        rest: Sequence[Word] | None = words
        while rest:
            rest = self.check_program(rest)
            self.count_inner(rest or ())
        self.values.replaced = before

    def keep_from_feeding(self, name: str) -> None:
        """Refuse a line whose values may reach a program that takes its program text from stdin."""
        text, mark = self.line.text, self.line.places[0].mark
        inputs = [redirect.target for redirect in self.command.redirects if redirect.operator.startswith("<")]
        self.values.keep_out(inputs, _from_stdin(name))
        if self.is_fed and not inputs:
            raise TemplateError(text[mark.start : mark.end], _from_stdin(name), text=text, position=mark.start)

    def check_program(self, words: Sequence[Word]) -> Sequence[Word] | None:
        """Judge the words of one program; give the words of the program that it starts."""
        self.values.keep_out(words[:1], COMMAND)
        name = _program(words[0])
        arguments = words[1:]
        if name is None or name.startswith("-"):
            self.values.keep_out(arguments, UNKNOWN_PROGRAM)
            self.keep_from_feeding("a program whose name is only known at run time")
            return arguments  # one of them is the program when the name is empty
        if name in programs.WHOLE_LINE:
            raise TemplateError(f'"{name}"', WHOLE_LINE, text=self.line.text, position=words[0].start)
        if name in programs.ALL_CODE:
            self.values.keep_out(arguments, programs.ALL_CODE[name])
            if any(word.literal in STDIN_FILES for word in arguments):
                self.keep_from_feeding(name)
        elif name in _CHECKS:
            _CHECKS[name](self, name, arguments)
        elif name in programs.INTERPRETERS:
            self.check_interpreter(name, arguments)
        elif name in programs.WRAPPERS:
            return self.check_wrapper(name, arguments, spec=programs.WRAPPERS[name])
        else:
            self.check_other(name, arguments)
        return None

    def check_interpreter(self, name: str, arguments: Sequence[Word]) -> None:
        spec = programs.INTERPRETERS[name]
        words = InterpreterWords(self.values, name, spec=spec)
        words.read(arguments)
        waits = spec.stdin and not words.has_program and not any(word.literal in _INFORM for word in arguments)
        if not words.reads_stdin and not waits:
            return
        inputs = [redirect.target for redirect in self.command.redirects if redirect.operator.startswith("<")]
        self.values.keep_out(inputs, _from_stdin(name))
        if not inputs or self.values.replaced:
            text, mark = self.line.text, self.line.places[0].mark
            raise TemplateError(text[mark.start : mark.end], _from_stdin(name), text=text, position=mark.start)

    def check_wrapper(self, name: str, arguments: Sequence[Word], *, spec: Wrapper) -> Sequence[Word] | None:
        words = WrapperWords(self.values, name, spec=spec)
        words.read(arguments)
        if spec.assigns:
            for word in arguments[: len(arguments) - len(words.rest or ())]:
                if assigned(word):
                    self.check_assignment(word)
        if words.replaced:
            self.values.replaced = words.replaced
        if self.appends and words.rest is None and not words.plain:
            # what xargs reads comes where the name of a program is missing
            self.keep_from_feeding(name)
        self.appends = self.appends or (name == "xargs" and not words.replaced)
        if words.plain and not spec.asks:
            self.check_other(name, arguments)
        return words.rest

    def check_other(self, name: str, arguments: Sequence[Word]) -> None:
        """Judge a program that is not known to run anything, unless it is asked to in so many words."""
        if name in programs.OPTION_RUNS:
            self.values.keep_from_leading(arguments, option_like(name))
        if name in programs.ONLY_SHOW or not any(map(self.values.within, arguments)):
            return
        for place, (word, following) in enumerate(pairwise(arguments), start=1):
            inner = (_program(word) or "") if word.literal is not None else ""
            spec = programs.INTERPRETERS.get(inner)
            if spec and asks_for_code(following, spec):
                self.count_inner(arguments)
                self.check_interpreter(inner, arguments[place:])

    def check_git(self, name: str, arguments: Sequence[Word]) -> None:
        rest = self.check_wrapper(name, arguments, spec=programs.GIT)
        if rest:
            self.values.keep_out(rest[:1], COMMAND)
            if rest[0].literal in programs.GIT_RUNS:
                self.values.keep_from_leading(rest[1:], option_like(f"git {rest[0].literal}"))

    def check_find(self, name: str, arguments: Sequence[Word]) -> None:
        place = 0
        while place < len(arguments):
            word = arguments[place]
            place += 1
            if word.literal in programs.FIND_RUNS:
                end = place
                while end < len(arguments) and arguments[end].literal not in {";", "+"}:
                    end += 1
                # the folder's name comes back in every {}
                self.count_inner(arguments)
                self.values.replaced, before = "{}", self.values.replaced
                self.check_words(arguments[place:end])
                self.values.replaced = before
                place = end + 1
            elif word.literal in programs.FIND_VALUES:
                place += 1
            elif self.values.leads(word):
                raise self.values.refusal(word, option_like(name))

    def check_names(self, name: str, arguments: Sequence[Word]) -> None:
        self.values.keep_out(arguments, _name(name))
        self.check_sum(name, filter(self.values.subscripts, arguments))

    def check_sum(self, _name: str, arguments: Iterable[Word]) -> None:
        for word in arguments:
            if self.values.within(word) or self.values.names(word):
                raise self.values.refusal(word, ARITHMETIC)

    def check_declaration(self, name: str, arguments: Sequence[Word]) -> None:
        self.check_sum(name, filter(self.values.subscripts, arguments))
        for word in filter(self.values.within, arguments):
            if assigned(word) is None:
                raise self.values.refusal(word, _name(name))
            self.check_assignment(word)
            if name in programs.PARSE_AGAIN:
                raise self.values.refusal(word, LIST)

    def check_set(self, _program: str, arguments: Sequence[Word]) -> None:
        self.values.keep_from_leading(arguments, SET)

    def check_printf(self, name: str, arguments: Sequence[Word]) -> None:
        if any(map(may_vanish, arguments)):
            self.values.keep_out(arguments, VANISHING)
        place = 0
        while place < len(arguments) and arguments[place].prefix.startswith("-v"):
            used = 2 if arguments[place].literal == "-v" else 1
            self.check_names(name, arguments[place : place + used])
            place += used
        if len(arguments) > place + 1:
            self.values.keep_from_leading(arguments[place : place + 1], FORMAT)

    def check_test(self, name: str, arguments: Sequence[Word]) -> None:
        """Allow only the forms whose meaning does not depend on what the values are."""
        words = list(arguments[:-1] if name == "[" else arguments)
        first = next(filter(self.values.within, words), None)
        self.check_sum(name, filter(self.values.subscripts, words))
        if first is None:
            return
        if words[0].literal == "!":
            del words[0]
        match [word.literal for word in words]:
            case [_]:
                sound = True
            case [operator, _]:
                sound = operator in programs.TEST_UNARY
            case [_, operator, _]:
                sound = operator in programs.TEST_BINARY
            case _:
                sound = False
        if not sound or any(word.splits and self.values.within(word) for word in words):
            raise self.values.refusal(first, TEST)

    def check_double_test(self, words: Sequence[Word]) -> None:
        if any(word.literal in programs.TEST_EVALUATING and not word.quoted for word in words):
            self.check_sum("[[", words)
        for before, word in pairwise(words):
            if before.literal in programs.TEST_JOINTS and not before.quoted:
                self.values.keep_out((word,), TEST_LIST)
                name = _program(word)
                if name in programs.ALL_CODE or name in programs.INTERPRETERS or name in programs.WRAPPERS:
                    self.values.keep_out(words, TEST_LIST)


_CHECKS: Final[Mapping[str, Callable[[_Judge, str, Sequence[Word]], None]]] = MappingProxyType(
    {
        "git": _Judge.check_git,
        "find": _Judge.check_find,
        "let": _Judge.check_sum,
        "set": _Judge.check_set,
        "printf": _Judge.check_printf,
        "[": _Judge.check_test,
        "test": _Judge.check_test,
        **dict.fromkeys(programs.NAMES_ONLY, _Judge.check_names),
        **dict.fromkeys(programs.DECLARERS, _Judge.check_declaration),
    }
)
