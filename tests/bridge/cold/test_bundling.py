"""A module out of the bundle is the module: only when its names are made differs."""
# ruff: noqa: SLF001 - what is looked into is how it is made

import builtins
import marshal
import os
import subprocess
import sys
import textwrap
from pathlib import Path
from types import ModuleType
from typing import Final

import pytest

from hookline.bridge.cold import bundle, bundling
from tools.usual_names import record

ALL: Final = '''
"""A docstring."""

import re
import os.path as paths
import xml.dom
from collections import OrderedDict as Ordered
from enum import StrEnum
from functools import lru_cache
from typing import Final, NamedTuple

made = []

PATTERN: Final = re.compile("a+")
NUMBER: Final = 7
TABLE: Final = {"one": NUMBER}


class Colour(StrEnum):
    """With words from above in its body."""

    RED = str(NUMBER)
    ALSO = TABLE["one"].__class__.__name__

    def painted(self, by: "Nobody" = paths.sep) -> "Nobody":
        """Say so."""
        return f"{self}{by}{PATTERN.pattern}"


class Point(NamedTuple):
    x: int = NUMBER


@lru_cache
def twice(x: Missing) -> Missing:
    return x * 2


def shadowed():
    return len("abc"), xml.dom.__name__


def again():
    return 1


def again():
    return 2


def count():
    global counted
    counted = NUMBER
    return counted


made.append(Ordered(a=1))
'''


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    lazy, code, _, used = bundling.compiled(ALL, "whole.py")
    names = bundle._Names([(one, vars(builtins)[one]) for one in used])
    names.lazy = lazy
    names["__name__"] = "whole"
    names["__builtins__"] = vars(builtins)
    made = bundle._Module("whole")
    object.__setattr__(made, "_names", names)
    monkeypatch.setitem(sys.modules, "whole", made)
    exec(marshal.loads(marshal.dumps(code)), names)  # noqa: S102, S302
    return made


def test_nothing_is_made_before_it_is_looked_up(module: ModuleType) -> None:
    names = vars(module)
    assert names["made"] == [{"a": 1}]
    assert not {"Colour", "PATTERN", "TABLE", "twice", "re", "xml", "StrEnum"} & names.keys()
    assert module.twice(4) == 8
    assert "twice" in names


def test_a_class_finds_the_imported_names_of_its_body(module: ModuleType) -> None:
    assert module.Colour.RED == "7"
    assert module.Colour.ALSO == "int"
    assert module.Colour.RED.painted() == "7/a+"
    assert module.Point() == (7,)
    assert module.Colour.__module__ == "whole"


def test_builtins_and_modules_inside_modules_are_found(module: ModuleType) -> None:
    assert module.shadowed() == (3, "xml.dom")


def test_what_is_made_twice_is_the_second(module: ModuleType) -> None:
    assert module.again() == 2


def test_a_function_may_bind_a_name_of_the_module(module: ModuleType) -> None:
    assert module.count() == 7
    assert module.counted == 7


def test_a_name_that_nobody_made_is_missing_in_the_usual_way(module: ModuleType) -> None:
    with pytest.raises(AttributeError, match="module 'whole' has no attribute 'nothing'"):
        _ = module.nothing
    assert not hasattr(module, "Missing")


