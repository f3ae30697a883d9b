from msgspec.structs import replace

from hookline.config.loader import merge_copies
from hookline.config.reader import canonical_tools
from hookline.model.hook import Hook, Layer, OnError, Source
from hookline.wiring import native_tools

TOOLS = native_tools()
CLAUDE = Hook(
    id="a",
    on="before_tool",
    command="python3 guard.py",
    dialect="claude-code",
    matcher="Bash",
    run_by=("claude-code",),
    native_event="PreToolUse",
    parallel=True,
)
GEMINI = replace(
    CLAUDE,
    id="b",
    name="guard",
    dialect="gemini-cli",
    matcher="run_shell_command",
    run_by=("gemini-cli",),
    native_event="BeforeTool",
    timeout=5.0,
)
CURSOR = replace(
    CLAUDE,
    id="c",
    dialect="cursor",
    matcher="^(?:shell)$",
    run_by=("cursor",),
    native_event="beforeShellExecution",
    parallel=False,
    on_error=OnError.BLOCK,
    working_directory="/p",
)


def test_copies_for_several_agents_are_one_hook_of_all_of_them() -> None:
    (hook,) = merge_copies([CLAUDE, GEMINI, CURSOR], TOOLS)

    assert hook == replace(CLAUDE, run_by=("claude-code", "gemini-cli", "cursor"), on_error=OnError.BLOCK)


def test_copy_that_is_for_other_tools_is_another_hook() -> None:
    other = replace(GEMINI, matcher="write_file")

    assert merge_copies([CLAUDE, other], TOOLS) == [CLAUDE, other]


def test_other_command_event_or_condition_is_another_hook() -> None:
    others = [
        replace(GEMINI, command="python3 other.py"),
        replace(GEMINI, on=("after_tool",)),
        replace(GEMINI, condition="true"),
        replace(GEMINI, enabled=False),
    ]

    assert merge_copies([CLAUDE, *others], TOOLS) == [CLAUDE, *others]


def test_copy_in_a_workspace_takes_nothing_from_a_persons_own_hook() -> None:
    own = replace(CLAUDE, source=Source.USER)

    assert merge_copies([own, GEMINI], TOOLS) == [own, GEMINI]


def test_hook_that_stands_in_no_agents_file_is_left_as_it_is() -> None:
    ours = replace(CLAUDE, run_by=())

    assert merge_copies([ours, CLAUDE, ours], TOOLS) == [ours, CLAUDE, ours]


def test_matcher_means_tools_whatever_their_order_and_names() -> None:
    assert canonical_tools("Write|Bash", "claude-code", TOOLS) == ("shell", "write_file")
    assert canonical_tools("run_shell_command | write_file", "gemini-cli", TOOLS) == ("shell", "write_file")
    assert canonical_tools("write_file|shell", "hookline", TOOLS) == ("shell", "write_file")
    assert canonical_tools("Bash.*", "claude-code", TOOLS) == ("", "Bash.*")


def test_the_same_words_in_two_projects_of_a_repository_are_two_hooks() -> None:
    top = replace(CLAUDE, command='sh "$CLAUDE_PROJECT_DIR"/guard.sh', layer=Layer.PROJECT, root="/p")
    below = replace(top, root="/p/web")

    assert merge_copies([top, below], TOOLS) == [top, below]
    assert len(merge_copies([top, replace(GEMINI, command=top.command, layer=Layer.PROJECT, root="/p")], TOOLS)) == 1


def test_relative_script_that_two_agents_start_in_different_folders_is_two_hooks() -> None:
    mine = replace(CLAUDE, command="sh hooks/guard.sh", layer=Layer.USER)
    cursors = replace(CURSOR, command="sh hooks/guard.sh", layer=Layer.USER, working_directory="/home/me/.cursor")
    whole = "sh ~/hooks/guard.sh"

    assert merge_copies([mine, cursors], TOOLS) == [mine, cursors]
    assert len(merge_copies([replace(mine, command=whole), replace(cursors, command=whole)], TOOLS)) == 1
