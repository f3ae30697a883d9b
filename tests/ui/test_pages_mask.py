"""Texts of records on their way to the page."""

from hookline.ui.pages import LONGEST, MOST_ITEMS, mask

KEY = "ghp_0123456789abcdefghijklmnopqrstuv"


def test_every_text_at_every_depth_is_masked_and_escaped() -> None:
    value = {"calls": [{"records": [{"detail": {KEY: [f"say {KEY}", "\x1b[31m"], "n": 1, "on": True, "no": None}}]}]}

    assert mask(value) == {
        "calls": [
            {
                "records": [
                    {
                        "detail": {
                            "ghp_01…[secret]": ["say ghp_01…[secret]", "\\x1b[31m"],
                            "n": 1,
                            "on": True,
                            "no": None,
                        }
                    }
                ]
            }
        ]
    }


def test_what_is_long_in_a_detail_is_cut_with_a_mark_and_lists_of_calls_are_not() -> None:
    many = list(range(MOST_ITEMS + 2))
    detail = {"text": "x" * (LONGEST + 1), "list": many, "table": {str(one): one for one in many}}
    shown = mask({"calls": [{"records": [{"detail": detail}]}], "more": many})

    assert isinstance(shown, dict)
    cut = shown["calls"][0]["records"][0]["detail"]
    assert cut["text"] == f"{'x' * LONGEST}… ({LONGEST + 1} characters)"
    assert cut["list"][-2:] == [MOST_ITEMS - 1, "… (2 more)"]
    assert cut["table"]["…"] == "(2 more)"
    assert shown["more"] == many
