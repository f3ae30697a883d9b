from hookline.config.document import Document, KeyPath


def test_part_without_a_line_stands_where_its_owner_does() -> None:
    document = Document({}, {("hooks",): 2, ("hooks", "Stop"): 3})
    paths: list[KeyPath] = [("hooks", "Stop", 0, "x"), ("hooks", "Stop"), ("hooks", "Other"), ("else",), ()]

    assert [document.line_of(path) for path in paths] == [3, 3, 2, 1, 1]
