"""Compare the effects of a call with the patterns of rules: yes, no, or unknown."""

import fnmatch
import re
from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches
from enum import StrEnum
from itertools import islice, product
from posixpath import join, normpath
from typing import Final
from urllib.parse import SplitResult, urlsplit

from msgspec import Struct, structs

from hookline.effects.effects import Effects, EffectsBuilder
from hookline.errors import ConfigError
from hookline.shell.program import Program, split_names
from hookline.shell.programs import PROGRAMS, SHELLS, Arguments, GivenOption, find_program, name_program, read_arguments
from hookline.shell.reader import parse_script
from hookline.shell.script import SimpleCommand, Word, cut_word
from hookline.shell.walk import ShellCommand

_URL: Final = re.compile(r"\bhttps?://[^\s'\"<>|;`{}\\^]+", re.IGNORECASE)
# punctuation of a sentence behind a URL
_BEHIND: Final = ".,:!?)]"
_PORTS: Final = {"http": 80, "https": 443}
# signs before a reference that mean an option of git push
_OF_REFS: Final = {"--force": "+", "--delete": ":"}
_FILE_ROLES: Final = frozenset({"reads", "writes", "deletes", "moves", "lists", "links", "into", "folder", "script"})
# folders that everything below is, so that `/*` is the same as `/`
_TOPS: Final = frozenset({"/", "~", ".", ".."})
_MODE: Final = re.compile(r"(?P<octal>[0-7]{3,4})|(?P<symbols>[ugoa]+[+=][rwx]+(?:,[ugoa]+[+=][rwx]+)*)")
# what only regular expressions have
_REGEX: Final = re.compile(r"^\^|\$$|\\[sbwdSWD.]|\(\?|\.[*+]\s*-|\.\+")
_NEARLY: Final = 0.74
# programs whose subcommands people name alone
_OWNERS: Final = ("git", "docker", "npm", "kubectl", "terraform", "cargo")
_USUAL: Final = sorted(
    split_names(
        "aws bash chmod chown curl dd gcloud gh helm make mkfs mv mysql node pip psql python rm sudo wget yarn"
    ).union(_OWNERS)
)
_QUERY_WORD: Final = re.compile(r"\w+")
# patterns that braces may stand for
_MOST_CHOICES: Final = 64
# an address with colons of its own stands in brackets
_WITH_PORT: Final = re.compile(r"(?:\[([^\]]*)\]|([^:\[\]]*)):([0-9*]+)")
# a number for an address, which programs read in more than one way; four plain numbers are the usual one
_NUMERIC: Final = re.compile(r"(?:0x[0-9a-f]*|[0-9]+)(?:\.(?:0x[0-9a-f]*|[0-9]+))*", re.IGNORECASE)
_ADDRESS: Final = re.compile(r"(?:0|[1-9][0-9]{0,2})(?:\.(?:0|[1-9][0-9]{0,2})){3}")


class MatchAnswer(StrEnum):
    """Whether a call does what a pattern names."""

    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"


class EffectMatch(Struct, frozen=True):
    """An answer, with the effect that decided it."""

    answer: MatchAnswer
    what: str = ""


NO: Final = EffectMatch(MatchAnswer.NO)
_STRENGTH: Final = (MatchAnswer.NO, MatchAnswer.UNKNOWN, MatchAnswer.YES)

CommandMatcher = Callable[[Effects], EffectMatch]


class _PatternStage(Struct, frozen=True):
    """One command of a pattern: its program, and the arguments that must be there."""

    program: str
    row: Program | None
    arguments: Arguments
    has_words: bool


def pick_strongest(findings: Iterable[EffectMatch]) -> EffectMatch:
    """Return the first yes, else the first unknown, else no."""
    best = NO
    for one in findings:
        if one.answer is MatchAnswer.YES:
            return one
        if one.answer is MatchAnswer.UNKNOWN and best.answer is MatchAnswer.NO:
            best = one
    return best


