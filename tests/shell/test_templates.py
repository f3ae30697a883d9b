"""Templates against the real shells: every value arrives whole, as one word, and nothing else runs."""

import contextlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hookline.shell.templates import BoundLine, TemplateError, compile_line, fill, has_template

# one name for each program that is there: sh is one of the others
SHELLS = list(
    {
        os.path.realpath(found): name for name in ("sh", "busybox", "dash", "bash") if (found := shutil.which(name))
    }.values()
)
pytestmark = pytest.mark.skipif(not SHELLS, reason="needs a POSIX shell")

PRINTF = shutil.which("printf") or "/usr/bin/printf"
SHOW = f'{PRINTF} "%s\\0"'
JOIN = f'{PRINTF} "%s."'

# A line, and the arguments that its programs must see. SHOW prints each argument and a NUL, JOIN one and a dot.
Expected = Callable[[str, str], list[str]]
PLACES: Mapping[str, tuple[str, Expected]] = {
    "bare": ("SHOW {{x}}", lambda x, _: [x]),
    "spaced": ("SHOW {{ x }}", lambda x, _: [x]),
    "glued": ("SHOW --f={{x}}", lambda x, _: [f"--f={x}"]),
    "inside a word": ("SHOW a{{x}}b", lambda x, _: [f"a{x}b"]),
    "single quotes": ("SHOW '{{x}}'", lambda x, _: [x]),
    "single quotes, mixed": ("SHOW '$(a) `b` \\{{x}}\\ {{y}}'", lambda x, y: [f"$(a) `b` \\{x}\\ {y}"]),
    "double quotes": ('SHOW "{{x}}"', lambda x, _: [x]),
    "double quotes, mixed": ('SHOW "a\\"b \\${{x}}c {{y}}\\\\{{x}}"', lambda x, y: [f'a"b ${x}c {y}\\{x}']),
    "all quotings": ("SHOW {{x}}'{{x}}'\"{{x}}\"", lambda x, _: [x * 3]),
    "two in a word": ("SHOW {{x}}{{y}}", lambda x, y: [x + y]),
    "two words": ("SHOW {{x}} {{y}}", lambda x, y: [x, y]),
    "braces around it": ("SHOW {{{x}}}", lambda x, _: [f"{{{x}}}"]),
    "after a tilde": ("SHOW ~{{x}}", lambda x, _: [f"~{x}"]),
    "substitution": ('SHOW "$(JOIN {{x}})"', lambda x, _: [f"{x}."]),
    "substitution, single": ("SHOW \"$(JOIN '{{x}}')\"", lambda x, _: [f"{x}."]),
    "substitution, double": ('SHOW "$(JOIN "{{x}}")"', lambda x, _: [f"{x}."]),
    "substitution twice": ('SHOW "$(JOIN "$(JOIN {{x}})")"', lambda x, _: [f"{x}.."]),
    "pipeline": ("SHOW {{x}} | cat | cat", lambda x, _: [x]),
    "list": ("false || SHOW {{x}} && SHOW {{y}} & wait", lambda x, y: [x, y]),
    "subshell": ("(SHOW {{x}})", lambda x, _: [x]),
    "group": ("{ SHOW {{x}}; }", lambda x, _: [x]),
    "after set": ('set -- a b; SHOW {{x}} "$1" "$#"', lambda x, _: [x, "a", "2"]),
    "function": ('f() { SHOW {{x}} "$1"; shift; SHOW {{x}}; }; f c', lambda x, _: [x, "c", x]),
    "argument of a function": ('f() { SHOW "$1"; }; f {{x}}', lambda x, _: [x]),
    "assignment": ('v={{x}}; SHOW "$v"', lambda x, _: [x]),
    "environment": ("v={{x}} sh -c 'SHOW \"$v\"'", lambda x, _: [x]),
    "argument of an inner program": ("sh -c 'SHOW \"$1\"' _ {{x}}", lambda x, _: [x]),
    "behind a wrapper": ("env A=b nice -n 1 SHOW {{x}}", lambda x, _: [x]),
    "loop": ('for v in {{x}} {{y}}; do SHOW "$v"; done', lambda x, y: [x, y]),
    "condition": ("if [ {{x}} = {{x}} ] && [ ! -z {{x}}x ]; then SHOW {{x}}; fi", lambda x, _: [x]),
    "case": ("case {{x}} in {{x}}) SHOW {{y}};; *) SHOW no;; esac", lambda _, y: [y]),
    "case, quoted": ("case \"{{x}}\" in '{{x}}') SHOW {{y}};; *) SHOW no;; esac", lambda _, y: [y]),
    "next to a comment": ("SHOW {{x}} # '{{y}} \"{{x}}\nSHOW {{y}}", lambda x, y: [x, y]),
    "after a here-document": ("cat <<'E'\n'\nE\nSHOW {{x}}", lambda x, _: ["'\n" + x]),
    "after a continued row": ("SHOW \\\n  {{x}} \\\n  {{y}}", lambda x, y: [x, y]),
    "after settings": ("set -eu; IFS=abc; SHOW {{x}}", lambda x, _: [x]),
}
HOSTILE = (
    "",
    " ",
    "\n",
    "a b",
    "$(touch canary)",
    "`touch canary`",
    "'; touch canary; '",
    '"; touch canary; "',
    "'\"'\"$(touch canary)",
    "a\ntouch canary\n",
    "; touch canary #",
    "a[$(touch canary)]",
    "-va[$(touch canary)]",
    "$((a[$(touch canary)]))",
    "&& touch canary",
    "| touch canary",
    "> canary",
    "${IFS}",
    "${__hookline_1}",
    "$1 $@ $*",
    "{{x}} {{y}}",
    "{a,b} {1..9}",
    "*",
    "/*",
    "~",
    "~root",
    "-rf",
    "--",
    "\\",
    "\\\\\\'",
    "!!",
    "#",
    "=x",
    "%s%n\\0\\c",
    "é√🎣 \u202e",
    "\t\v\r\x1b[31m",
    "\x01\x02\x1e\x1f\x7f",
    "\0",
    "a\0b",
    "\udcff\udc80",
    "\ud800",
    "trailing\n\n\n",
)
FINAL = MappingProxyType({"LC_ALL": "C.UTF-8", "PATH": os.environ["PATH"]})

