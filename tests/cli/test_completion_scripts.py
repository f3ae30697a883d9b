import argparse

from hookline.cli.completion import CompletionValue, Takes, read_parser


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(prog="any")
    commands = top.add_subparsers(metavar="COMMAND")
    one = commands.add_parser("show", help="show   `one`, 100%%")
    one.add_argument("hook", metavar="HOOK")
    one.add_argument("more", nargs="*")
    one.add_argument("-v", "--verbose", action="store_true", help="say more")
    one.add_argument("--hidden", help=argparse.SUPPRESS)
    one.add_argument("--dialect", choices=["a", "b"])
    one.add_argument("--data", metavar="JSON|@FILE|-")
    one.add_argument("--project", metavar="DIR")
    one.add_argument("--note")
    below = commands.add_parser("trust").add_subparsers()
    below.add_parser("list").add_argument("--event")
    return top


def test_what_may_follow_a_command_is_read_off_its_parser() -> None:
    show, _ = read_parser(parser()).commands

    assert (show.path, show.help) == (("show",), "show one, 100%")
    assert [(argument.name, argument.value.takes, argument.repeats) for argument in show.arguments] == [
        ("HOOK", Takes.HOOKS, False),
        ("more", Takes.TEXT, True),
    ]
    assert {option.flags: option.value for option in show.options} == {
        ("-h", "--help"): CompletionValue(Takes.NOTHING),
        ("-v", "--verbose"): CompletionValue(Takes.NOTHING),
        ("--dialect",): CompletionValue(Takes.CHOICE, ("a", "b")),
        ("--data",): CompletionValue(Takes.FILE),
        ("--project",): CompletionValue(Takes.FOLDER),
        ("--note",): CompletionValue(Takes.TEXT),
    }


def test_commands_below_commands_are_found() -> None:
    assert [command.path for command in read_parser(parser()).walk()] == [(), ("show",), ("trust",), ("trust", "list")]


def test_option_that_is_named_after_what_it_takes_takes_it() -> None:
    found = [command for command in read_parser(parser()).walk() if command.path == ("trust", "list")]

    assert found[0].options[-1].value == CompletionValue(Takes.EVENTS)
