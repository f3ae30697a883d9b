import asyncio
import os
import py_compile
import sys
from pathlib import Path

import pytest

from hookline import Engine, Hook, Source, TrustedHooks

MODES = [py_compile.PycInvalidationMode.UNCHECKED_HASH, py_compile.PycInvalidationMode.TIMESTAMP]


@pytest.mark.spec("O-15")
@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.name)
def test_compiled_file_that_a_project_brings_does_not_run_in_place_of_the_approved_text(
    tmp_path: Path, mode: py_compile.PycInvalidationMode
) -> None:
    (tmp_path / "guard.py").write_text("import json, helper\nprint(json.dumps({'reason': helper.WORD}))\n")
    helper = tmp_path / "helper.py"
    helper.write_text("WORD = 'evil'\n")
    made = helper.stat()
    py_compile.compile(str(helper), invalidation_mode=mode, doraise=True)
    helper.write_text("WORD = 'good'\n")
    # an archive keeps the time of its files, so a compiled one can look as if it were up to date
    os.utime(helper, ns=(made.st_atime_ns, made.st_mtime_ns))
    hook = Hook(
        id="h",
        on="before_tool",
        command=sys.executable,
        args=("guard.py",),
        root=str(tmp_path),
        dialect="ollm",
        source=Source.WORKSPACE,
    )

    async def scenario() -> bytes:
        trust = TrustedHooks()
        async with Engine(trust=trust, cwd=str(tmp_path)) as engine:
            engine.add(hook)
            trust.approve(hook, cwd=str(tmp_path))
            execution = await engine.runner.execute_hook_with_metadata(hook, engine.event("before_tool", tool="shell"))
            return execution.reply.stdout + execution.reply.stderr

    assert asyncio.run(scenario()) == b'{"reason": "good"}\n'