def compile_commands(patterns: Iterable[str]) -> CommandMatcher:
    """Compile patterns of commands.

    `git push --force` means every command of that program with that subcommand and that option, whatever stands between
    and in whatever order and spelling options are given. `*` and other globs work inside a word. `curl | sh` means output
    of the one that the other executes or reads; `{curl,wget} | sh` are two patterns.

    Raises:
        ConfigError: A pattern is empty or cannot be read.
    """
    compiled: list[list[_PatternStage]] = []
    for pattern in patterns:
        if not pattern.strip():
            raise ConfigError('a pattern of commands is empty; write the words of a command such as "git push"')
        _check_pattern(pattern)
        pieces = re.split(r"\{([^{}]*,[^{}]*)\}", pattern)
        choices = [piece.split(",") if at % 2 else [piece] for at, piece in enumerate(pieces)]
        for one in islice(product(*choices), _MOST_CHOICES):
            parts = re.split(r"\s*\|\s*", "".join(one).strip())
            compiled.append([_compile_stage(part, pattern) for part in parts])

    def match(effects: Effects) -> EffectMatch:
        return pick_strongest(_match(one, command) for one in compiled for command in effects.commands)

    return match


def _check_pattern(pattern: str) -> None:
    """Refuse patterns that can never match what was meant by them."""
    if _REGEX.search(pattern):
        raise ConfigError(
            f'pattern "{pattern}" looks like a regular expression, and patterns are words: write the program, its subcommand '
            'and options, such as "git push --force"; they match in any order, with anything between'
        )
    if found := re.search(r"&&|\|\||;|\$\(|`", pattern):
        raise ConfigError(
            f'pattern "{pattern}" has "{found[0]}" in it, and names one command: write one pattern for each'
        )
    if pattern.lstrip().startswith("-"):
        raise ConfigError(f'pattern "{pattern}" begins with an option: write the program first, or "*" for any')


def find_unlikely_words(pattern: str) -> str:
    """Return what is probably misspelt in a pattern that can be read, with a suggestion; "" if nothing is."""
    for text in re.split(r"\s*\|\s*", pattern.strip()):
        program, *rest = text.split()
        row = find_program(program)
        if re.search(r"[*?\[{]", program):
            continue
        if row is None:
            owner = next((name for name in _OWNERS if program in PROGRAMS[name].subcommands), "")
            swapped = [name for name in _USUAL if sorted(name) == sorted(program)]
            near = swapped or get_close_matches(program, _USUAL, n=1, cutoff=_NEARLY)
            if owner and rest:
                return f'"{program}" is no program that is known; write "{owner} {text}"'
            if near:
                return f'"{program}" is no program that is known (did you mean "{near[0]}"?)'
            continue
        words = [word for word in rest if not word.startswith("-")]
        subcommands = list(row.subcommands)
        if words and subcommands and words[0] not in subcommands and not re.search(r"[*?\[{:./]", words[0]):
            near = get_close_matches(words[0], subcommands, n=1, cutoff=_NEARLY)
            if near:
                return f'{program} has no "{words[0]}" that is known (did you mean "{near[0]}"?)'
        last = read_arguments(row, [Word(word, word) for word in rest]).row or row
        known = [name for name in (*last.options, *row.options) if name.startswith("--")]
        for option in (word.partition("=")[0] for word in rest if word.startswith("--")):
            is_known = any(name.startswith(option) for name in known) or re.search(r"[*?\[{]", option)
            near = [] if is_known else get_close_matches(option, known, n=1, cutoff=_NEARLY)
            if near:
                return f'{program} has no option "{option}" that is known (did you mean "{near[0]}"?)'
    return ""


def _compile_stage(text: str, pattern: str) -> _PatternStage:
    words = text.split()
    if not words:
        raise ConfigError(f'pattern "{pattern}" has an empty part; write commands on both sides of "|"')
    # quotes in a pattern are read as in a shell
    if re.search(r"['\"\\]", text):
        script = parse_script(text)
        node = script.steps[0].node if len(script.steps) == 1 else None
        words = [word.text for word in node.words] if isinstance(node, SimpleCommand) else words
    while len(words) > 1 and re.fullmatch(r"[A-Za-z_]\w*=\S*", words[0]):
        words = words[1:]
    row = find_program(words[0])
    # docker-compose up is docker compose up
    program, *rest = [*name_program(words[0]).split(), *words[1:]]
    arguments = read_arguments(row, [Word(word, word) for word in rest])
    # those of a wrapped command are operands
    arguments.operands += arguments.rest or []
    return _PatternStage(program, row, _unfold_spelling(row, arguments), bool(rest))


