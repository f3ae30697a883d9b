r"""Parse shell scripts with tree-sitter-bash.

The tree gives the structure. The text of words is read here, because the tree does not remove quotes, and because it
differs from bash in some places that are corrected on the way: words behind the target of a redirection belong to the
command, a redirection behind a list belongs to its last command, `\` at the end of a row joins two words.

A script is never taken for harmless because it could not be read: an error in the tree, a control character, too much
text or nesting, and everything that bash and zsh read differently become doubts of the script.
"""

import re
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Final

from msgspec import structs

from hookline.shell.heredocs import HereDocument, take_heredocs
from hookline.shell.script import (
    Assignment,
    Compound,
    CompoundKind,
    Node,
    PartKind,
    Pipeline,
    Redirect,
    Script,
    ScriptStep,
    SimpleCommand,
    Word,
    WordPart,
)

if TYPE_CHECKING:
    from tree_sitter import Node as Tree
    from tree_sitter import Parser

# Linux passes no longer text to a shell as one argument. The parser takes a time that grows with the square of the length for
# text that is full of errors: a minute for this, an hour for a megabyte.
LONGEST: Final = 131_072
# a level of commands counts one, a substitution, whose reading goes deeper, four
DEEPEST: Final = 160
_MOST_ALTERNATIVES: Final = 64
_MOST_BRACES: Final = 16

_CONTROL: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_ANSI: Final = re.compile(
    r"\\(?:([abeEfnrtv\\'\"?])|([0-7]{1,3})|x([0-9A-Fa-f]{1,2})|u([0-9A-Fa-f]{1,4})|U([0-9A-Fa-f]{1,8})|c(.))",
    re.DOTALL,
)
_ANSI_LETTERS: Final = dict(zip("abeEfnrtv\\'\"?", "\a\b\x1b\x1b\f\n\r\t\v\\'\"?", strict=True))
_HOME: Final = re.compile(r"~(?=/|$)")
_GLOB: Final = frozenset("*?[")
# signs that zsh reads as part of a pattern or of a name, and bash as themselves
_ZSH: Final = re.compile(r"[#^]|\*\*")
_ZSH_RANGE: Final = re.compile(rb"<[0-9]*-[0-9]*>")
# characters that stand for themselves, outside of quotes and in double quotes
_PLAIN: Final = re.compile(rb"[A-Za-z0-9_./:@%+-]+")
# The scanner of tree-sitter-bash looks a character up in a table of ASCII characters without a bounds check, so that `{`
# before an ideograph ends the process with a segmentation fault. The parser is given a letter in place of each such byte.
_NOT_ASCII: Final = re.compile(rb"[\x80-\xff]")
_QUOTED: Final = re.compile(rb"[^\"\\$`]+")
_BEFORE_A_WORD: Final = (b"", b" ", b"\t", b"\n", b";", b"&", b"|", b"(")
_ESCAPED_BLANK: Final = re.compile(rb"(?:^|[^\\])\\[ \t\n]")
_ESCAPED: Final = re.compile(rb"\\[^\n]")
_ANY_ESCAPED: Final = re.compile(rb"\\.", re.DOTALL)
_EXPANDS: Final = re.compile(rb"[\w@*#?$!({\[-]")
_VARIABLE: Final = re.compile(r"\$\{?([A-Za-z_]\w*|[0-9@*#?$!-])\}?", re.ASCII)
_DECLARATIONS: Final = frozenset({"declaration_command", "unset_command"})
_EXPANSIONS: Final = frozenset(
    {"command_substitution", "process_substitution", "expansion", "simple_expansion", "arithmetic_expansion"}
)
_WORDS: Final = frozenset({"word", "string", "raw_string", "concatenation", "number", "ansi_c_string", *_EXPANSIONS})
_KINDS: Final[dict[str, CompoundKind]] = {
    "subshell": "subshell",
    "compound_statement": "group",
    "if_statement": "if",
    "for_statement": "for",
    "c_style_for_statement": "for",
    "while_statement": "while",
    "case_statement": "case",
    "function_definition": "function",
    "test_command": "test",
}
_REDIRECTS: Final = frozenset({"file_redirect", "herestring_redirect", "heredoc_redirect"})
_STATEMENTS: Final = frozenset(
    {"command", "redirected_statement", "list", "pipeline", "negated_command", "variable_assignment"}
    | {"variable_assignments", *_DECLARATIONS, *_KINDS}
)
_CASE_ENDS: Final = frozenset({";;", ";&", ";;&"})
_OPERATORS: Final = frozenset({"&&", "||", ";", "&", "\n", *_CASE_ENDS})
# parts of a compound command that are no commands; the last three are those of `for ((…))`
_HEADS: Final = ("value", "variable", "name", "initializer", "update", "condition")
# words that start a construct of which the tree makes plain words
_ODD_KEYWORDS: Final = frozenset({"coproc", "foreach", "repeat", "select", "always"})
# words that end a construct, which is a syntax error where the tree makes a command of them
_CLOSING_KEYWORDS: Final = frozenset({"then", "elif", "else", "fi", "do", "done", "esac", "}"})


