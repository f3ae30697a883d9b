"""A script started from vetted bytes does not notice."""

import asyncio
import os
import shutil
import venv
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from hookline.kinds.command.command import Command
from hookline.model.event import Event, EventName
from hookline.model.exchange import Reply, Request
from hookline.model.hook import Hook, Source
from hookline.process.bootstrap import inline_code_index, parse_shebang, program_stem, script_index

needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="Node is not installed")

PYTHON = '''\
"""Says who it is."""
from __future__ import annotations
import json, os, sys
import beside
print(json.dumps([
    __file__, sys.argv, sys.path[0], __name__, __doc__, str(__spec__), __package__, type(__loader__).__name__,
    beside.WORD, sorted(name for name in globals()), sys.stdin.read(), sys.modules["__main__"].__dict__ is globals(),
    sorted(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else [],
]))
'''
BASH = """\
#!/usr/bin/env bash
echo "$0|$#|$*|${BASH_SOURCE[0]}|$BASH_SOURCE|$LINENO"
(return 0 2>/dev/null) && echo sourced
if [[ "${BASH_SOURCE[0]}" == "$0" ]]; then echo main; fi
source "$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/beside.sh"
where() { echo "in ${FUNCNAME[0]} ${BASH_SOURCE[0]} $LINENO"; }
where
cat
trap 'echo bye' EXIT
missing-program
echo "déjà \\\\n \\$x 'y' \\"z\\""
set -euo pipefail
false | true
echo not reached
"""
SH = """\
echo "$0|$#|$*"
. "$(dirname "$0")/beside.sh"
f() { return 3; }
f || echo "returned $?"
cat
printf '%s\\n' "a\\\\b"
set -e
(exit 7)
echo not reached
"""
NODE = """\
#!/usr/bin/env node
const beside = require("./beside.js");
console.log(JSON.stringify([
  __filename, __dirname, process.argv, process.execArgv, require.main === module, module.id, module.parent === null,
  module.filename, module.paths[0], beside.word, beside.main === module, require("fs").readFileSync(0, "utf8"),
]));
if (process.argv[2] === "throw") { setTimeout(() => { throw new Error("late"); }, 1); }
"""
ES_MODULE = """\
import beside from "./beside.cjs";
import { readFileSync } from "node:fs";
console.log(JSON.stringify([import.meta.url, process.argv, beside.word, readFileSync(0, "utf8")]));
await Promise.resolve();
process.exitCode = 4;
"""


def folder(tmp_path: Path) -> Path:
    """Make a project whose name is hard to quote."""
    place = tmp_path / "it's a project"
    files = {
        "x.py": PYTHON,
        "beside.py": "WORD = 'beside'\n",
        "fails.py": "import json\n\ndef inner():\n    raise ValueError('no')\n\ninner()\n",
        "broken.py": "print('never')\nx = = 1\n",
        "exits.py": "import sys\nsys.exit('with a reason')\n",
        "bash.sh": BASH,
        "sh.sh": SH,
        "beside.sh": 'echo "beside $0"\n',
        "x.js": NODE,
        "beside.js": "exports.word = 'beside'; exports.main = require.main;\n",
        "x.mjs": ES_MODULE,
        "beside.cjs": "exports.word = 'beside';\n",
        "module/package.json": '{"type": "module"}',
        "module/x.js": ES_MODULE,
        "module/beside.cjs": "exports.word = 'beside';\n",
    }
    for name, text in files.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(text, "utf-8")
        (place / name).chmod(0o755)
    return place


def ask(hook: Hook, *, sealed: Mapping[str, bytes] | None, cwd: str) -> Reply:
    request = Request(event=Event(name=EventName.BEFORE_TOOL, cwd=cwd), document={"event": "before_tool"})
    request.sealed = sealed
    return asyncio.run(Command().call(hook, request, timeout=30))


def both(place: Path, file: str, words: Sequence[str]) -> tuple[Reply, Reply]:
    """Run a hook as it is and from vetted bytes."""
    hook = Hook(id="x", command=words[0], args=tuple(words[1:]), timeout=30)
    sealed = {str(place / file): (place / file).read_bytes()}
    return ask(hook, sealed=None, cwd=str(place)), ask(hook, sealed=sealed, cwd=str(place))


@pytest.mark.parametrize(
    "options", [(), ("-u", "-X", "utf8"), ("-Wignore", "-B"), ("-W", "ignore", "-E"), ("-P",), ("-IS",)]
)
def test_python_script_finds_everything_as_usual(tmp_path: Path, options: tuple[str, ...]) -> None:
    place = folder(tmp_path)
    for name in (str(place / "x.py"), "x.py"):
        plain, sealed = both(place, "x.py", ("python3", *options, name, "a b", "-c", "--", "x"))

        assert sealed == plain
        assert b"beside" in plain.stdout or "-P" in options or "-IS" in options