values = st.one_of(
    st.sampled_from(HOSTILE),
    st.text(alphabet="'\"\\$`(){}[]<>|&;#*?~!=-% \n\tab\x01\x7f", max_size=30),
    st.text(st.characters(exclude_categories=()), max_size=30),
)


def received(text: str) -> str:
    """What a program sees of a value: no NUL, and of lone surrogates only those that stand for bytes."""
    return re.sub("[\ud800-\udc7f\udd00-\udfff]", "\ufffd", text.replace("\0", "\u2400"))


def encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def written(line: str) -> str:
    return line.replace("SHOW", SHOW).replace("JOIN", JOIN)


def run(
    shell: str, bound: BoundLine, *, cwd: Path, env: Mapping[str, str] = FINAL
) -> subprocess.CompletedProcess[bytes]:
    program = [shell, "sh"] if shell == "busybox" else [shell]
    argv = [*program, "-c", bound.script, "hookline", *bound.arguments]
    if bound.long_values:
        folder = cwd / "descriptor"
        folder.mkdir(exist_ok=True)
        (folder / "3").write_bytes(bound.long_values)
        argv = ["sh", "-c", 'exec 3<"$0"; exec "$@"', str(folder / "3"), *argv]
    raw = [encoded(argument) for argument in argv]
    return subprocess.run(raw, cwd=cwd, env=env, capture_output=True, timeout=60, check=False)


def assert_all_arrive(shell: str, names: Sequence[str], *, x: str, y: str, cwd: Path) -> None:
    """Run many lines in one shell, each in a subshell of its own, and compare what their programs saw."""
    line = "\n".join(f"(\n{written(PLACES[name][0])}\n)\n{SHOW} '=={name}'" for name in names)
    result = run(shell, compile_line(line).bind({"x": x, "y": y}), cwd=cwd)
    output = result.stdout
    for name in names:
        seen, _, output = output.partition(encoded(f"=={name}\0"))
        expected = [encoded(item) + b"\0" for item in PLACES[name][1](received(x), received(y))]
        assert seen == b"".join(expected), (name, result.stderr)
    assert not (cwd / "canary").exists()