def parse_script(text: str) -> Script:
    """Parse a script; what cannot be read with certainty is listed in `doubts`, never raised."""
    try:
        return _Reader(text, 0).read()
    except RecursionError:
        return Script(doubts=("too deep: commands in commands",), text=text)


@cache
def _load_parser() -> "Parser":
    import tree_sitter_bash  # noqa: PLC0415
    from tree_sitter import Language, Parser  # noqa: PLC0415

    return Parser(Language(tree_sitter_bash.language()))


class _Reader:
    """The state of one parse."""

    def __init__(self, text: str, depth: int) -> None:
        self.doubts: dict[str, None] = {}
        self.depth = depth
        if len(text) > LONGEST:
            self.doubt(f"too long: more than {LONGEST} characters")
            text = text[:LONGEST]
        if _CONTROL.search(text):
            self.doubt("there are control characters")
        self.text = text
        self.original = text.encode("utf-8", "surrogatepass")
        self.source, self.documents, doubts = take_heredocs(self.original)
        for one in doubts:
            self.doubt(one)

    def doubt(self, reason: str) -> None:
        self.doubts[reason] = None

    def read(self) -> Script:
        tree = _load_parser().parse(_NOT_ASCII.sub(b"_", self.source))
        if tree.root_node.has_error and _has_error(tree.root_node):
            self.doubt("there is a syntax error")
        if any(child.type in _CASE_ENDS for child in tree.root_node.children):
            self.doubt("there is a syntax error")
        steps = self.steps(tree.root_node.children)
        comments = tuple((one.start_byte, one.end_byte) for one in _find(tree.root_node, frozenset({"comment"})))
        return Script(steps, tuple(self.doubts), self.text, comments)

    def inner(self, children: "list[Tree]", start: int, end: int) -> Script:
        """Read a list of commands inside a construct."""
        return Script(self.steps(children), tuple(self.doubts), self.slice(start, end))

    def slice(self, start: int, end: int) -> str:
        return self.original[start:end].decode("utf-8", "replace")

    # commands

    def steps(self, children: "list[Tree]") -> tuple[ScriptStep, ...]:
        if self.depth >= DEEPEST:
            self.doubt("too deep: commands in commands")
            return ()
        self.depth += 1
        found: list[ScriptStep] = []
        loose: list[Tree] = []
        pending = list(reversed(children))
        while pending:
            child = pending.pop()
            if child.type in _OPERATORS:
                if found and child.type != "\n":
                    found[-1] = ScriptStep(found[-1].node, child.type)
            elif child.type == "list":
                # its left part is a list again, as deep as the list is long
                pending += reversed(child.children)
            elif child.type == "redirected_statement":
                found += self.read_redirected(child)
            elif child.type == "ERROR":
                self.doubt("there is a syntax error")
                found += self.steps(child.children)
            elif child.type in _STATEMENTS:
                found.append(ScriptStep(self.node(child)))
            elif child.is_named and child.type not in {"comment", "heredoc_body", "file_descriptor"}:
                loose.append(child)
        if loose:
            # pieces of a construct that could not be read
            self.doubt("there is a syntax error")
            words = self.words([one for one in loose if one.type not in _REDIRECTS])
            found.append(ScriptStep(SimpleCommand(tuple(words))))
        self.depth -= 1
        return tuple(found)

    def read_redirected(self, node: "Tree") -> list[ScriptStep]:
        """Read a statement with redirections, which belong to its last command."""
        body = node.child_by_field_name("body")
        steps = list(self.steps([body])) if body is not None else []
        targets = [child for child in node.children if child.type in _REDIRECTS]
        redirects, more = self.redirects(targets)
        if not steps:
            return [ScriptStep(SimpleCommand(tuple(more), (), tuple(redirects), node.start_byte, node.end_byte))]
        last = steps[-1]
        steps[-1] = ScriptStep(_with_redirects(last.node, redirects, more), last.then)
        return steps

    def node(self, node: "Tree") -> Node:
        match node.type:
            case "command" | "variable_assignment" | "variable_assignments" | "declaration_command" | "unset_command":
                return self.command(node)
            case "pipeline":
                return self.pipeline(node)
            case "negated_command":
                inner = self.steps([child for child in node.children if child.type != "!"])
                first = inner[0].node if len(inner) == 1 else Compound("group", (Script(inner),))
                return Pipeline((first,), is_negated=True)
            case _:
                return self.compound(node)

    def pipeline(self, node: "Tree") -> Node:
        stages: list[Node] = []
        for child in node.children:
            if child.type in {"|", "|&"}:
                continue
            steps = self.steps([child])
            stages += [steps[0].node] if len(steps) == 1 else [Compound("group", (Script(steps),))] if steps else []
        is_negated = isinstance(stages[0], Pipeline) and stages[0].is_negated if stages else False
        return Pipeline(tuple(stages), is_negated=is_negated)

    def command(self, node: "Tree") -> SimpleCommand:
        """Read a command; in `export X=1` and its kind, assignments stand among the words."""
        assignments: list[Assignment] = []
        words: list[Tree] = []
        targets: list[Tree] = []
        for child in [node] if node.type == "variable_assignment" else node.children:
            if child.type == "variable_assignment":
                assignments.append(self.assignment(child))
            elif child.type == "command_name":
                # a redirection behind an assignment makes the tree ask for a name that need not be there
                words += [one for one in child.children if not one.is_missing]
            elif child.type in _REDIRECTS:
                targets.append(child)
            elif child.type == "ERROR":
                self.doubt("there is a syntax error")
                words += [one for one in child.children if one.is_named]
            elif child.type == "subshell":
                self.doubt("a subshell stands among the words of a command")
                words.append(child)
            elif child.is_named or child.type in {"=~", "=="} or node.type in _DECLARATIONS:
                words.append(child)
        redirects, more = self.redirects(targets)
        found = sorted([*self.words(words), *more], key=lambda word: word.start)
        self.check_gaps(node, found)
        if found and found[0].text in _ODD_KEYWORDS | _CLOSING_KEYWORDS and found[0].raw == found[0].text:
            self.doubt(f"{found[0].text} is not read")
        return SimpleCommand(tuple(found), tuple(assignments), tuple(redirects), node.start_byte, node.end_byte)

    def check_gaps(self, node: "Tree", words: list[Word]) -> None:
        """Doubt a command with text that is in none of its words: a word of nothing but escaped blanks."""
        at = node.start_byte
        spans = [(word.start, word.end) for word in words]
        spans += [
            (child.start_byte, child.end_byte) for child in node.children if child.type not in {"command_name", "word"}
        ]
        for start, end in sorted(spans):
            if start > at and _ESCAPED.search(self.source, at, start):
                self.doubt("a word cannot be read")
            at = max(at, end)

    def compound(self, node: "Tree") -> Compound:
        kind = _KINDS.get(node.type, "other")
        if kind == "other":
            self.doubt(f"{node.type} is not read")
        source = self.slice(node.start_byte, node.end_byte)
        if node.children and node.children[0].type == "((":
            return Compound("arithmetic", self.scripts_below(node), text=source, start=node.start_byte)
        if kind == "test":
            words = tuple(self.words(_find(node, _WORDS)))
            return Compound("test", words=words, text=source, start=node.start_byte)
        if node.children and node.children[0].type == "select":
            kind = "for"
        name_node = node.child_by_field_name("name") or node.child_by_field_name("variable")
        name = self.slice(name_node.start_byte, name_node.end_byte) if name_node is not None else ""
        values = node.children_by_field_name("value")
        for item in node.children:
            values += item.children_by_field_name("value") if item.type == "case_item" else []
        words = tuple(self.words(values))
        redirects, more = self.redirects([child for child in node.children if child.type in _REDIRECTS])
        if more:
            self.doubt("words follow a redirection of a compound command")
        if node.type != "c_style_for_statement":
            return Compound(kind, self.bodies(node, kind), name, words, tuple(redirects))
        body = node.child_by_field_name("body")
        head = self.slice(node.start_byte, body.start_byte if body is not None else node.end_byte)
        return Compound(kind, self.bodies(node, kind), name, words, tuple(redirects), head, node.start_byte)

    def bodies(self, node: "Tree", kind: CompoundKind) -> tuple[Script, ...]:
        """Read the lists inside a compound command; keywords separate them."""
        if kind == "function":
            body = node.child_by_field_name("body")
            return (self.inner([body], body.start_byte, body.end_byte),) if body is not None else ()
        heads = _HEADS if node.type == "c_style_for_statement" else _HEADS[:3]
        skipped = {one for name in heads for one in node.children_by_field_name(name)}
        lists: list[list[Tree]] = [[]]
        found = list(self.scripts_below(*(one for name in heads[3:] for one in node.children_by_field_name(name))))
        for child in node.children:
            if child.type in {"do_group", "elif_clause", "else_clause", "case_item"}:
                lists.append([])
                found += self.bodies_of_lists(lists)
                lists = [[]]
                found += self.bodies(child, kind)
            elif child.type in {"then", "do", "{", "(", ")", "in", "else"}:
                lists.append([])
            elif child not in skipped and child.type not in _REDIRECTS and (child.is_named or child.type in _OPERATORS):
                lists[-1].append(child)
        return (*found, *self.bodies_of_lists(lists))

    def bodies_of_lists(self, lists: "list[list[Tree]]") -> list[Script]:
        return [
            self.inner(one, one[0].start_byte, one[-1].end_byte)
            for one in lists
            if any(child.type in _STATEMENTS or child.type == "ERROR" for child in one)
        ]

    def scripts_below(self, *nodes: "Tree") -> tuple[Script, ...]:
        """Read the substitutions anywhere at or below nodes that are not read otherwise."""
        expansions = (one for node in nodes for one in _find(node, _EXPANSIONS))
        return tuple(script for one in expansions for script in self.expansion(one, is_quoted=True).scripts)

    def assignment(self, node: "Tree") -> Assignment:
        name = node.child_by_field_name("name")
        value = node.child_by_field_name("value")
        is_append = any(child.type == "+=" for child in node.children)
        text = self.slice(name.start_byte, name.end_byte) if name is not None else ""
        if value is None:
            return Assignment(text, Word("", "", node.end_byte, node.end_byte), is_append=is_append)
        if value.type == "array":
            return Assignment(text, None, tuple(self.words([one for one in value.children if one.is_named])), is_append)
        words = self.words([value])
        return Assignment(text, words[0] if words else None, tuple(words[1:]), is_append)

    # redirections

    def redirects(self, nodes: "list[Tree]") -> tuple[list[Redirect], list[Word]]:
        """Read redirections, and the words behind their targets, which are words of the command."""
        found: list[Redirect] = []
        more: list[Word] = []
        for node in nodes:
            if node.type == "heredoc_redirect":
                self.doubt("a here-document cannot be read")
                continue
            descriptor = node.child_by_field_name("descriptor")
            fd = self.slice(descriptor.start_byte, descriptor.end_byte) if descriptor is not None else ""
            operator = next((child for child in node.children if not child.is_named), None)
            sign, at = (operator.type, operator.start_byte) if operator is not None else ("?", -1)
            words = self.words([child for child in node.children if child.type not in {"file_descriptor", sign}])
            more += words[1:]
            if (document := self.documents.get(at)) is not None:
                found.append(Redirect(document.operator, None, fd, self.body(document)))
                continue
            if len(fd) > 1:
                self.doubt("zsh takes a file descriptor of several digits for a word")
            if sign.startswith("&") and len(words) > 1:
                self.doubt("sh takes words behind &> for another command")
            found.append(Redirect(sign, words[0] if words else None, fd))
            if words:
                more += self.check_target(sign, words[0])
            if _ZSH_RANGE.match(self.source, node.start_byte):
                self.doubt("zsh reads <-> as a pattern")
        return found, more

    def check_target(self, operator: str, target: Word) -> list[Word]:
        """Look for targets that bash and zsh read differently; return what one of them takes for a word."""
        is_joined = operator in {">&", "<&", ">&-", "<&-"} and target.text.startswith("-") and target.text != "-"
        if is_joined or operator in {">&-", "<&-"}:
            self.doubt("bash closes a file descriptor and takes the rest for a word")
            rest = Word(target.text[1:], target.raw[1:], target.start + 1, target.end)
            return [rest if is_joined else target]
        if target.raw.startswith("#"):
            self.doubt("a comment stands where the target of a redirection should be")
        if target.raw.startswith("!"):
            self.doubt("zsh takes ! behind a redirection for a part of it")
        return []

    def body(self, document: HereDocument) -> Word:
        text = document.body.decode("utf-8", "replace")
        at, end = document.body_start, document.body_start + len(document.body)
        if document.is_quoted or not re.search(r"[$`\\]", text):
            return Word(text, text, at, end, (WordPart("text", text, is_quoted=True),))
        # expansions work as in double quotes, where a quote is a plain character
        quoted = '"' + re.sub(r'(?<!\\)((?:\\\\)*)"', r'\1\\"', text) + '"'
        inner = _Reader(f"echo {quoted}", self.depth)
        script = inner.read()
        for one in script.doubts:
            self.doubt(one)
        words = [word for step in script.steps if isinstance(step.node, SimpleCommand) for word in step.node.words[1:]]
        if len(words) != 1:
            self.doubt("a here-document cannot be read")
            return Word(text, text, at, end, is_literal=False)
        return Word(words[0].text, text, at, end, words[0].parts, words[0].is_literal)

    # words

    def words(self, nodes: "list[Tree]") -> list[Word]:
        """Read words; nodes that touch each other, or are joined by a continued row, are one word."""
        groups: list[list[Tree]] = []
        for node in nodes:
            end = groups[-1][-1].end_byte if groups else 0
            # the tree leaves escaped blanks out
            if groups and node.start_byte >= end and not _ANY_ESCAPED.sub(b"", self.source[end : node.start_byte]):
                groups[-1].append(node)
            else:
                groups.append([node])
        return [word for group in groups for word in self.word(group)]

    def word(self, nodes: "list[Tree]") -> list[Word]:
        """Read one word, which becomes several where braces are expanded."""
        start, end = nodes[0].start_byte, nodes[0].end_byte
        if len(nodes) == 1 and nodes[0].type == "word" and _PLAIN.fullmatch(self.source, start, end):
            text = self.source[start:end].decode()
            if self.source[start - 1 : start] in _BEFORE_A_WORD and self.source[end : end + 1] != b"\\":
                return [Word(text, text, start, end, (WordPart("text", text),))]
        start, end = _widen(self.source, nodes[0].start_byte, nodes[-1].end_byte)
        # the tree takes blanks in quotes for a part of the backtick behind them
        expansions = {
            one.end_byte - len(self.original[one.start_byte : one.end_byte].lstrip()): one
            for node in nodes
            for one in _find(node, _EXPANSIONS)
        }
        lexer = _WordLexer(self, start, end, expansions)
        lexer.run()
        # bash translates $"text", zsh prints the dollar
        lexer.is_ambiguous |= self.source[start - 1 : start] == b"$" if start else False
        raw = self.slice(start, end)
        alternatives = _expand_braces(lexer.atoms)
        if alternatives is None:
            self.doubt("braces stand for too many words")
            alternatives = [lexer.atoms]
        return [_make_word(one, raw, start, end, is_ambiguous=lexer.is_ambiguous) for one in alternatives]

    def expansion(self, node: "Tree", *, is_quoted: bool) -> WordPart:
        """Read one expansion of a word."""
        source = self.slice(node.start_byte, node.end_byte).lstrip()
        match node.type:
            case "simple_expansion":
                return WordPart("variable", source[1:], is_quoted)
            case "expansion":
                plain = _VARIABLE.fullmatch(source)
                if plain is not None and source.endswith("}"):
                    return WordPart("variable", plain[1], is_quoted)
                return WordPart("expansion", source, is_quoted, self.scripts_below(*node.children))
            case "command_substitution" if source.startswith("`"):
                inner = re.sub(r"\\([`\\$])", r"\1", source[1:-1])
                return WordPart("command", source, is_quoted, (self.parse_nested(inner),))
            case "command_substitution" | "process_substitution":
                kind: PartKind = "command" if node.type == "command_substitution" else "process"
                opening, closing = node.children[0].end_byte, node.children[-1].start_byte
                if kind == "command" and len(node.children) > 1 and node.children[1].type == "file_redirect":
                    # $(<file) reads a file
                    redirects, _ = self.redirects([node.children[1]])
                    step = ScriptStep(SimpleCommand(redirects=tuple(redirects)))
                    return WordPart(kind, source, is_quoted, (Script((step,), (), self.slice(opening, closing)),))
                self.depth += 3
                script = self.inner(node.children[1:-1], opening, closing)
                self.depth -= 3
                return WordPart(kind, source, is_quoted, (script,))
            case _:
                return WordPart("arithmetic", source, is_quoted, self.scripts_below(*node.children))

    def parse_nested(self, text: str) -> Script:
        """Parse a script that stands in quotes of its own."""
        if self.depth > DEEPEST:
            self.doubt("too deep: commands in commands")
            return Script(doubts=("too deep: commands in commands",), text=text)
        script = _Reader(text, self.depth + 10).read()
        for one in script.doubts:
            self.doubt(one)
        return script


