import argparse
import time

import pytest

from hookline.cli._command import JSON, CliCommand, OneOf, argument, flag, parse_moment, parse_span


@pytest.mark.parametrize(
    ("text", "seconds"), [("90s", 90), ("15m", 900), ("1.5h", 5400), ("2D", 172_800), ("1 w", 604_800)]
)
def test_span_is_read_as_people_write_it(text: str, seconds: float) -> None:
    assert parse_span(text) == seconds


def test_moment_is_a_span_before_now_or_a_date() -> None:
    before = time.time()
    assert before - 3601 < parse_moment("1h") <= time.time() - 3600
    assert parse_moment("2026-11-15T10:00:00+00:00") == 1_794_736_800


@pytest.mark.parametrize("text", ["", "h", "5", "-5m", "tomorrow", "2026-13-01", "99999999999999999999999999-01-01"])
def test_what_is_neither_is_refused(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="neither a span"):
        parse_moment(text)


def parse(command: CliCommand, *words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="hookline any", exit_on_error=False)
    command.configure(parser)
    return parser.parse_args(words)


def test_arguments_of_a_command_are_those_of_each_of_its_actions() -> None:
    actions = {"list": CliCommand("list", run=lambda _: 1), "show": CliCommand("show", argument("id"), run=lambda _: 2)}
    command = CliCommand("any", JSON, actions=actions)

    assert parse(command, "list", "--json").json
    shown = parse(command, "show", "3f9a", "--json")
    assert (shown.id, shown.json, shown.act(shown)) == ("3f9a", True, 2)


def test_only_one_of_several_options_may_be_given() -> None:
    command = CliCommand("any", OneOf((flag("--once", "once"), flag("--for-ever", "for ever"))), run=lambda _: 0)

    assert parse(command, "--for-ever").for_ever
    with pytest.raises(argparse.ArgumentError, match="not allowed with"):
        parse(command, "--once", "--for-ever")


def test_help_of_a_command_has_an_example() -> None:
    parser = argparse.ArgumentParser(prog="hookline any")
    CliCommand("do something", example="--json", run=lambda _: 0).configure(parser)

    assert parser.format_help().endswith("example:\n  hookline any --json\n")