def _match(pattern: Sequence[_PatternStage], command: ShellCommand) -> EffectMatch:
    *before, last = pattern
    answer = _match_stage(last, command)
    if answer is not MatchAnswer.YES and (script := _find_script(command)) is not None:
        # `python manage.py migrate` runs manage.py
        answer = max(answer, _match_stage(last, script), key=_STRENGTH.index)
    if answer is MatchAnswer.NO or not before:
        return EffectMatch(answer, command.text)
    is_interpreter = last.row is not None and last.row.interpreter and not last.has_words
    code = (*command.code_from, *command.script_from)
    sources = code if is_interpreter else (*command.feeds, *code)
    for stage in reversed(before):
        answers = [_match_stage(stage, source) for source in sources]
        if MatchAnswer.YES in answers:
            continue
        if MatchAnswer.UNKNOWN not in answers:
            return NO
        answer = MatchAnswer.UNKNOWN
    source = next((one.text for one in sources), "")
    return EffectMatch(answer, f"{source} | {command.text}")


def _find_script(command: ShellCommand) -> ShellCommand | None:
    """Return the script that an interpreter runs, as a command of its own; None without one."""
    arguments = command.arguments
    is_script = command.row is not None and command.row.interpreter and not arguments.has_role("code", "module")
    operands = arguments.operands
    if not is_script or arguments.has("-c", "-s") or not operands or not operands[0].is_literal:
        return None
    name = name_program(operands[0].text)
    return structs.replace(
        command, name=name, words=tuple(operands), row=None, arguments=read_arguments(None, operands[1:])
    )


def _match_stage(stage: _PatternStage, command: ShellCommand) -> MatchAnswer:
    if not command.words:
        return MatchAnswer.NO
    # a quoted blank can be the name of a command
    if not command.name.strip():
        return MatchAnswer.UNKNOWN
    name, *more = command.name.split()
    has_sources = command.code_from or command.script_from
    # a file that was written just before, and is then executed by its name
    is_script = command.script_from and command.row is None and name.endswith(".sh")
    is_shell = name in SHELLS or (name in {"eval", "source"} and has_sources) or is_script
    if not (stage.program == "sh" and is_shell) and not fnmatch.fnmatchcase(name, stage.program):
        return MatchAnswer.NO
    if not stage.has_words:
        return MatchAnswer.YES
    row, arguments = command.row, command.arguments
    if row is not None and more:
        # docker-compose up is docker compose up
        row = find_program(name)
        arguments = read_arguments(row, (*(Word(one, one) for one in more), *command.words[1:]))
    arguments = _unfold_spelling(row, arguments)
    answers = {
        _match_operands(stage, arguments, command),
        *(_match_option(stage, one, arguments) for one in stage.arguments.options),
    }
    return next(answer for answer in (MatchAnswer.NO, MatchAnswer.UNKNOWN, MatchAnswer.YES) if answer in answers)


def _unfold_spelling(row: Program | None, arguments: Arguments) -> Arguments:
    """Write a subcommand as the table's chief spelling has it: `docker container rm` is `docker rm`."""
    if row is None or not row.same:
        return arguments
    words = [*arguments.path, *(word.text for word in arguments.operands)]
    spellings = [(" ".join(words[:count]), count) for count in (2, 1)]
    spellings += [(f"{words[0]} {one.option.name}", 1) for one in arguments.options if words]
    count, short = next(((count, row.same[text]) for text, count in spellings if text in row.same), (0, ""))
    if not short:
        return arguments
    first, *rest = short.split()
    sub = row.subcommands.get(first)
    kept = [Word(one, one) for one in (*rest, *arguments.path[count:])]
    operands = [*kept, *arguments.operands[max(0, count - len(arguments.path)) :]]
    return structs.replace(arguments, row=sub or row, path=(first,), operands=operands, dashes=None, strays=[])


def _all_operands(arguments: Arguments) -> list[Word]:
    return [*(Word(one, one) for one in arguments.path), *arguments.operands, *(arguments.rest or ())]


def _match_operands(stage: _PatternStage, given: Arguments, command: ShellCommand) -> MatchAnswer:
    """Find the operands of a pattern in order; the first is the subcommand where the program has some."""
    patterns = [word.text for word in _all_operands(stage.arguments)]
    words = _all_operands(given)
    if stage.row is not None and stage.row.queries:
        patterns = [pattern.casefold() for pattern in patterns]
        words = _list_query_words(words, given, command)
    has_subcommands = stage.row is not None and bool(stage.row.subcommands or stage.row.style == "scripts")
    anchored = _count_anchored(stage, patterns) if has_subcommands else 0
    result = MatchAnswer.YES
    at = 0
    for number, pattern in enumerate(patterns):
        if number < anchored:
            if number >= len(words):
                return MatchAnswer.UNKNOWN if given.unclear else MatchAnswer.NO
            fits = _fits(pattern, words[number])
            at = number + 1
        else:
            fits, at = _find_word(pattern, words, at, stage, command)
        if fits is MatchAnswer.NO:
            return MatchAnswer.NO
        if fits is MatchAnswer.UNKNOWN:
            result = MatchAnswer.UNKNOWN
    return result