# a literal character with whether it was quoted, or an expansion
_Atom = tuple[str, bool] | WordPart


class _WordLexer:
    """Remove the quotes of one word."""

    def __init__(self, reader: _Reader, start: int, end: int, expansions: "dict[int, Tree]") -> None:
        self.reader = reader
        self.at = start
        self.end = end
        self.expansions = expansions
        self.atoms: list[_Atom] = []
        self.is_ambiguous = False

    def run(self) -> None:
        source = self.reader.original
        begins = self.at
        while self.at < self.end:
            if plain := _PLAIN.match(source, self.at, self.end):
                self.atoms.append((plain[0].decode(), False))
                self.at = plain.end()
                continue
            char = self.take_char()
            if char == "'":
                end = source.find(b"'", self.at, self.end)
                if end < 0:
                    self.reader.doubt("a quote is not closed")
                    end = self.end
                self.atoms.append((self.reader.slice(self.at, end), True))
                self.at = min(end + 1, self.end)
            elif char == '"':
                self.double_quotes()
            elif char == "\\":
                escaped = self.take_char() if self.at < self.end else "\n"
                self.atoms += [(escaped, True)] if escaped != "\n" else []
            elif char in "$`<>" and (node := self.expansions.get(self.at - 1)) is not None:
                self.expand(node, is_quoted=False)
            elif char == "$" and source[self.at : self.at + 1] == b"'":
                self.at += 1
                self.put(self.ansi(), quoted=True)
            elif char == "$" and source[self.at : self.at + 1] == b'"':
                # bash translates the text, zsh prints the dollar
                self.is_ambiguous = True
            else:
                self.check_dollar(char)
                self.atoms.append((char, False))
                is_first = len(self.atoms) == 1 and self.at - 1 == begins
                if is_first and char in "=^" and self.at < self.end:
                    self.is_ambiguous = True

    def check_dollar(self, char: str) -> None:
        """Doubt a sign that begins an expansion where the tree has none."""
        if char == "`" or (char == "$" and _EXPANDS.match(self.reader.original, self.at)):
            self.reader.doubt("an expansion cannot be read")
            self.is_ambiguous = True

    def take_char(self) -> str:
        """Take one character, of up to four bytes."""
        source, size = self.reader.original, 1
        first = source[self.at]
        if first >= 0xC0:
            size = 2 if first < 0xE0 else 3 if first < 0xF0 else 4
        text = source[self.at : self.at + size].decode("utf-8", "replace")
        self.at += size
        return text

    def put(self, text: str, *, quoted: bool) -> None:
        # an empty quoted text still makes a word
        self.atoms += [(char, quoted) for char in text] or [("", quoted)]

    def double_quotes(self) -> None:
        self.put("", quoted=True)
        while self.at < self.end:
            if quoted := _QUOTED.match(self.reader.original, self.at, self.end):
                self.atoms.append((quoted[0].decode("utf-8", "replace"), True))
                self.at = quoted.end()
                continue
            char = self.take_char()
            if char == '"':
                return
            if char == "\\":
                following = self.take_char() if self.at < self.end else ""
                if following != "\n":
                    text = following if following and following in '$`"\\' else f"\\{following}"
                    self.put(text, quoted=True)
            elif char in "$`" and (node := self.expansions.get(self.at - 1)) is not None:
                self.expand(node, is_quoted=True)
            else:
                self.check_dollar(char)
                self.atoms.append((char, True))
        self.reader.doubt("a quote is not closed")

    def ansi(self) -> str:
        start = self.at
        while self.at < self.end:
            char = self.take_char()
            if char == "'":
                return _ANSI.sub(_decode_ansi, self.reader.slice(start, self.at - 1))
            if char == "\\" and self.at < self.end:
                self.take_char()
        self.reader.doubt("a quote is not closed")
        return self.reader.slice(start, self.at)

    def expand(self, node: "Tree", *, is_quoted: bool) -> None:
        self.atoms.append(self.reader.expansion(node, is_quoted=is_quoted))
        self.at = node.end_byte


