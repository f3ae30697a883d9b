import random
import threading

import pytest

from hookline.core.conditions import automaton as module
from hookline.core.conditions.automaton import LONGEST_TEXT, Automaton, automaton
from hookline.core.conditions.patterns import program
from hookline.errors import ConditionError


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        (r"\brm\s+-[a-z]*r[a-z]*f", "sudo rm  -vrf /", True),
        (r"\brm\s+-[a-z]*r[a-z]*f", "charm -rf", False),
        (r"^src/.*\.py$", "src/a/b.py", True),
        (r"^src/.*\.py$", "src/a.py\n", False),
        (r"(?m)^b$", "a\nb\nc", True),
        (r"(?s)a.c", "a\nc", True),
        ("a.c", "a\nc", False),
        ("(?i)straße", "STRAßE", True),
        ("", "", True),
        ("^$", "", True),
        ("a{3}", "aa", False),
        ("a{2,3}b", "aab", True),
        (r"\p{Lu}\d", "É7", True),
        (r"\w", "é", False),
        (r"\B", "a", False),
        ("a|^b|c$", "xc", True),
        ("^a|^b", "xa", False),
    ],
)
def test_pattern_is_found_anywhere_unless_it_says_where(pattern: str, text: str, *, found: bool) -> None:
    assert automaton(pattern).found_in(text) is found


def test_search_is_the_same_after_everything_was_forgotten() -> None:
    machine = Automaton(program("[^x]{3}y|z$"))
    # more different characters than are remembered
    text = "".join(map(chr, range(0x4E00, 0x4E00 + 15_000)))

    assert [machine.found_in(f"{text}{text[::-1]}{end}") for end in ("y", "z", "x", "xy")] == [True, True, False, False]


def test_what_is_remembered_of_a_pattern_has_an_end() -> None:
    machine = Automaton(program("[^x]{3}y|z$"))
    machine.found_in("".join(map(chr, range(0x4E00, 0x4E00 + 20_000))))
    remembered = sum(len(state.next) for state in machine._states.values())  # noqa: SLF001 - seen nowhere else

    assert 0 < remembered < 15_000


def test_costly_search_is_given_up_and_told() -> None:
    machine = automaton(".*a.{900}b.{900}c")
    text = "".join(random.Random(7).choices("ab", k=100_000))  # noqa: S311 - no secret

    with pytest.raises(ConditionError, match="too costly for this long text"):
        machine.found_in(text)


def test_pattern_that_begins_once_stops_at_the_first_difference() -> None:
    machine = Automaton(program("^ab"))
    assert machine.found_in("x" * 1000) is False

    (follower,) = machine._start.next.values()  # noqa: SLF001 - what was found out is seen nowhere else
    assert not follower.next


def test_one_pattern_may_be_used_by_many_threads() -> None:
    machine = Automaton(program("(a|b)*c[^d]*d"))
    answers: list[bool] = []

    def search(number: int) -> None:
        answers.append(machine.found_in("ab" * number + "c" + chr(0x100 + number) + "d"))

    threads = [threading.Thread(target=search, args=(number,)) for number in range(50)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert answers == [True] * 50


def test_patterns_are_made_once() -> None:
    assert automaton("abc+") is automaton("abc+")
    assert module.automaton.cache_info().maxsize is not None


def test_text_that_nobody_could_wait_for_is_not_searched() -> None:
    text = "a" * (LONGEST_TEXT + 1)

    assert not automaton("b").found_in(text[1:][:10])
    with pytest.raises(ConditionError, match="16777217 characters is too long to be searched"):
        automaton("b").found_in(text)