def _count_anchored(stage: _PatternStage, patterns: Sequence[str]) -> int:
    """Return how many words of a pattern are the subcommand and its parts."""
    row, count = stage.row, 0
    while row is not None and count < len(patterns):
        sub = row.subcommands.get(patterns[count])
        count += 1
        if sub is None:
            break
        row = sub
        if sub.style == "2" and count < len(patterns):
            return count + 1
        if not sub.subcommands:
            break
    return count


def _list_query_words(words: list[Word], given: Arguments, command: ShellCommand) -> list[Word]:
    """Return the operands, and each query that a client of a database is given, whole and as its words."""
    row = given.row
    texts = [word.text for word in words]
    texts += [one.text for one in given.values(*(row.evaluates if row is not None else ()))]
    texts += [command.stdin] if command.stdin is not None else []
    lowered = [text.casefold() for text in texts]
    pieces = [*lowered, *(piece for text in lowered for piece in _QUERY_WORD.findall(text))]
    return [*(Word(piece, piece) for piece in pieces), *(word for word in words if not word.is_literal)]


def _find_word(
    pattern: str, words: Sequence[Word], start: int, stage: _PatternStage, command: ShellCommand
) -> tuple[MatchAnswer, int]:
    answers = [_fits_operand(pattern, word, stage, command) for word in words[start:]]
    if MatchAnswer.YES in answers:
        return MatchAnswer.YES, start + answers.index(MatchAnswer.YES) + 1
    if MatchAnswer.UNKNOWN in answers:
        # it may be several words
        return MatchAnswer.UNKNOWN, start + answers.index(MatchAnswer.UNKNOWN)
    return MatchAnswer.NO, start


def _fits_operand(pattern: str, word: Word, stage: _PatternStage, command: ShellCommand) -> MatchAnswer:
    """Compare an operand with a pattern; paths and modes have many spellings."""
    answer = _fits(pattern, word)
    row = stage.row
    if answer is MatchAnswer.YES or not word.is_literal or row is None:
        return answer
    if stage.program == "git" and command.arguments.path[:1] == ("push",):
        # a reference by its target: `+main`, `HEAD:main` and `refs/heads/main` are main
        target = word.text.lstrip("+").rpartition(":")[2].removeprefix("refs/heads/").removeprefix("refs/tags/")
        return _fits(pattern, cut_word(word, target))
    if row.style == "mode" and (mode := _read_mode(pattern)) is not None and mode == _read_mode(word.text):
        return MatchAnswer.YES
    if _FILE_ROLES.isdisjoint(role.rstrip("*") for role in row.operands):
        return answer
    wanted = _normalise_path(".", pattern)
    base, star, _ = word.text.rpartition("/*") if word.is_glob and word.text.endswith("/*") else (word.text, "", "")
    if word.is_glob and (not star or wanted not in _TOPS):
        return answer
    paths = (_normalise_path(folder, base or "/") for folder in command.folders if folder is not None)
    return MatchAnswer.YES if wanted in paths else answer


def _normalise_path(folder: str, path: str) -> str:
    joined = path if path.startswith("~") else join(folder, path)
    return normpath(joined).replace("//", "/")


def _read_mode(text: str) -> int | None:
    """Return the permissions that a mode of chmod gives: `777`, `0777` and `a+rwx` are the same."""
    found = _MODE.fullmatch(text)
    if found is None:
        return None
    if found["octal"]:
        return int(found["octal"], 8)
    bits = 0
    for clause in text.split(","):
        who, rights = re.split(r"[+=]", clause)
        value = sum({"r": 4, "w": 2, "x": 1}[right] for right in set(rights))
        for one in "ugo" if "a" in who else set(who):
            bits |= value << {"u": 6, "g": 3, "o": 0}[one]
    return bits


def _fits(pattern: str, word: Word) -> MatchAnswer:
    if not word.is_literal:
        return MatchAnswer.UNKNOWN
    if fnmatch.fnmatchcase(word.text, pattern) or word.text == pattern:
        return MatchAnswer.YES
    if word.is_glob and fnmatch.fnmatchcase(pattern, word.pattern):
        return MatchAnswer.UNKNOWN
    return MatchAnswer.NO