def _decode_ansi(found: re.Match[str]) -> str:
    letter, octal, short, four, eight, control = found.groups()
    if letter:
        return _ANSI_LETTERS[letter]
    if control:
        return chr(ord(control.upper()) & 0x1F)
    number = int(octal, 8) & 0xFF if octal else int(short or four or eight, 16)
    return chr(number) if number <= 0x10FFFF else "\ufffd"


def _make_word(atoms: "list[_Atom]", raw: str, start: int, end: int, *, is_ambiguous: bool) -> Word:
    parts: list[WordPart] = []
    for atom in atoms:
        if isinstance(atom, WordPart):
            parts.append(atom)
            continue
        text, quoted = atom
        if parts and parts[-1].kind == "text" and parts[-1].is_quoted == quoted:
            parts[-1] = WordPart("text", parts[-1].text + text, quoted)
        else:
            parts.append(WordPart("text", text, quoted))
    bare = "".join(part.text for part in parts if part.kind == "text" and not part.is_quoted)
    begins = parts[0].text if parts and parts[0].kind == "text" and not parts[0].is_quoted else ""
    has_tilde = begins.startswith("~")
    is_home = _HOME.match(begins) is not None and (len(begins) > 1 or len(parts) == 1)
    is_glob = any(char in _GLOB for char in bare)
    # an assignment-like word is no pattern to either shell before its value
    is_ambiguous = is_ambiguous or _ZSH.search(bare) is not None or (has_tilde and not is_home)
    text = "".join(
        part.text if part.kind != "variable" else f"${{{part.text}}}" if len(part.text) > 1 else f"${part.text}"
        for part in parts
    )
    pattern = "".join(_escape_glob(part) for part in parts) if is_glob else ""
    is_literal = not is_ambiguous and all(part.kind == "text" for part in parts)
    return Word(text, raw, start, end, tuple(parts), is_literal, is_glob, pattern, is_home, is_ambiguous)


