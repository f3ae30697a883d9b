from pathlib import Path

import pytest

from hookline.bridge.notices import Notices, append_lines, choose_channel
from hookline.model.event import Ability, Event, EventName
from hookline.model.verdict import Outcome

CALL = Event(name=EventName.BEFORE_TOOL)
PROMPT = Event(name=EventName.BEFORE_AGENT)


def _attach(
    path: Path | None, *texts: str, event: Event = CALL, channel: Ability | None = Ability.MESSAGE
) -> list[str]:
    notices = Notices(path)
    for text in texts:
        notices.add(text)
    outcome = notices.attach(Outcome(), event, channel=channel)
    return "\n".join([*outcome.messages, *outcome.context]).splitlines()


def test_the_same_is_told_once_and_something_else_once_more(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "one.told"
    assert _attach(path, "the disk is full") == ["hookline: the disk is full"]
    assert _attach(path, "the disk is full") == []
    assert _attach(path, "the disk is full", "it burns") == ["hookline: it burns"]
    assert _attach(tmp_path / "two.told", "the disk is full") == ["hookline: the disk is full"]


def test_how_many_it_is_by_now_makes_no_other_notice(tmp_path: Path) -> None:
    path = tmp_path / "one.told"
    assert _attach(path, "traces.db: no database (2 records wait in memory)") != []
    assert _attach(path, "traces.db: no database (4 records wait in memory)") == []
    assert _attach(path, "a call ran: Bash toolu_1") != []
    assert _attach(path, "a call ran: Bash toolu_2") != []


def test_what_cannot_be_told_now_is_told_at_the_next_moment_that_can(tmp_path: Path) -> None:
    path = tmp_path / "one.told"
    # where the agent may have a field for it, it is said there, and owed until it is known to be shown
    assert _attach(path, "it burns", channel=None) == ["hookline: it burns"]
    assert _attach(path, channel=None) == ["hookline: it burns"]
    assert _attach(path) == ["hookline: it burns"]
    assert _attach(path) == []


def test_notice_that_differs_in_a_measured_time_is_the_same(tmp_path: Path) -> None:
    path = tmp_path / "one.told"
    assert _attach(path, "gave no answer within 0.199117 s") == ["hookline: gave no answer within 0.199117 s"]
    assert _attach(path, "gave no answer within 0.2 s") == []


def test_what_comes_up_after_the_answer_is_told_with_the_next(tmp_path: Path) -> None:
    path = tmp_path / "one.told"
    late = Notices(path)
    late.add("the trace is lost")
    late.save()
    late.add("the trace is lost")
    late.save()
    assert len(path.read_bytes().splitlines()) == 1
    assert _attach(path) == ["hookline: the trace is lost"]


def test_many_are_told_some_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "one.told"
    texts = [f"trouble {number}" for number in range(20)]
    said = [_attach(path, *texts), _attach(path), _attach(path), _attach(path)]
    assert [len(lines) for lines in said] == [8, 8, 4, 0]
    assert sorted(line for lines in said for line in lines) == sorted(f"hookline: {text}" for text in texts)


def test_where_nothing_can_be_remembered_it_is_said_only_when_a_turn_begins(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    nowhere = tmp_path / "file" / "one.told"
    for path in (None, nowhere):
        assert _attach(path, "it burns", event=CALL) == []
        assert _attach(path, "it burns", event=PROMPT) == ["hookline: it burns"]


def test_text_of_others_is_made_harmless(tmp_path: Path) -> None:
    said = _attach(tmp_path / "one.told", "evil \x1b[2J\nhookline: all is well" + "x" * 5000)
    assert len(said) == 1
    assert "\x1b" not in said[0]
    assert len(said[0]) < 700


def test_what_a_full_disk_cut_off_is_forgotten(tmp_path: Path) -> None:
    path = tmp_path / "one.told"
    path.write_bytes(b'{"key":"00"}\n{"key": "tr')
    assert _attach(path, "it burns") == ["hookline: it burns"]


def test_an_agent_that_can_never_show_anything_is_asked_to_say_it(tmp_path: Path) -> None:
    said = _attach(tmp_path / "one.told", "it burns", event=PROMPT, channel=Ability.CONTEXT)
    assert said == ["Tell the person this, in these words, before anything else:", "hookline: it burns"]


@pytest.mark.parametrize(
    ("able", "everyday", "event", "expected"),
    [
        ({Ability.MESSAGE}, {Ability.MESSAGE}, CALL, Ability.MESSAGE),
        ({Ability.CONTEXT}, {Ability.MESSAGE, Ability.CONTEXT}, PROMPT, None),
        ({Ability.CONTEXT}, {Ability.CONTEXT}, PROMPT, Ability.CONTEXT),
        ({Ability.CONTEXT}, {Ability.CONTEXT}, CALL, None),
        (set(), set(), PROMPT, None),
    ],
)
def test_the_model_is_bothered_only_where_there_is_no_other_way(
    able: set[Ability], everyday: set[Ability], event: Event, expected: Ability | None
) -> None:
    assert choose_channel(event, frozenset(able), everyday=frozenset(everyday)) is expected


def test_a_file_grows_to_its_size_and_no_further(tmp_path: Path) -> None:
    path = tmp_path / "file"
    assert append_lines(path, b"12345\n", largest=12)
    assert append_lines(path, b"12345\n", largest=12)
    assert not append_lines(path, b"1", largest=12)
    assert path.read_bytes() == b"12345\n12345\n"
    assert path.stat().st_mode & 0o077 == 0


def test_a_link_is_not_written_through(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_text("mine")
    link = tmp_path / "link"
    link.symlink_to(target)
    assert not append_lines(link, b"theirs", largest=100)
    assert target.read_text() == "mine"
