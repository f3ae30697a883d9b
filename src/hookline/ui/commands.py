"""Run commands of Hookline in a process of their own: they run code of hooks, or edit files and tell the agents.

So the page does what the command line does, and a hook that crashes or hangs takes its own process with it.
"""

import asyncio
import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import Final

from hookline import json_codec
from hookline.http_server import HTTPException
from hookline.text import sanitize

# seconds until a command is ended; hooks have timeouts of their own, which are shorter as a rule
LONGEST: Final = 600.0


async def run_command(*words: str) -> object:
    """Run a command with `--json` and return what it printed.

    Raises:
        HTTPException: It failed, and says why.
    """
    # -P: a module of the folder in which the server was started must not be loaded
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", "-m", "hookline", words[0], "--json", *words[1:]),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(LONGEST):
            out, err = await process.communicate()
    except TimeoutError:
        raise HTTPException(500, f"`hookline {words[0]}` took longer than {LONGEST:g} seconds") from None
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError):
                process.terminate()
            await process.wait()
    try:
        answer = json_codec.load(out)
    except ValueError:
        said = err.decode("utf-8", "replace").strip() or f"exit code {process.returncode}"
        raise HTTPException(500, sanitize(f"`hookline {words[0]}` failed: {said}")) from None
    error = answer.get("error") if isinstance(answer, Mapping) else None
    if isinstance(error, Mapping):
        raise HTTPException(400, sanitize(str(error.get("message", ""))))
    return answer