def _escape_glob(part: WordPart) -> str:
    if part.kind != "text":
        return "*"
    return re.sub(r"[*?\[]", r"[\g<0>]", part.text) if part.is_quoted else part.text


def _expand_braces(atoms: "list[_Atom]") -> "list[list[_Atom]] | None":
    """Expand `{a,b}` and `{1..3}`; None when there are too many words."""
    braces = atoms.count(("{", False))
    if not braces or ("}", False) not in atoms:
        return [atoms]
    if braces > _MOST_BRACES:
        return None
    for start, atom in enumerate(atoms):
        if atom != ("{", False):
            continue
        depth, commas = 0, [start]
        for at in range(start, len(atoms)):
            one = atoms[at]
            if one == ("{", False):
                depth += 1
            elif one == (",", False) and depth == 1:
                commas.append(at)
            elif one == ("}", False):
                depth -= 1
                if depth:
                    continue
                choices = _choose(atoms, commas, at)
                if choices is None:
                    break
                found: list[list[_Atom]] = []
                for choice in choices:
                    inner = _expand_braces([*atoms[:start], *choice, *atoms[at + 1 :]])
                    if inner is None or len(found) + len(inner) > _MOST_ALTERNATIVES:
                        return None
                    found += inner
                return found
    return [atoms]


