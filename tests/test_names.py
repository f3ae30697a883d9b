"""Names a stranger understands: functions are verb phrases, and a class name means one thing."""

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Final

SOURCE: Final = Path(__file__).resolve().parent.parent / "src" / "hookline"

# words that once stood for something else and must not come back as the name of a module, class or function
RETIRED: Final = frozenset(
    {
        *("told", "heard", "said", "known", "kept", "begun", "spoken", "understood", "whoever", "somebody", "nobody"),
        *("quick", "left", "sketch", "doorkeeper", "surroundings", "moment", "moments", "narrowing", "unfolding"),
        *("fitting", "zygote", "hub", "desk", "manners", "speech", "toolbox", "clearance", "vault", "crew"),
    }
)
# irregular participles; regular ones end in -ed
PARTICIPLES: Final = frozenset(
    {
        *("said", "told", "heard", "known", "kept", "given", "taken", "found", "left", "begun", "spoken", "understood"),
        *("written", "rewritten", "meant", "made", "held", "lost", "sent", "built", "shown", "drawn"),
        *("seen", "gone", "chosen", "broken", "bound", "paid", "worn", "hidden", "forgotten", "rebuilt", "resaid"),
    }
)
# verbs that only look like participles
VERBS: Final = frozenset({"need", "feed", "seed", "embed", "exceed", "shed", "proceed", "succeed"})


def definitions() -> Iterator[tuple[Path, ast.AST]]:
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                yield path, node


def test_no_function_is_named_by_a_participle() -> None:
    participles = []
    for path, node in definitions():
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if any(ast.unparse(one) in {"property", "cached_property"} for one in node.decorator_list):
            continue
        name = node.name.strip("_")
        is_one_word = "_" not in name
        looks_so = name in PARTICIPLES or (len(name) > 4 and name.endswith("ed") and name not in VERBS)
        if is_one_word and looks_so:
            participles.append(f"{path.relative_to(SOURCE)}:{node.lineno}: {node.name}")

    assert participles == []


def test_retired_words_name_nothing() -> None:
    names = [(path, path.stem.strip("_")) for path in sorted(SOURCE.rglob("*.py"))]
    names += [(path, node.name.strip("_").lower()) for path, node in definitions()]  # type: ignore[attr-defined]

    assert [f"{path.relative_to(SOURCE)}: {name}" for path, name in names if name in RETIRED] == []


def test_a_class_name_is_used_once() -> None:
    places = defaultdict(list)
    for path, node in definitions():
        if isinstance(node, ast.ClassDef):
            places[node.name.lstrip("_")].append(f"{path.relative_to(SOURCE)}:{node.lineno}")

    # the adapters of two libraries have the name that users of each look for
    del places["Hooks"]
    assert {name: where for name, where in places.items() if len(where) > 1} == {}