def _match_option(stage: _PatternStage, wanted: GivenOption, given: Arguments) -> MatchAnswer:
    name = wanted.option.name
    # a word that is not known may be any option
    result = MatchAnswer.UNKNOWN if given.unclear else MatchAnswer.NO
    for one in given.options:
        if one.option.name != name and not fnmatch.fnmatchcase(one.option.name, name):
            continue
        if wanted.value is None:
            return MatchAnswer.YES
        fits = _fits(wanted.value.text, one.value) if one.value is not None else MatchAnswer.NO
        if fits is MatchAnswer.YES:
            return MatchAnswer.YES
        if fits is MatchAnswer.UNKNOWN:
            result = fits
    if given.row is not None and given.row.style == "signal":
        signals = (given.row.options.get(f"-{value.text}") for value in given.values("-s", "-n", "--signal"))
        if any(one is not None and one.name == name for one in signals):
            return MatchAnswer.YES
    if stage.program == "git" and given.path[:1] == ("push",) and name in _OF_REFS:
        # `git push origin +main` is a forced push
        is_meant = any(word.text.startswith(_OF_REFS[name]) and len(word.text) > 1 for word in given.operands)
        if is_meant or (name == "--force" and given.has("--mirror")):
            return MatchAnswer.YES
    return result


UrlMatcher = Callable[[str], bool]


def find_urls(text: str) -> tuple[str, ...]:
    """Return the URLs of the web in a text."""
    return tuple(dict.fromkeys(found.rstrip(_BEHIND) for found in _URL.findall(text)))


def add_url(found: EffectsBuilder, url: str) -> None:
    """Add a URL that is fetched; one that may lead elsewhere makes the others uncertain."""
    found.add("urls", (url,))
    parts = _split_url(url)
    host = (parts.hostname or "") if parts is not None and parts.scheme.lower() in _PORTS else ""
    # other alphabets, escapes and numbers have more than one spelling
    is_number = _NUMERIC.fullmatch(host.rstrip(".")) and not _ADDRESS.fullmatch(host.rstrip("."))
    if not host.isascii() or not host or "%" in host or ":" in host or is_number:
        found.leave_open("urls", "reads")


def _split_url(url: str) -> SplitResult | None:
    # browsers and programs parse these differently
    if "\\" in url or any(sign.isspace() or not sign.isprintable() for sign in url):
        return None
    try:
        return urlsplit(url)
    except ValueError:
        return None


def compile_urls(patterns: Iterable[str]) -> UrlMatcher:
    """Compile patterns: a host, which means everything below it as well, or the beginning of a URL.

    `*` stands for anything. `example.com` means `https://api.example.com/x`, too; `https://example.com/admin/` means
    every URL that begins so; without a scheme, `http` and `https` match.

    Raises:
        ConfigError: A pattern is empty.
    """
    compiled = [_compile_url(pattern) for pattern in patterns]

    def matches(url: str) -> bool:
        parts = _split_url(url)
        # a URL that cannot be parsed may lead anywhere
        return parts is None or any(one(parts) for one in compiled)

    return matches


def _compile_url(pattern: str) -> Callable[[SplitResult], bool]:
    bare = pattern.strip()
    if not bare:
        raise ConfigError('a URL pattern is empty; write a host such as "example.com"')
    scheme, has_scheme, rest = bare.rpartition("://")
    host, slash, path = rest.partition("/")
    is_scheme = _compile_globs(scheme) if has_scheme else None
    found = _WITH_PORT.fullmatch(host)
    # the port counts where the pattern has one
    has_port = found is not None
    bare_host = f"{found[1] or found[2]}:{found[3]}" if found else host.strip("[]")
    is_host = _compile_globs(bare_host, f"*.{bare_host}")
    is_path = _compile_globs(f"/{path}", f"/{path}*") if slash else None

    def matches(parts: SplitResult) -> bool:
        name = (parts.hostname or "").rstrip(".")
        try:
            named = f"{name}:{parts.port or _PORTS.get(parts.scheme.lower(), '')}" if has_port else name
        except ValueError:
            return True
        if not is_host(named) or (is_scheme is not None and not is_scheme(parts.scheme)):
            return False
        whole = f"{parts.path or '/'}{f'?{parts.query}' if parts.query else ''}"
        # a path with escapes, or one that goes up again, may be any path
        return is_path is None or is_path(whole) or "%" in parts.path or "/." in parts.path or "//" in parts.path

    return matches


def _compile_globs(*patterns: str) -> Callable[[str], bool]:
    compiled = [re.compile(fnmatch.translate(pattern), re.IGNORECASE) for pattern in patterns]
    return lambda text: any(one.match(text) for one in compiled)