@pytest.mark.slow
@pytest.mark.spec("A-04", "A-05", "A-25", "P-20")
@pytest.mark.parametrize("shell", SHELLS)
def test_every_hostile_value_arrives_whole_in_every_place(shell: str, tmp_path: Path) -> None:
    for x, y in zip(HOSTILE[::3], HOSTILE[1::3], strict=False):
        assert_all_arrive(shell, list(PLACES), x=x, y=y, cwd=tmp_path)


@pytest.mark.slow
@pytest.mark.spec("A-05", "A-25", "P-20")
@settings(max_examples=25, database=None)
@given(shell=st.sampled_from(SHELLS), x=values, y=values)
def test_any_value_arrives_whole_in_every_place(
    tmp_path_factory: pytest.TempPathFactory, shell: str, x: str, y: str
) -> None:
    assert_all_arrive(shell, list(PLACES), x=x, y=y, cwd=tmp_path_factory.mktemp("hostile"))


@pytest.mark.spec("A-05", "A-25", "P-20")
@settings(max_examples=40, database=None)
@given(
    shell=st.sampled_from(SHELLS),
    name=values.filter(lambda text: "/" not in text and received(text) not in {"", ".", ".."}),
)
def test_redirection_goes_to_the_file_of_exactly_that_name(
    tmp_path_factory: pytest.TempPathFactory, shell: str, name: str
) -> None:
    folder = tmp_path_factory.mktemp("target")

    run(shell, compile_line("echo a > {{name}}; echo b >> '{{name}}'").bind({"name": name}), cwd=folder)

    (file,) = folder.iterdir()
    assert os.fsencode(file.name) == encoded(received(name))
    assert file.read_text() == "a\nb\n"


@pytest.mark.spec("A-05", "P-20")
@pytest.mark.skipif("bash" not in SHELLS, reason="needs bash")
@pytest.mark.parametrize("value", HOSTILE)
def test_bash_takes_values_in_its_own_syntax_as_they_are(value: str, tmp_path: Path) -> None:
    line = """
        [[ {{x}} == {{x}} ]] && [[ a{{x}} =~ ^a{{x}}$ ]] && echo same
        cat <<< "{{x}}"
        cat <(printf %s {{x}}) 2>&1 |& cat
        echo done {{x}} &> /dev/null
    """
    result = run("bash", compile_line(line).bind({"x": value}), cwd=tmp_path)

    assert result.stdout == b"same\n" + encoded(received(value)) + b"\n" + encoded(received(value))
    assert not (tmp_path / "canary").exists()


@pytest.mark.spec("A-05")
@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize(
    "value",
    [
        "x" * 200_000,
        "y" * 1_000_000 + "\n\n\n",
        "\n" * 100_000,
        " * $(touch canary)\t\\c\\0101%s'\"\n" * 20_000,
        "".join(map(chr, range(1, 128))) * 2_000,
        "é√🎣\udcff" * 40_000,
        "\x1e\x01\x7f\\" * 30_000,
        "a" * 70_000 + "\0\ud800/",
    ],
    ids=["200 KB", "1 MB", "newlines", "syntax", "ASCII", "unicode", "separators", "replaced"],
)
def test_long_values_arrive_byte_for_byte(shell: str, value: str, tmp_path: Path) -> None:
    template = compile_line("printf %s {{x}} > whole; printf %s '{{y}}' | cat > other; printf %s \"{{z}}\" > short")
    bound = template.bind({"x": value, "y": value[::-1] + "\n", "z": "last\n"})

    result = run(shell, bound, cwd=tmp_path)

    assert (result.stdout, result.stderr, result.returncode) == (b"", b"", 0)
    assert (tmp_path / "whole").read_bytes() == encoded(received(value))
    assert (tmp_path / "other").read_bytes() == encoded(received(value[::-1] + "\n"))
    assert (tmp_path / "short").read_bytes() == b"last\n"
    assert not (tmp_path / "canary").exists()


@pytest.mark.spec("A-05")
def test_many_values_that_are_too_much_together_still_arrive(tmp_path: Path) -> None:
    many = {f"v{number}": f"{number}" * 60_000 for number in range(10)}
    bound = compile_line("printf %s " + " ".join(f"{{{{{name}}}}}" for name in many) + " > all").bind(many)

    run("sh", bound, cwd=tmp_path)

    assert (tmp_path / "all").read_text() == "".join(many.values())
    assert sum(map(len, bound.arguments)) <= 512 * 1024
    assert bound.long_values


