from collections.abc import Mapping

from hookline.config.document import Document, KeyPath


def test_part_without_a_line_stands_where_its_owner_does() -> None:
    document = Document({}, {("hooks",): 2, ("hooks", "Stop"): 3})
    paths: list[KeyPath] = [("hooks", "Stop", 0, "x"), ("hooks", "Stop"), ("hooks", "Other"), ("else",), ()]

    assert [document.line_of(path) for path in paths] == [3, 3, 2, 1, 1]


def test_lines_are_worked_out_once_and_only_when_one_is_asked_for() -> None:
    asked = []

    def lines() -> Mapping[KeyPath, int]:
        asked.append(1)
        return {("a",): 7}

    document = Document({"a": 1}, lines)
    assert (document.line_of(()), asked) == (1, [])
    assert [document.line_of(("a",)), document.line_of(("a", "b"))] == [7, 7]
    assert asked == [1]
