import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookline import json_codec

values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(values)
def test_what_json_can_carry_comes_back(value: object) -> None:
    raw = json_codec.dump(value)

    assert json_codec.load(raw) == value
    assert b"\n" not in raw


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        ({"path": Path("/a")}, {"path": "/a"}),
        ({"text": "\ud800x"}, {"text": "?x"}),
        ({"\ud800": 1}, {"?": 1}),
        ({"set": {1}}, {"set": [1]}),
        ({1: {2: 3}}, {"1": {"2": 3}}),
        ({"big": 10**30}, {"big": 10**30}),
    ],
)
def test_what_json_cannot_carry_is_still_said(value: object, wanted: object) -> None:
    assert json.loads(json_codec.dump(value)) == wanted


def test_endless_value_ends() -> None:
    endless: dict[str, object] = {}
    endless["again"] = endless

    assert json.loads(json_codec.dump(endless))


def test_object_that_cannot_say_what_it_is_does_not_stop_us() -> None:
    class Odd:
        def __str__(self) -> str:
            raise ZeroDivisionError("no text")

    assert json.loads(json_codec.dump({"odd": Odd(), "bad": "\ud800"})) == {"odd": "<Odd>", "bad": "?"}


@pytest.mark.parametrize("raw", [b"", b"{", b"\xff", b"{} {}", b"[" * 100_000, b'{"a": NaN}', b'{"\xff": 1}'])
def test_broken_json_is_a_value_error(raw: bytes) -> None:
    with pytest.raises(ValueError, match=r".+"):
        json_codec.load(raw)


@pytest.mark.parametrize(
    ("raw", "document", "noise"),
    [
        (b'{"a":1}', {"a": 1}, ""),
        (b'Model call intercepted: llama2\n{"a":1}', {"a": 1}, "Model call intercepted: llama2"),
        (b'{"a":1}\nDone.', {"a": 1}, "Done."),
        (b'{"a":1}\n{"a":2}', {"a": 2}, '{"a":1}'),
        (b'{not json} {"a":{"b":2}} }', {"a": {"b": 2}}, "{not json}\n}"),
        (b"plain", None, "plain"),
        (b"[1]", None, "[1]"),
        (b"", None, ""),
        (b'{"a":', None, '{"a":'),
        (b'\xff\xfe {"a":1}', {"a": 1}, "\ufffd\ufffd"),
        (b'{"\xff": 1}', {"\ufffd": 1}, ""),
        (b'x {"a": NaN}', {"a": None}, "x"),
        (b'{"a": Infinity}', {"a": None}, ""),
        (b'x {"a": "\\ud800"}', None, 'x {"a": "\\ud800"}'),
    ],
)
def test_last_complete_object_counts(raw: bytes, document: object, noise: str) -> None:
    assert json_codec.find_last_object(raw) == (document, noise)


@pytest.mark.parametrize("noise", ['{"{"' * 30_000, "{" * 200_000, '{"k":[1,' * 50_000, "x\n" * 100_000])
@pytest.mark.parametrize("answer", ['{"a": 1}', '{\n  "a": 1\n}'])
def test_no_noise_before_it_hides_an_answer(noise: str, answer: str) -> None:
    assert json_codec.find_last_object(f"checking {noise}\n{answer}\n".encode())[0] == {"a": 1}


def test_data_that_contains_itself_and_branches_is_cut() -> None:
    root: dict[str, object] = {}
    root["children"] = [{"parent": root, "n": n} for n in range(5)]

    assert len(json_codec.dump({"tree": root, "odd": "\ud800"})) < 10_000


def test_number_too_long_for_python_is_still_said() -> None:
    assert json_codec.dump({"n": 10**5000})


@given(st.binary(max_size=300))
def test_any_bytes_give_an_object_or_nothing(raw: bytes) -> None:
    document, _ = json_codec.find_last_object(raw)

    assert document is None or isinstance(document, dict)


@pytest.mark.parametrize(
    "piece", [b"{", b'{"', b'{"a{"a', b'{"k":[1,', b'{"k":[1,1,1,1,1,1,1,1,1,', b"[", b'{"a":1', b'{"a":1}{']
)
def test_megabyte_of_openings_is_given_up_on(piece: bytes) -> None:
    document, _ = json_codec.find_last_object(piece * (1_000_000 // len(piece)))

    assert document in (None, {"a": 1})