def test_line_whose_long_values_cannot_be_read_does_not_run(tmp_path: Path) -> None:
    bound = compile_line("touch ran; : {{x}}").bind({"x": "x" * 70_000})

    result = run("sh", BoundLine(bound.script, bound.arguments), cwd=tmp_path)

    assert result.returncode == 126
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("size", [5, 100_000])
@pytest.mark.parametrize("shell", SHELLS)
def test_values_are_not_passed_on_in_the_environment_nor_on_descriptors(shell: str, size: int, tmp_path: Path) -> None:
    bound = compile_line("env; (: <&3) 2>&- || echo closed; : {{x}}").bind({"x": "x" * size})
    inherited = {"__hookline_1": "old", "__hookline_2": "old", **FINAL}

    result = run(shell, bound, cwd=tmp_path, env=inherited)

    assert b"__hookline_1" not in result.stdout
    assert result.stdout.endswith(b"closed\n")


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("size", [1, 100_000])
@pytest.mark.parametrize(
    ("line", "output", "status"),
    [
        ("exit 3 # {{x}}", "", 3),
        ('echo $? $# "$*" $0; : {{x}}', "0 0  hookline\n", 0),
        ("false {{x}}", "", 1),
        (": {{x}} && exit 2", "", 2),
        (": {{x}}\n\necho $LINENO", None, 0),
        ("a='1  2'; echo $a; : {{x}}", "1 2\n", 0),
        ("echo *; : {{x}}", None, 0),
        ("nowhere-to-be-found {{x}} 2>/dev/null", "", 127),
        (": {{x}}; echo '{{.Names}} {{json .}} {{end}} {{- y -}} {x} {{1}} {{}}'", None, 0),
        ("! : {{x}}", "", 1),
        ("trap 'echo bye' EXIT; : {{x}}; exit 4", "bye\n", 4),
        ("f() { return 5; }; f {{x}}", "", 5),
        ('echo a | while read -r v; do echo "<$v>"; done; : {{x}}', "<a>\n", 0),
        ("# only a comment with {{x}}", "", 0),
    ],
)  # fmt: skip
def test_line_means_what_it_meant_without_templates(
    shell: str, size: int, line: str, output: str | None, status: int, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    plain = run(shell, BoundLine(line.replace("{{x}}", "x")), cwd=tmp_path)

    result = run(shell, compile_line(line).bind({"x": "x" * size}), cwd=tmp_path)

    seen = result.stdout.replace(b"descriptor file", b"file")
    assert (seen, result.returncode) == (plain.stdout, plain.returncode)
    assert (output is None or result.stdout == output.encode(), result.returncode) == (True, status)


@pytest.mark.spec("A-18", "A-04")
@pytest.mark.parametrize("shell", SHELLS)
def test_lines_of_the_kind_people_write_do_what_they_say(shell: str, tmp_path: Path) -> None:
    tool = tmp_path / "tool"
    tool.write_text('#!/bin/sh\nprintf "<%s>" "$0" "$@" >> calls\necho >> calls\n')
    tool.chmod(0o755)
    for name in ("formatter", "notifier", "checker"):
        (tmp_path / name).symlink_to(tool)
    env = {**FINAL, "PATH": f"{tmp_path}:{FINAL['PATH']}", "HOME": str(tmp_path)}
    event = {
        "tool_name": "write_file",
        "tool_args": {"file_path": "a b/$(touch canary).py", "command": "rm -rf 'x'; touch canary"},
        "result": "it's done\n" * 100,
        "message": '#1: `touch canary` "finished"',
    }
    lines = (
        "formatter {{tool_args.file_path}} 2>/dev/null || true",
        "nowhere-to-be-found {{tool_args.file_path}} 2>/dev/null || true",
        "echo '[$(date)] SHELL: {{tool_args.command}}' >> ~/audit.log",
        "echo '[$(date)] TOOL: {{tool_name}} - {{result}}' | head -c 60 >> ~/audit.log",
        "notifier send '#agents' '{{message}}'",
        f"{tmp_path}/checker '{{{{tool_args.command}}}}'",
        "notifier 'Tool completed: {{tool_name}}'",
        'notifier "{{tool_args}}"',
    )

    codes = [run(shell, compile_line(line).bind(event), cwd=tmp_path, env=env).returncode for line in lines]

    assert codes == [0] * len(lines)
    assert (tmp_path / "audit.log").read_text() == (
        "[$(date)] SHELL: rm -rf 'x'; touch canary\n[$(date)] TOOL: write_file - it's done\nit's done\nit's done\ni"
    )
    assert (tmp_path / "calls").read_text() == (
        f"<{tmp_path}/formatter><a b/$(touch canary).py>\n"
        f'<{tmp_path}/notifier><send><#agents><#1: `touch canary` "finished">\n'
        f"<{tmp_path}/checker><rm -rf 'x'; touch canary>\n"
        f"<{tmp_path}/notifier><Tool completed: write_file>\n"
        f"<{tmp_path}/notifier>"
        '<{"file_path":"a b/$(touch canary).py","command":"rm -rf \'x\'; touch canary"}>\n'
    )
    assert not (tmp_path / "canary").exists()


@pytest.mark.spec("A-05", "P-20")
@given(
    name=st.sampled_from(sorted(PLACES)),
    x=st.text("BCDGKQVWXZ0123456789", min_size=8, max_size=60),
    size=st.sampled_from([1, 5_000]),
)
def test_no_part_of_a_value_is_in_the_script(name: str, x: str, size: int) -> None:
    template = compile_line(PLACES[name][0])

    script = template.bind({"x": x * size, "y": x[::-1]}).script

    assert all(x[start : start + 8] not in script for start in range(len(x) - 7))
    assert script == template.bind({"x": "q" * len(x) * size, "y": "q" * len(x)}).script


@pytest.mark.spec("A-04")
@pytest.mark.parametrize(
    ("text", "filled"),
    [
        ("{{tool_name}}", "shell"),
        ("{{ tool_name }}!", "shell!"),
        ("{{tool_args}}", '{"path":"é","n":[1,{"a":null}],"on":true}'),
        ("{{tool_args.path}}", "é"),
        ("{{tool_args.n.0}}", "1"),
        ("{{tool_args.n.1}}", '{"a":null}'),
        ("{{tool_args.n.1.a}}|{{tool_args.n.7}}|{{tool_args.n.x}}|{{tool_args.n.99999999999}}", "|||"),
        ("{{tool_args.path.deeper}}|{{missing}}|{{missing.at.all}}", "||"),
        ("{{tool_args.on}} {{count}} {{ratio}} {{off}}", "true 12 0.5 false"),
        ("{{nothing}}|{{empty}}|{{list}}|{{object}}", "||[]|{}"),
        ("{{dashed-name}} {{_private}} {{Upper9}}", "d p u"),
        ("{{template}}", "{{tool_name}}"),
        ("{{{tool_name}}} {tool_name} {{}} {{ }} {{.Names}} {{json .}} {{9}} {{a b}} {{-x-}}", None),
        ("{{range .Ports}}{{.}}{{else}}-{{end}}", "{{range .Ports}}{{.}}{{else}}-{{end}}"),
        ("{{end.at}}|{{ else }}", "|{{ else }}"),
        ("a\n{{tool_name\n}}", "a\n{{tool_name\n}}"),
        ("", ""),
        ("{{zero}}{{surrogate}}", "\u2400\udcff\ufffd"),
    ],
)
def test_fill_puts_values_into_plain_text(text: str, filled: str | None) -> None:
    event = {
        "tool_name": "shell",
        "tool_args": MappingProxyType({"path": "é", "n": [1, {"a": None}], "on": True}),
        "count": 12,
        "ratio": 0.5,
        "off": False,
        "nothing": None,
        "empty": "",
        "list": [],
        "object": {},
        "dashed-name": "d",
        "_private": "p",
        "Upper9": "u",
        "template": "{{tool_name}}",
        "zero": "\0",
        "surrogate": "\udcff\ud800",
    }

    expected = "{shell}" + text.removeprefix("{{{tool_name}}}") if filled is None else filled

    assert fill(text, event) == expected
    assert has_template(text) == (fill(text, {}) != text)


@pytest.mark.spec("A-04")
def test_line_and_plain_text_give_a_value_the_same_form(tmp_path: Path) -> None:
    event = {"a": {"b": [1, 2.5, None, "x\ny"]}, "t": True, "n": None}
    text = "{{a}} {{a.b}} {{a.b.3}} {{t}} {{n}} {{a.b.9}}"

    result = run("sh", compile_line(f"printf %s '{text}'").bind(event), cwd=tmp_path)

    assert result.stdout.decode() == fill(text, event)


def test_line_without_templates_is_its_own_script() -> None:
    for line in ("", "echo 'unclosed", "eval $x; `a`", "docker ps --format '{{.Names}}{{end}}'", "a\0b", "\ud800"):
        assert compile_line(line).bind({"x": "y"}) == BoundLine(line)


@settings(database=None)
@given(st.text(st.sampled_from("ab $`'\"\\(){}[]<>|&;#!=-\n{{x}}"), max_size=80))
def test_any_text_is_either_read_or_refused(line: str) -> None:
    for text in (line, f"{line}{{{{x}}}}", f"echo {{{{x}}}}{line}"):
        with contextlib.suppress(TemplateError):
            bound = compile_line(text).bind({"x": "value"})
            assert has_template(text) or bound.script == text


PIECES = (
    "SHOW", "SHOW", " ", " ", " ", "{{x}}", "{{x}}", "{{x}}", "'", '"', "'a'", '"$v"', "a", "=", ";", "\n", "|", "&&",
    "(", ")", "{ ", "; }", '"$(', ')"', "# c\n", "\\", "\\\n", "$v", "v=", "if :; then ", "; fi", "case a in a) ",
    ";; esac", "<<E\n", "\nE\n", "> out", "2>&1", "$(( 1 ))", "${v}", "`SHOW`", "[ -n ", " ]", "f() { ", "$'b'", "\t",
)  # fmt: skip


@pytest.mark.spec("A-05", "A-25", "P-20")
@settings(max_examples=60, database=None)
@given(shell=st.sampled_from(SHELLS), pieces=st.lists(st.sampled_from(PIECES), max_size=14))
def test_whatever_is_accepted_keeps_the_value_whole(
    tmp_path_factory: pytest.TempPathFactory, shell: str, pieces: Sequence[str]
) -> None:
    line = "SHOW {{x}}" + "".join(pieces)
    folder = tmp_path_factory.mktemp("pieces")
    try:
        template = compile_line(line.replace("SHOW", "./show"))
    except TemplateError:
        return
    (folder / "show").write_text(f'#!/bin/sh\nfor v in "$@"; do {SHOW} "$v" >> seen; done\n')
    (folder / "show").chmod(0o755)

    run(shell, template.bind({"x": "one $(touch canary) 'two"}), cwd=folder)

    seen = (folder / "seen").read_bytes() if (folder / "seen").exists() else b""
    assert seen.count(b"one") == seen.count(b"one $(touch canary) 'two")
    assert not (folder / "canary").exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    "grow",
    [
        lambda n: "echo " + "{{x}} 'a' \"$b\" " * n,
        lambda n: "echo " + "$(a {{x}}) " * n,
        lambda n: "(" * n + "{{x}}",
        lambda n: '"$(' * n + "{{x}}",
        lambda n: "env " * n + "echo {{x}}",
        lambda n: "find . -exec " * n + "echo a; echo {{x}}",
        lambda n: "x sh -c " * n + "{{x}}",
        lambda n: ";".join(f"v{i + 1}=$v{i}" for i in range(n)) + "; v0={{x}}; echo $v0",
        lambda n: "a=(" * n + "{{x}}",
        lambda n: "${a:-" * n + "{{x}}",
        lambda n: "{{ " * n + "x.y" * n,
    ],
)
def test_reading_takes_steps_in_proportion_to_the_line(grow: Callable[[int], str]) -> None:
    def count_calls(line: str) -> int:
        calls = 0

        def count(*_: object) -> None:
            nonlocal calls
            calls += 1

        sys.setprofile(count)
        try:
            with contextlib.suppress(TemplateError):
                compile_line(line)
        finally:
            sys.setprofile(None)
        return calls

    # eight times the text; quadratic reading would take sixty-four times as many
    assert count_calls(grow(4_000)) < 12 * count_calls(grow(500)) + 1_000
