"""The vectors of AGENT-HOOKS-0.1, run by the specification's own test kit against Hookline's engine."""

import asyncio
from typing import Any

import pytest

pytest.importorskip("agent_hooks", reason="agent-hooks-sdk is not installed")

from agent_hooks.context import AgentContextBuilder
from agent_hooks.ctk.runner import load_vectors, run_vector
from agent_hooks.exceptions import InterceptionBlocked

from hookline.conformance.agent_hooks import HooklineEmitter, HooklineHarness

VECTORS = {vector["id"]: vector for vector in load_vectors()}
# the engine answers whole events; a host that streams buffers the model's output before it raises the event
NOT_DECLARED = {f"AH-CTK-{number}": "incremental output is not offered" for number in (110, 111, 112, 113)}


def _harness() -> Any:
    # the kit declares its own reference harness in another way than its protocol asks for
    return HooklineHarness()


def test_all_vectors_of_the_specification_are_there() -> None:
    assert len(VECTORS) == 75
    assert len(VECTORS) - len(NOT_DECLARED) >= 66


@pytest.mark.parametrize("name", sorted(VECTORS))
def test_vector_of_the_specification_passes(name: str) -> None:
    result = asyncio.run(run_vector(_harness(), VECTORS[name]))

    if name in NOT_DECLARED:
        assert (result.status, "incremental_output" in result.detail) == ("skip", True)
    else:
        assert (result.status, result.failures) == ("pass", [])


def test_host_blocks_what_an_interceptor_of_the_sdk_denies() -> None:
    class Guard:
        def intercept(self, context: dict[str, Any]) -> dict[str, Any]:
            is_push = "push" in str(context["tool_call"]["args"])
            return {"decision": "deny", "reason": "no pushes"} if is_push else {"decision": "allow"}

    emitter = HooklineEmitter().register(Guard(), name="guard")
    build = AgentContextBuilder(agent_id="a", framework="own", session_id="s")

    async def call(command: str) -> Any:
        return await emitter.emit(build.pre_tool_call(call_id="1", name="shell", args={"command": command}))

    assert asyncio.run(call("ls")).record.proceeds
    with pytest.raises(InterceptionBlocked, match="no pushes"):
        asyncio.run(call("git push"))
