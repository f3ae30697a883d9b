from pathlib import Path

import pytest

from hookline.model.hook import Hook
from hookline.trust.fingerprint import FingerprintService
from hookline.trust.script_imports import list_doubts

FILES = {
    "hooks/guard.py": "import json, helper as h\nfrom pkg.rules import deny\nfrom pkg import (\n    extra,\n)\n",
    "hooks/helper.py": "try: import deeper\nexcept ImportError: pass\n__import__('called')\nx = 1; from broken import \\\n  y\n",
    "hooks/deeper.py": "",
    "hooks/called.py": "",
    "hooks/broken.py": "",
    "hooks/pkg/__init__.py": "",
    "hooks/pkg/rules.py": "from . import shared\nfrom .. import above\nimport beside_start\n",
    "hooks/pkg/shared.py": "",
    "hooks/pkg/extra.py": "",
    "hooks/pkg/unused.py": "",
    "hooks/beside_start.py": "",
    "hooks/other.py": "",
    "hooks/guard.js": "const a = require('./a'); import b from \"./lib/b.mjs\"; await import('./c');require('left-pad')",
    "hooks/a.js": "require('./a2.json')",
    "hooks/a2.json": "{}",
    "hooks/lib/b.mjs": "",
    "hooks/c/index.js": "",
    "hooks/guard": '#!/usr/bin/env bash\n. "$(dirname "$0")/one.sh"\nif true; then source ${BASH_SOURCE%/*}/two.sh; fi\n',
    "hooks/one.sh": "source ./three.sh\n. $HERE/four.sh arg\n",
    "hooks/two.sh": "",
    "hooks/three.sh": "",
    "hooks/four.sh": "",
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def files(root: Path, *words: str) -> set[str]:
    hook = Hook(id="h", command=words[0], args=words[1:], root=str(root))
    return {name.removeprefix("hooks/") for name in FingerprintService().compute(hook, str(root)).hashes}


@pytest.mark.spec("O-15")
def test_modules_that_a_python_script_imports_from_beside_it_belong_to_the_hook(root: Path) -> None:
    assert files(root, "python3", "hooks/guard.py") == {
        *("guard.py", "helper.py", "deeper.py", "called.py", "broken.py", "beside_start.py"),
        *("pkg/__init__.py", "pkg/rules.py", "pkg/shared.py", "pkg/extra.py"),
    }


@pytest.mark.parametrize("name", ["json.py", "re.py", "json.pyc", "_json.cpython-311-x86_64-linux-gnu.so"])
def test_file_that_would_take_the_place_of_a_standard_module_belongs_to_the_hook(root: Path, name: str) -> None:
    (root / "hooks" / name).write_bytes(b"\0")

    assert name in files(root, "python3", "hooks/guard.py")


def test_package_that_would_take_the_place_of_a_module_belongs_to_the_hook(root: Path) -> None:
    (root / "hooks" / "json").mkdir()
    (root / "hooks" / "json" / "__init__.py").write_text("import evil")

    assert "json/__init__.py" in files(root, "python3", "hooks/guard.py")


def test_files_that_a_node_script_requires_belong_to_the_hook(root: Path) -> None:
    assert files(root, "node", "hooks/guard.js") == {"guard.js", "a.js", "a2.json", "lib/b.mjs", "c/index.js"}


def test_files_that_a_shell_script_sources_belong_to_the_hook(root: Path) -> None:
    assert files(root, "./hooks/guard") == {"guard", "one.sh", "two.sh", "three.sh", "four.sh"}


def test_script_behind_a_link_loads_from_beside_itself(root: Path) -> None:
    (root / "bin").mkdir()
    (root / "bin" / "guard.js").symlink_to(root / "hooks" / "guard.js")
    (root / "bin" / "guard.py").symlink_to(root / "hooks" / "guard.py")

    assert {"a.js", "lib/b.mjs"} < files(root, "node", "bin/guard.js")
    assert {"helper.py", "pkg/rules.py"} < files(root, "python3", "bin/guard.py")


def test_scripts_that_load_each_other_come_to_an_end(tmp_path: Path) -> None:
    (tmp_path / "hooks").mkdir()
    (tmp_path / "hooks" / "one.sh").write_text(". ./two.sh\n")
    (tmp_path / "hooks" / "two.sh").write_text(". ./one.sh\n")

    assert files(tmp_path, "sh", "hooks/one.sh") == {"one.sh", "two.sh"}


def test_long_chain_of_scripts_is_followed_and_an_endless_one_cannot_be_approved(tmp_path: Path) -> None:
    for number in range(4_100):
        (tmp_path / f"s{number}.sh").write_text(f". ./s{number + 1}.sh\n")
    (tmp_path / "s2000.sh").write_text("")
    hook = Hook(id="h", command="sh", args=("s0.sh",), root=str(tmp_path))
    found = FingerprintService().compute(hook, str(tmp_path))
    assert (len(found.files), found.problem) == (2_001, "")

    (tmp_path / "s2000.sh").write_text(". ./s2001.sh\n")

    endless = FingerprintService().compute(hook, str(tmp_path))
    assert endless.problem == "it is made of more than 4000 files, too many to read before each run"


def test_changed_import_is_another_hook(root: Path) -> None:
    hook = Hook(id="h", command="python3", args=("hooks/guard.py",), root=str(root))
    identities = FingerprintService()
    before = identities.compute(hook, str(root)).digest
    assert identities.compute(hook, str(root)).digest == before

    (root / "hooks" / "pkg" / "rules.py").write_text("import os; os.system('evil')")

    assert identities.compute(hook, str(root)).digest != before


def test_text_made_to_keep_the_patterns_busy_does_not(tmp_path: Path) -> None:
    for name, text in {
        "a.py": "from " + "." * 200_000 + "\nimport " + "a, " * 100_000 + "\nfrom x import (" * 5_000,
        "b.sh": "source " * 10_000 + "\n" + "${" * 10_000,
        "c.js": "require(" * 100_000 + "'" * 100_000,
    }.items():
        (tmp_path / name).write_text(text)
        hook = Hook(id="h", command="cat", args=(name,), root=str(tmp_path))

        assert FingerprintService().compute(hook, str(tmp_path)).digest


LOADED = [
    ("python3 guard.py", {"guard.py": "from helper import*\n"}, "helper.py"),
    ("python3 guard.py", {"guard.py": "from helper import(x)\n"}, "helper.py"),
    ("python3 guard.py", {"guard.py": "import os\rimport helper\r"}, "helper.py"),
    ("python3 guard.py", {"guard.py": "\fimport helper\n"}, "helper.py"),
    ("python3 guard.py", {"guard.py": "if 1:import helper\n"}, "helper.py"),
    ("python3 guard.py", {"guard.py": "import importlib\nimportlib.import_module('helper')\n"}, "helper.py"),
    ("python3 guard.py", {"guard.py": "import runpy\nrunpy.run_path('sub/helper.py')\n"}, "sub/helper.py"),
    ("python3 guard.py", {"guard.py": "import subprocess\nsubprocess.run(['./tool', 'x'])\n"}, "tool"),
    ("python3 guard.py", {"guard.py": "from pkg.sub import x\n", "pkg/sub.py": "from .near import y\n"}, "pkg/near.py"),
    ("sh guard.sh", {"guard.sh": 'echo "step # 1"; . ./lib.sh\n'}, "lib.sh"),
    ("sh guard.sh", {"guard.sh": "sh <lib.sh\n"}, "lib.sh"),
    ("sh guard.sh", {"guard.sh": '. "./my lib.sh"\n'}, "my lib.sh"),
    ("sh guard.sh", {"guard.sh": ". ./my\\ lib.sh\n"}, "my lib.sh"),
    ("sh guard.sh", {"guard.sh": "cd sub && ./tool\n"}, "sub/tool"),
    ("sh guard.sh", {"guard.sh": "(cd sub; sh lib.sh)\n"}, "sub/lib.sh"),
    ("sh guard.sh", {"guard.sh": "make lint\n"}, "Makefile"),
    ("sh guard.sh", {"guard.sh": "make -C sub lint\n"}, "sub/Makefile"),
    ("sh guard.sh", {"guard.sh": "npm run lint\n"}, "package.json"),
    ("sh guard.sh", {"guard.sh": "npm run lint\n"}, ".npmrc"),
    ("sh guard.sh", {"guard.sh": "python3 -m tool\n"}, "tool/__main__.py"),
    ("sh guard.sh", {"guard.sh": "if true; then\n  timeout 5 bash -c 'source ./lib.sh'\nfi\n"}, "lib.sh"),
    ("sh guard.sh", {"guard.sh": "f() {\n  ./tool\n}\nf\n"}, "tool"),
    ("make lint", {"Makefile": "lint:\n\t$(MAKE) -C sub x\n"}, "sub/Makefile"),
    ("make lint", {"Makefile": "D = sub\ninclude $(D)/x.mk\n"}, "sub/x.mk"),
    ("make lint", {"Makefile": "SHELL := ./sh\nlint:\n\techo\n"}, "sh"),
    ("make lint", {"Makefile": "lint:\n\t@cd sub && ./tool\n"}, "sub/tool"),
    ("node guard.js", {"guard.js": "require(`./helper`)"}, "helper.js"),
    ("node guard.js", {"guard.js": 'require(".")'}, "index.js"),
    ("node guard.js", {"guard.js": 'import"./helper.mjs"'}, "helper.mjs"),
    ("node guard.js", {"guard.js": 'export * from "./helper.mjs"'}, "helper.mjs"),
    ("node guard.js", {"guard.js": 'const r = /"/; require("./helper")'}, "helper.js"),
    ("node guard.js", {"guard.js": 'require("./h\\x65lper")'}, "helper.js"),
    ("node guard.js", {"guard.js": 'require("./lib")', "lib/package.json": '{"main": "run.js"}'}, "lib/run.js"),
    ("npm run lint", {"package.json": '{"scripts": {"lint": "cd sub && ./tool"}}'}, "sub/tool"),
    ("npm run lint", {"package.json": "{}"}, ".npmrc"),
]


@pytest.mark.spec("O-15")
@pytest.mark.parametrize(("command", "files", "loaded"), LOADED)
def test_file_that_is_plainly_loaded_is_part_of_what_is_approved(
    tmp_path: Path, command: str, files: dict[str, str], loaded: str
) -> None:
    for name, text in (files | {loaded: ""}).items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    hook = Hook(id="h", command=command, shell=True, root=str(tmp_path))
    identities = FingerprintService()
    before = identities.compute(hook, str(tmp_path))

    assert loaded in before.hashes
    (tmp_path / loaded).write_text("changed\n")
    assert FingerprintService().compute(hook, str(tmp_path)).digest != before.digest


@pytest.mark.parametrize(
    ("name", "text", "doubt"),
    [
        ("a.py", "import importlib\nimportlib.import_module(name)\n", "line 2 loads what import_module() is given"),
        ("a.py", "exec(open('x').read())\n", "line 1 loads what exec() is given"),
        ("a.py", "import sys\nsys.path.insert(0, folder)\n", "line 2 changes sys.path"),
        ("a.js", "const n = 'x';\nrequire(n)", "line 2 loads what is only known when it runs"),
        ("a.js", "import(`./${name}.js`)", "line 1 loads what is only known when it runs"),
    ],
)
def test_what_cannot_be_followed_is_said(name: str, text: str, doubt: str) -> None:
    assert list_doubts(name, text.encode()) == [doubt]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.py", "import json\nfrom pathlib import Path\nprint(json.loads('{}'))\n"),
        ("a.js", "const fs = require('fs');\nimport('./x.js')"),
        ("a.sh", "grep -q x && exit 2\n. ./lib.sh\n"),
    ],
)
def test_script_that_can_be_followed_raises_no_doubt(name: str, text: str) -> None:
    assert list_doubts(name, text.encode()) == []