@pytest.mark.parametrize("file", ["fails.py", "broken.py", "exits.py"])
def test_python_script_fails_with_its_own_words(tmp_path: Path, file: str) -> None:
    place = folder(tmp_path)

    plain, sealed = both(place, file, ("python3", str(place / file)))

    assert plain.exit_code == 1
    assert sealed == plain


def test_archive_of_python_code_runs_from_a_copy(tmp_path: Path) -> None:
    place = folder(tmp_path)
    with zipfile.ZipFile(place / "app.pyz", "w") as archive:
        archive.writestr("__main__.py", "import sys; print(sys.argv[1:])")

    plain, sealed = both(place, "app.pyz", ("python3", str(place / "app.pyz"), "a"))

    assert plain.stdout == b"['a']\n"
    assert sealed == plain


@pytest.mark.parametrize("words", [("bash", "PLACE/bash.sh"), ("bash", "-u", "bash.sh"), ("PLACE/bash.sh",)])
def test_bash_script_finds_everything_as_usual(tmp_path: Path, words: tuple[str, ...]) -> None:
    place = folder(tmp_path)
    named = [word.replace("PLACE", str(place)) for word in words]

    plain, sealed = both(place, "bash.sh", (*named, "a b", "-c"))

    assert b"main\nbeside" in plain.stdout
    assert b"in where" in plain.stdout
    assert plain.stdout.endswith(b"bye\n")
    assert plain.exit_code == 1
    assert sealed == plain


@pytest.mark.parametrize("words", [("sh", "PLACE/sh.sh"), ("sh", "-u", "./sh.sh"), ("PLACE/sh.sh",)])
def test_sh_script_finds_everything_as_usual(tmp_path: Path, words: tuple[str, ...]) -> None:
    place = folder(tmp_path)
    named = [word.replace("PLACE", str(place)) for word in words]

    plain, sealed = both(place, "sh.sh", (*named, "a b", "-c"))

    assert b"returned 3" in plain.stdout
    assert plain.exit_code == 7
    assert sealed == plain


@needs_node
@pytest.mark.parametrize(
    "words", [("node", "PLACE/x.js"), ("node", "--no-warnings", "x.js"), ("node", "x"), ("PLACE/x.js",)]
)
@pytest.mark.parametrize("argument", ["a", "throw"])
def test_node_script_finds_everything_as_usual(tmp_path: Path, words: tuple[str, ...], argument: str) -> None:
    place = folder(tmp_path)
    named = [word.replace("PLACE", str(place)) for word in words]

    plain, sealed = both(place, "x.js", (*named, argument, "--b"))

    assert b"beside" in plain.stdout
    assert sealed == plain


@needs_node
@pytest.mark.parametrize("file", ["x.mjs", "module/x.js"])
def test_es_module_finds_everything_as_usual(tmp_path: Path, file: str) -> None:
    place = folder(tmp_path)

    plain, sealed = both(place, file, ("node", str(place / file), "a"))

    assert plain.exit_code == 4
    assert sealed == plain


def test_script_of_another_interpreter_keeps_its_name_and_arguments(tmp_path: Path) -> None:
    if not Path("/usr/bin/perl").exists():
        pytest.skip("Perl is not installed")
    place = folder(tmp_path)
    (place / "x.pl").write_text('use File::Basename; print basename($0), " @ARGV\\n";')

    plain, sealed = both(place, "x.pl", ("/usr/bin/perl", str(place / "x.pl"), "a"))

    assert plain.stdout == b"x.pl a\n"
    assert sealed == plain


def test_program_of_the_project_runs_its_script_from_vetted_bytes_too(tmp_path: Path) -> None:
    tool = tmp_path / "bash"
    shutil.copy(shutil.which("bash") or "", tool)
    script = tmp_path / "x.sh"
    script.write_text('echo "good $0"\n')
    sealed = {str(path): path.read_bytes() for path in (tool, script)}
    for path in (tool, script):
        path.unlink()
        path.write_text("#!/bin/sh\necho evil\n")
        path.chmod(0o755)

    reply = ask(Hook(id="x", command=str(tool), args=(str(script),)), sealed=sealed, cwd=str(tmp_path))

    assert reply.stdout.decode() == f"good {script}\n", reply