def _choose(atoms: "list[_Atom]", commas: list[int], end: int) -> "list[list[_Atom]] | None":
    """Return what stands between the commas of a brace, or the numbers of a range; None for a plain brace."""
    if len(commas) > 1:
        return [list(atoms[a + 1 : b]) for a, b in zip(commas, [*commas[1:], end], strict=True)]
    inside = "".join(atom[0] for atom in atoms[commas[0] + 1 : end] if not isinstance(atom, WordPart) and not atom[1])
    spell: Callable[[int], str] = str
    if found := re.fullmatch(r"(-?[0-9]{1,6})\.\.(-?[0-9]{1,6})", inside):
        first, last = int(found[1]), int(found[2])
    elif found := re.fullmatch(r"([a-zA-Z])\.\.([a-zA-Z])", inside):
        first, last, spell = ord(found[1]), ord(found[2]), chr
    else:
        return None
    step = 1 if last >= first else -1
    numbers = range(first, last + step, step)
    if len(numbers) > _MOST_ALTERNATIVES:
        return [[("*", False)]]
    return [[(char, False) for char in spell(number)] for number in numbers]


def _with_redirects(node: Node, redirects: list[Redirect], more: list[Word]) -> Node:
    """Give redirections to a command; those of a pipeline belong to its last stage."""
    if isinstance(node, Pipeline):
        *before, last = node.stages
        return Pipeline((*before, _with_redirects(last, redirects, more)), node.is_negated)
    words = (*node.words, *more)
    if isinstance(node, SimpleCommand):
        words = tuple(sorted(words, key=lambda word: word.start)) if more else words
    return structs.replace(node, words=words, redirects=(*node.redirects, *redirects))


def _widen(source: bytes, start: int, end: int) -> tuple[int, int]:
    """Add escaped characters at both ends of a word, which the tree leaves out."""
    while _ESCAPED_BLANK.fullmatch(source, max(start - 3, 0), start):
        start -= 2
    while source[end : end + 1] == b"\\" and end + 1 < len(source):
        end += 2
    return start, end


def _find(node: "Tree", types: frozenset[str]) -> "list[Tree]":
    """Return the outermost nodes of some types at or below a node, in order."""
    found: list[Tree] = []
    pending = [node]
    while pending:
        one = pending.pop()
        if one.type in types:
            found.append(one)
        else:
            pending += reversed(one.children)
    return found


def _has_error(root: "Tree") -> bool:
    """Return whether the tree has an error; the name that it misses behind `X=1 >file` is none."""
    pending = [root]
    while pending:
        one = pending.pop()
        if one.type == "ERROR" or (one.is_missing and (one.parent is None or one.parent.type != "command_name")):
            return True
        pending += [child for child in one.children if child.has_error]
    return False
