import asyncio
import sys
from pathlib import Path

import pytest

from hookline.debug.explain import attach_live_view, describe_skips
from hookline.engine.engine import Engine
from hookline.model.hook import Hook, Source
from hookline.model.plan import Gate, Skip
from hookline.model.requirements import Caching
from hookline.model.verdict import Outcome, Verdict


def program(folder: Path, text: str, **fields: object) -> Hook:
    script = folder / "hook.py"
    script.write_text(text)
    return Hook(
        id="one",
        on="before_tool",
        command=sys.executable,
        args=(str(script),),
        source=Source.BUILTIN,
        shell=False,
        **fields,  # type: ignore[arg-type]
    )


def shown(*hooks: Hook, raw: bool, cwd: str = "/") -> list[str]:
    lines: list[str] = []

    async def emit() -> Outcome:
        async with Engine(cwd=cwd) as engine:
            engine.add(*hooks)
            attach_live_view(engine, lines.append, raw=raw)
            outcome = await engine.emit("before_tool", tool="shell", args={"command": "ls"})
            await engine.drain()
            return outcome

    asyncio.run(emit())
    return lines


@pytest.mark.spec("C-17")
def test_each_hook_has_a_line_when_it_starts_and_when_it_ends() -> None:
    hooks = [
        Hook(id="quiet", on="before_tool", call=lambda _event: None, source=Source.BUILTIN),
        Hook(id="strict", on="before_tool", call=lambda _event: Verdict.deny("no listing"), source=Source.BUILTIN),
    ]

    starts, ends, other_starts, other_ends = shown(*hooks, raw=False)

    assert starts == "hook quiet (hookline): starts at before_tool"
    assert ends.startswith("hook quiet (hookline): pass after ")
    assert other_starts == "hook strict (hookline): starts at before_tool"
    assert other_ends.startswith("hook strict (hookline): deny after ")
    assert other_ends.endswith(" ms: no listing")


def test_failure_says_what_follows_from_it(tmp_path: Path) -> None:
    _, goes_on = shown(program(tmp_path, "raise SystemExit(3)", on_error="continue"), raw=False)
    _, blocks = shown(program(tmp_path, "raise SystemExit(3)", on_error="block"), raw=False)

    assert "failed after" in goes_on
    assert goes_on.endswith("; the operation goes on")
    assert blocks.endswith("; blocks")


@pytest.mark.spec("A-19")
def test_debugging_shows_what_a_hook_was_given_and_gave_back(tmp_path: Path) -> None:
    text = "import sys; input(); print('hm', file=sys.stderr); print('{\"context\": \"seen\"}')"

    lines = shown(program(tmp_path, text, env={"LEVEL": "3"}), raw=True, cwd=str(tmp_path))

    labelled = {line.split("|")[0].strip(): line.partition("| ")[2] for line in lines if "|" in line}
    assert labelled["argv"] == f'["{sys.executable}", "{tmp_path}/hook.py"]'
    assert labelled["cwd"] == str(tmp_path)
    assert labelled["env"] == "LEVEL=3"
    assert '"command":"ls"' in labelled["stdin"]
    assert labelled["stdout"] == '{"context": "seen"}'
    assert labelled["stderr"] == "hm"
    assert labelled["exit code"] == "0"
    assert "seen" in labelled["effects"]
    assert lines[0] == "hook one (hookline): starts at before_tool"


def test_secrets_are_not_shown(tmp_path: Path) -> None:
    key = "ghp_" + "a1" * 18

    lines = shown(program(tmp_path, f"print('{key}')", env={"GITHUB_TOKEN": key}), raw=True)

    assert not any(key in line for line in lines)
    assert any(line.lstrip().startswith("env") for line in lines)


def test_nothing_is_tapped_without_debugging() -> None:
    engine = Engine(cwd="/")

    attach_live_view(engine, print)

    assert engine.runner.tap is None


def test_long_output_is_shortened(tmp_path: Path) -> None:
    lines = shown(program(tmp_path, "print('x\\n' * 1000)"), raw=True)

    assert sum(line.startswith("  stdout ") for line in lines) == 201
    assert any(line.endswith("… 801 more lines") for line in lines)


def test_hook_that_was_left_out_has_a_line_with_gate_and_reason() -> None:
    hook = Hook(id="one", on="before_tool", command="x", dialect="ollm")

    (line,) = describe_skips([Skip(hook, Gate.MATCHER, "no match")])

    assert line == "hook one (ollm): not run, matcher: no match"


def test_hook_in_the_background_waits_and_a_kept_answer_is_no_run() -> None:
    lines: list[str] = []

    async def emit() -> None:
        async with Engine() as engine:
            engine.add(
                Hook(id="later", on="before_tool", call=lambda _event: None, source=Source.BUILTIN, background=True),
                Hook(
                    id="kept",
                    on="before_tool",
                    call=lambda _event: None,
                    source=Source.BUILTIN,
                    cache=Caching(seconds=60),
                ),
            )
            await engine.emit("before_tool", tool="shell", args={"command": "ls"})
            await engine.drain()
            attach_live_view(engine, lines.append)
            await engine.emit("before_tool", tool="shell", args={"command": "ls"})
            await engine.drain()

    asyncio.run(emit())

    assert any(line.startswith("hook later: waits in the queue, job ") for line in lines)
    assert "hook kept: pass, as it did before" in lines