def test_interpreter_that_is_a_script_of_the_project_is_refused(tmp_path: Path) -> None:
    tool, script = tmp_path / "tool", tmp_path / "x"
    tool.write_text("#!/bin/sh\n")
    script.write_text(f"#!{tool}\n")
    script.chmod(0o755)
    sealed = {str(path): path.read_bytes() for path in (tool, script)}

    reply = ask(Hook(id="x", command=str(script)), sealed=sealed, cwd=str(tmp_path))

    assert reply.failure is not None
    assert "is itself a script of the project" in reply.failure.message


def test_script_that_may_not_be_executed_is_refused_as_ever(tmp_path: Path) -> None:
    script = tmp_path / "x"
    script.write_text("#!/bin/sh\necho ran\n")
    hook = Hook(id="x", command=str(script))

    for sealed in (None, {str(script): script.read_bytes()}):
        reply = ask(hook, sealed=sealed, cwd=str(tmp_path))

        assert reply.failure is not None
        assert reply.failure.message == f'"{script}" may not be executed: chmod +x it, or name its interpreter first'


def test_interpreter_nobody_has_is_named(tmp_path: Path) -> None:
    script = tmp_path / "x"
    script.write_text("#!/usr/bin/env no-such-interpreter\n")
    script.chmod(0o755)

    reply = ask(Hook(id="x", command=str(script)), sealed={str(script): script.read_bytes()}, cwd=str(tmp_path))

    assert reply.failure is not None
    assert reply.failure.message == 'program "no-such-interpreter" not found on PATH'


# Reading commands


@pytest.mark.parametrize(
    ("line", "place"),
    [
        ("python3 x.py", 1),
        ("/usr/bin/python3.11 -u x.py a", 2),
        ("python3 -W ignore -Xutf8 x.py", 4),
        ("python3 -uW ignore x.py", 3),
        ("python3 -m x", None),
        ("python3 -c x y", None),
        ("python3 -", None),
        ("python3", None),
        ("python3 -- x.py", 2),
        ("python3 --check-hash-based-pycs always x.py", 3),
        ("node --title a x.js", 3),
        ("node --test x.js", None),
        ("bash - x.sh", 2),
        ("bash -n x.sh", None),
        ("bash -eu -o pipefail x.sh", 4),
        ("bash +e x.sh", 2),
        ("bash -ec x.sh", None),
        ("sh -s x.sh", None),
        ("node --require ./a.js x.js", 3),
        ("node --require=./a.js x.js", 2),
        ("node -e x y", None),
        ("deno run x.ts", 2),
        ("perl -Ilib x.pl", 2),
        ("cat x", None),
        ("jq -f x", None),
    ],
)
def test_word_that_is_the_script_is_found(line: str, place: int | None) -> None:
    assert script_index(line.split()) == place


@pytest.mark.parametrize(
    ("line", "place"), [("sh -c x", 2), ("bash -e -c x y", 3), ("bash -ec x", 2), ("bash x", None)]
)
def test_word_that_is_a_line_is_found(line: str, place: int | None) -> None:
    assert inline_code_index(line.split()) == place


def test_word_known_only_when_it_runs_hides_what_comes_after() -> None:
    assert script_index(["python3", None, "x.py"]) is None
    assert inline_code_index(["bash", None, "-c", "x"]) is None


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (b"#!/bin/sh\nrest", ("/bin/sh",)),
        (b"#! /bin/bash -e -u\n", ("/bin/bash", "-e -u")),
        (b"#!/usr/bin/env python3\r\n", ("python3",)),
        (b"#!/usr/bin/env -S python3 -u\n", ("python3", "-u")),
        (b"#!/usr/bin/env A=1 python3\n", ("/usr/bin/env", "A=1", "python3")),
        (b"echo\n", ()),
        (b"", ()),
    ],
)
def test_interpreter_line_is_read_as_the_system_reads_it(line: bytes, words: tuple[str, ...]) -> None:
    assert parse_shebang(line) == words


def test_program_is_known_without_folder_and_version() -> None:
    assert [program_stem(name) for name in ("/usr/bin/python3.11", "node", "bash5", "7z")] == [
        "python",
        "node",
        "bash",
        "7z",
    ]


def test_sealed_descriptor_does_not_reach_what_a_python_hook_starts(tmp_path: Path) -> None:
    if not os.path.isdir("/proc/self/fd"):  # noqa: PTH112
        pytest.skip("no /proc")
    script = tmp_path / "x.py"
    script.write_text("import os\nos.execvp('ls', ['ls', '/proc/self/fd'])\n")
    hook = Hook(id="x", command="python3", args=(str(script),))

    plain = ask(hook, sealed=None, cwd="/")

    assert ask(hook, sealed={str(script): script.read_bytes()}, cwd="/").stdout == plain.stdout


