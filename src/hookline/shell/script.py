"""The syntax tree of a shell script."""

from collections.abc import Iterator
from typing import Literal

from msgspec import Struct

PartKind = Literal["text", "variable", "expansion", "command", "process", "arithmetic"]


class WordPart(Struct, frozen=True):
    """A piece of a word.

    `text` is the literal text of a `text` part, the name for a `variable` (`$x`, `${x}`, `$1`, `$@`) and the source for
    all others. `scripts` are the scripts that run to compute the part: one for a substitution, any number inside
    `${x:-$(…)}` and `$((…))`.
    """

    kind: PartKind
    text: str
    is_quoted: bool = False
    scripts: tuple["Script", ...] = ()


class Word(Struct, frozen=True):
    """One word of a command.

    `text` is the word after quote removal, with expansions left as they are written. `is_literal` says that a shell
    passes exactly `text` on, or the files that match it when `is_glob`. `pattern` is the glob with quoted special
    characters escaped as `[*]`. `is_home` says that it begins with an unquoted `~` or `~/`; `has_home` that a `~` somewhere
    in it is the value of `$HOME`. `is_ambiguous` says that
    bash and zsh read the word differently; such a word is never literal.
    """

    text: str
    raw: str
    start: int = 0
    end: int = 0
    parts: tuple[WordPart, ...] = ()
    is_literal: bool = True
    is_glob: bool = False
    pattern: str = ""
    is_home: bool = False
    is_ambiguous: bool = False
    has_home: bool = False

    @property
    def scripts(self) -> tuple["Script", ...]:
        """The scripts that a shell runs to compute the word."""
        return tuple(script for part in self.parts for script in part.scripts)


def cut_word(word: Word, text: str) -> Word:
    """Return the part of a word that is a value: a file behind `name=` or `@`."""
    return Word(
        text,
        text,
        word.end - len(text),
        word.end,
        is_literal=word.is_literal,
        is_glob=word.is_glob,
        pattern=text if word.is_glob else "",
        is_home=word.has_home and (text == "~" or text.startswith("~/")),
        has_home=word.has_home,
    )


class Assignment(Struct, frozen=True):
    """`name=value`, `name+=value` or `name=(values)`; `value` is None for an array."""

    name: str
    value: Word | None
    values: tuple[Word, ...] = ()
    is_append: bool = False

    @property
    def words(self) -> tuple[Word, ...]:
        """The words that are assigned."""
        return self.values if self.value is None else (self.value, *self.values)


class Redirect(Struct, frozen=True):
    """A redirection. `target` is None for a here-document, whose text is `body`.

    `body` is a word: its parts are the expansions of the text, and it is literal when there are none.
    """

    operator: str
    target: Word | None = None
    fd: str = ""
    body: Word | None = None

    @property
    def words(self) -> tuple[Word, ...]:
        """The target or the text."""
        return tuple(word for word in (self.target, self.body) if word is not None)


class SimpleCommand(Struct, frozen=True):
    """Assignments, words and redirections; `words` is empty where a command only assigns or redirects."""

    words: tuple[Word, ...] = ()
    assignments: tuple[Assignment, ...] = ()
    redirects: tuple[Redirect, ...] = ()
    start: int = 0
    end: int = 0


class Pipeline(Struct, frozen=True):
    """Commands connected by `|` or `|&`."""

    stages: tuple["Node", ...]
    is_negated: bool = False


CompoundKind = Literal["subshell", "group", "if", "for", "while", "case", "function", "test", "arithmetic", "other"]


class Compound(Struct, frozen=True):
    """A compound command.

    `bodies` are the scripts inside, in source order: for `if` conditions and branches in turn, for `while` the condition
    and the body, for `case` one body per item. `name` is the variable of a `for` and the name of a function; `words` are the
    values of a `for`, the subject and the patterns of a `case` and the operands of a test. `text` is the source of a test, of
    arithmetic and of `for ((…))`, which are not read further; `start` is where it begins.
    """

    kind: CompoundKind
    bodies: tuple["Script", ...] = ()
    name: str = ""
    words: tuple[Word, ...] = ()
    redirects: tuple[Redirect, ...] = ()
    text: str = ""
    start: int = 0


Node = SimpleCommand | Pipeline | Compound


class ScriptStep(Struct, frozen=True):
    """One command of a list and the operator behind it: `&&`, `||`, `;`, `&` or nothing."""

    node: Node
    then: str = ""


class Script(Struct, frozen=True):
    """A list of commands.

    `doubts` has one reason for each place that could not be read with certainty, those of inner scripts included. With
    any doubt the script may do more, or something else, than `steps` say. `comments` are the spans of the comments of a
    whole script.
    """

    steps: tuple[ScriptStep, ...] = ()
    doubts: tuple[str, ...] = ()
    text: str = ""
    comments: tuple[tuple[int, int], ...] = ()


def script_of_words(words: tuple[str, ...]) -> Script:
    """Return the script that consists of one command with exactly these words."""
    return Script(steps=(ScriptStep(SimpleCommand(words=tuple(Word(text=word, raw=word) for word in words))),))


def find_nodes(script: Script, *, in_place: bool = False) -> Iterator[SimpleCommand | Compound]:
    """Yield every simple and compound command as it is written, those of nested scripts and substitutions included.

    With `in_place`, those in backticks and here-documents are left out, whose offsets are not those of the script.
    Nothing is resolved: use `walk.walk_commands` for what may run.
    """
    for step in script.steps:
        yield from _find_in_node(step.node, in_place=in_place)


def list_words(node: SimpleCommand | Compound) -> list[Word]:
    """Return the words of one command: its own, the values it assigns, and its redirections."""
    assignments = node.assignments if isinstance(node, SimpleCommand) else ()
    words = [*node.words, *(word for one in assignments for word in one.words)]
    return [*words, *(word for one in node.redirects for word in one.words)]


def _find_in_node(node: Node, *, in_place: bool) -> Iterator[SimpleCommand | Compound]:
    if isinstance(node, Pipeline):
        for stage in node.stages:
            yield from _find_in_node(stage, in_place=in_place)
        return
    yield node
    if isinstance(node, Compound):
        for body in node.bodies:
            yield from find_nodes(body, in_place=in_place)
    bodies = [one.body for one in node.redirects] if in_place else []
    for word in list_words(node):
        for part in word.parts if not any(word is body for body in bodies) else ():
            for script in part.scripts if not in_place or not part.text.startswith("`") else ():
                yield from find_nodes(script, in_place=in_place)
