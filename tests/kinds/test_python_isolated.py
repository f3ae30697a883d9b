"""Python hooks that never run in the process of the engine, whatever they say themselves."""

import asyncio
import json
import os
from pathlib import Path

import pytest

from hookline import caller_context
from hookline.kinds.python import Python
from hookline.model.event import Event, EventName
from hookline.model.exchange import Request
from hookline.model.hook import Hook, Source

pytestmark = pytest.mark.skipif(not hasattr(os, "posix_spawn"), reason="workers need posix_spawn")


def test_python_hooks_may_all_be_kept_out_of_this_process(tmp_path: Path) -> None:
    text = "import os\ndef who(event):\n    return [os.getpid(), os.getcwd(), os.environ.get('MINE'), sorted(os.environ)]\n"
    (tmp_path / "hooks.py").write_text(text, "utf-8")
    kind = Python([str(tmp_path)], always_isolated=True)
    hook = Hook(id="h", module="hooks", function="who", source=Source.USER)
    theirs = {"PATH": os.environ["PATH"], "MINE": "ours"}

    async def call() -> list[object]:
        try:
            with caller_context.use(caller_context.CallerContext(theirs, str(tmp_path))):
                first = await kind.call(hook, Request(event=Event(name=EventName.BEFORE_TOOL), document={}), timeout=50)
            with caller_context.use(caller_context.CallerContext({**theirs, "MINE": "two"}, "/")):
                second = await kind.call(
                    hook, Request(event=Event(name=EventName.BEFORE_TOOL), document={}), timeout=50
                )
        finally:
            await kind.close()
        return [first.value, second.value]

    (pid, *first), (_, *second) = json.loads(json.dumps(asyncio.run(call())))

    assert pid != os.getpid()
    assert first[:2] == [str(tmp_path), "ours"]
    assert second[:2] == ["/", "two"]
    assert "HOME" not in first[2]
