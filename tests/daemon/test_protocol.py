"""What the launcher and the daemon say to each other."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookline.daemon import protocol
from hookline.daemon.protocol import CallRequest, ProtocolError
from hookline.model.exchange import Answer

REQUEST = CallRequest(("--if-broken", "block", "claude-code", "Stop"), "/a b", b"A=1\0B=\0", b"{}", 0o022)
WORDS = st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20), max_size=8)


def whole(body: bytes) -> bytes:
    """Return a body as a request that has arrived as a whole."""
    return protocol.GREETING + struct.pack("<I", len(body)) + body


@given(WORDS, st.binary(max_size=200), st.binary(max_size=2000), st.integers(0, 0o777))
def test_what_is_said_is_understood(words: list[str], block: bytes, stdin: bytes, umask: int) -> None:
    said = CallRequest(tuple(words), "/somewhere", block, stdin, umask)
    raw = protocol.encode_request(said)
    assert protocol.parse_request(raw) == said


@given(st.binary(max_size=300))
def test_garbage_is_refused_and_nothing_else(raw: bytes) -> None:
    try:
        protocol.parse_request(whole(raw))
    except ProtocolError:
        return
    assert len(raw) >= 20


def test_whatever_is_cut_off_is_refused() -> None:
    body = protocol.encode_request(REQUEST)[8:]
    for size in range(len(body)):
        with pytest.raises(ProtocolError):
            protocol.parse_request(whole(body[:size]))


def test_what_has_not_arrived_yet_is_waited_for() -> None:
    raw = protocol.encode_request(REQUEST)
    assert [protocol.parse_request(raw[:size]) for size in range(len(raw))] == [None] * len(raw)


def test_another_version_is_refused() -> None:
    with pytest.raises(ProtocolError, match="not the launcher of this version"):
        protocol.parse_request(b"HKL9" + struct.pack("<I", 10))


def test_too_much_is_refused_before_it_is_read() -> None:
    with pytest.raises(ProtocolError, match="at once"):
        protocol.parse_request(protocol.GREETING + struct.pack("<I", 0xFFFFFFFF))


def test_variables_are_read_as_programs_see_them() -> None:
    block = b"A=1\0B=a=b\0EMPTY=\0=odd\0nothing\0A=2\0C=\xff\0"
    assert protocol.parse_environ(block) == {"A": "1", "B": "a=b", "EMPTY": "", "C": "\udcff"}


def test_frames_are_read_as_they_come() -> None:
    answer = Answer(stdout=b"out", stderr=b"err", exit_code=2)
    raw = protocol.STILL + protocol.encode_answer(answer)
    assert protocol.parse_frames(raw[:3]) == []
    assert protocol.parse_frames(raw[:-1]) == [(b"k", b"")]
    (_, (kind, payload)) = protocol.parse_frames(raw)
    assert kind == b"a"
    assert protocol.parse_answer(payload) == answer


def test_a_refusal_carries_its_reason() -> None:
    assert protocol.parse_frames(protocol.encode_decline("why")) == [(b"n", b"why")]