# What scripts do


def same(tmp_path: Path, words: Sequence[str], files: Mapping[str, str]) -> Reply:
    """Run a script as it is and from its vetted bytes, and see that nothing differs."""
    for name, text in files.items():
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    plain, vetted = both(tmp_path, next(iter(files)), words)
    assert (vetted.failure, vetted.exit_code, vetted.stdout) == (plain.failure, plain.exit_code, plain.stdout)
    return vetted


@pytest.mark.parametrize(
    "words",
    [
        ("python3", "-u", "--", "x"),
        ("bash", "-e", "--", "x"),
        ("sh", "-", "x"),
        pytest.param(("node", "--", "x"), marks=needs_node),
    ],
)
def test_script_after_two_dashes_runs(tmp_path: Path, words: tuple[str, ...]) -> None:
    text = {"python3": "print('ran')\n", "node": "console.log('ran')\n"}.get(words[0], "echo ran\n")
    assert same(tmp_path, words, {"x": text}).stdout == b"ran\n"


def test_python_script_is_taken_down_as_usual(tmp_path: Path) -> None:
    text = "class Late:\n    def __del__(self):\n        print('gone')\n\nlate = Late()\n"
    assert same(tmp_path, ("python3", "x.py"), {"x.py": text}).stdout == b"gone\n"


@needs_node
def test_es_module_may_fork_another_module(tmp_path: Path) -> None:
    main = "import {fork} from 'node:child_process';\nfork('./y.mjs').on('message', (text) => console.log(text));\n"
    reply = same(tmp_path, ("node", "x.mjs"), {"x.mjs": main, "y.mjs": "process.send('another');\n"})
    assert reply.stdout == b"another\n"


@needs_node
def test_es_module_may_start_a_worker(tmp_path: Path) -> None:
    main = "import {Worker} from 'node:worker_threads';\nnew Worker('./y.mjs');\n"
    assert same(tmp_path, ("node", "x.mjs"), {"x.mjs": main, "y.mjs": "console.log('y');\n"}).stdout == b"y\n"


@needs_node
def test_node_script_leaves_no_names_to_what_it_imports(tmp_path: Path) -> None:
    other = "console.log(typeof require, typeof exports, typeof __filename);\n"
    same(tmp_path, ("node", "x.cjs"), {"x.cjs": "import('./y.mjs');\n", "y.mjs": other})


@pytest.mark.parametrize("options", ["-x", "-eux"])
def test_trace_of_a_bash_script_shows_the_script_alone(tmp_path: Path, options: str) -> None:
    reply = same(tmp_path, ("bash", options, "x.sh"), {"x.sh": "a=1\necho $a\n"})
    assert reply.stderr.decode().replace("++", "+") == "+ a=1\n+ echo 1\n"


def test_bash_that_only_checks_the_syntax_does_so(tmp_path: Path) -> None:
    assert same(tmp_path, ("bash", "-n", "x.sh"), {"x.sh": "if then\n"}).exit_code == 2


@pytest.mark.parametrize("line", ["./x.py", "{place}/bin/python3 x.py | cat", "timeout 20 {place}/bin/python3 x.py"])
def test_interpreter_of_the_project_finds_what_lies_around_it(tmp_path: Path, line: str) -> None:
    venv.create(tmp_path / "venv", symlinks=True, with_pip=False)
    place = tmp_path / "venv"
    (tmp_path / "x.py").write_text(f"#!{place}/bin/python3\nimport sys\nprint(sys.prefix)\n")
    (tmp_path / "x.py").chmod(0o755)
    files = (tmp_path / "x.py", place / "bin" / "python3")
    hook = Hook(id="x", command=line.format(place=place), shell=True)

    reply = ask(hook, sealed={str(file): file.read_bytes() for file in files}, cwd=str(tmp_path))

    assert reply.stdout.decode() == f"{place}\n"


def test_interpreter_that_came_after_the_check_does_not_run(tmp_path: Path) -> None:
    script = tmp_path / "x"
    script.write_text("#!./interpreter\n")
    script.chmod(0o755)
    shutil.copy("/bin/echo", tmp_path / "interpreter")
    hook = Hook(id="x", command="./x", shell=True, source=Source.WORKSPACE, root=str(tmp_path))

    reply = ask(hook, sealed={str(script): script.read_bytes()}, cwd=str(tmp_path))

    assert reply.stdout == b""
    assert reply.failure is not None
    assert "was not there when the hook was checked" in reply.failure.message