def test_every_module_of_a_call_can_be_imported_and_made(tmp_path: Path) -> None:
    """Look every name of every module up, in a process of its own."""
    script = tmp_path / "all.py"
    script.write_text(
        textwrap.dedent(
            f"""
            import sys
            sys.path.insert(0, {bundle.HERE!r})
            import bundle
            bundle.FILE = sys.argv[1]
            del sys.path[0]
            bundle.mount()
            sys.modules["hookline.bridge.cold.bundle"] = bundle
            bundle.INSTEAD.clear()
            for name in filter(bundle.is_ours, bundle._bundle.index):
                module = bundle._bundle.load(name)
                if module is bundle:
                    continue
                for one in list(module._names.lazy):
                    getattr(module, one)
            print(len(bundle._bundle.index))
            """
        )
    )
    built = tmp_path / "bundle"
    built.write_bytes(b"".join(bundling._written(Path(bundle.PACKAGE))))
    done = subprocess.run(
        [sys.executable, str(script), str(built)], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 200


def test_what_is_lent_has_every_name_it_has_elsewhere_and_says_where_it_stands(tmp_path: Path) -> None:
    script = tmp_path / "lent.py"
    script.write_text(
        textwrap.dedent(
            f"""
            import sys
            sys.path.insert(0, {bundle.HERE!r})
            import bundle
            del sys.path[0]
            if len(sys.argv) > 2:
                bundle.FILE = sys.argv[2]
                bundle.mount()
            for name in sys.argv[1].split(","):
                __import__(name)
                module = sys.modules[name]
                names = sorted(one for one in vars(module) if one not in ("__cached__", "__doc__", "__annotations__"))
                print(name, module.__file__, module.__package__, getattr(module, "__path__", None), names)
            print(bundle._bundle is not None, file=sys.stderr)
            """
        )
    )
    built = tmp_path / "bundle"
    built.write_bytes(b"".join(bundling._written(Path(bundle.PACKAGE))))
    told = [
        subprocess.run(
            [sys.executable, "-E", "-P", "-S", str(script), ",".join(bundling._LENT), *more],
            capture_output=True,
            text=True,
            timeout=120,
            check=True,
        )
        for more in ([], [str(built)])
    ]
    assert [one.stderr for one in told] == ["False\n", "True\n"]
    assert told[0].stdout == told[1].stdout


def test_functions_are_made_without_words_about_what_they_take() -> None:
    lazy, *_ = bundling.compiled("def twice(one: int) -> int:\n    return one * 2\n", "whole.py")
    names: dict[str, object] = {}
    made = lazy["twice"][1]
    assert isinstance(made, bytes)
    exec(marshal.loads(made), names)  # noqa: S102, S302
    twice = names["twice"]
    assert twice.__annotations__ == {}
    assert twice(4) == 8  # type: ignore[operator]


def test_a_module_has_the_builtins_that_it_uses_and_none_that_it_has_itself() -> None:
    source = "def hash(one):\n    return [len(one), *map(str, hash(one))]\nclass Own(dict):\n    size = max(1, 2)\n"

    assert set(bundling.compiled(source, "whole.py").builtins) == {"dict", "len", "map", "max", "str"}


def test_a_builtin_of_whoever_made_the_bundle_need_not_be_one_here(tmp_path: Path) -> None:
    raw = marshal.dumps((*bundling.compiled("def size(one):\n    return len(one)\n", "whole.py")[:3], ("_", "len")))
    (tmp_path / "bundle").write_bytes(raw)
    handle = os.open(tmp_path / "bundle", os.O_RDONLY)
    name = "hookline.whole"
    try:
        module = bundle._Module(name)
        bundle.Bundle(handle, {name: (0, len(raw), False, "whole.py", (0, 0))}, 0).exec_module(module)
    finally:
        os.close(handle)

    assert module.size("abc") == 3  # type: ignore[operator]


def test_a_builtin_that_nobody_saw_coming_is_found_all_the_same(module: ModuleType) -> None:
    assert "bytearray" not in vars(module)
    exec("def late():\n    return bytearray(2)", vars(module))  # noqa: S102
    assert module.late() == b"\0\0"


def test_the_names_that_calls_use_are_names_of_our_modules() -> None:
    modules = {name: path for name, path, _ in bundling._modules(Path(bundle.PACKAGE))}
    for module, names in bundling.usual_names().items():
        made, *_ = bundling.compiled(modules[module].read_text("utf-8"), str(modules[module]))
        assert names <= {name for name, (source, _) in made.items() if not source}, module


def test_the_list_of_names_that_calls_use_is_not_old() -> None:
    listed = bundling.usual_names()

    used = {(module, name) for module, names in record().items() for name in names}

    known = {(module, name) for module, name in used if name in listed.get(module, ())}
    assert len(known) > 0.9 * len(used), "run tools/usual_names.py: calls have become slower than they need to be"
