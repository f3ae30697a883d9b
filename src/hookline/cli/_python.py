"""Whether a Python finds us in the way that others will look for us: without its environment, from any folder."""

from typing import Final

from hookline.errors import HostError

_SECONDS: Final = 60


def check_python(python: str, *, module: str) -> None:
    """Make sure that what we write into the settings of others will find us.

    Raises:
        HostError: It will not.
    """
    import subprocess  # noqa: PLC0415 - only an installation needs it

    words = [python, "-E", "-P", "-c", f"import {module}"]
    try:
        done = subprocess.run(words, cwd="/", capture_output=True, timeout=_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as problem:
        raise HostError(f"cannot run {python}: {problem}") from None
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
        raise HostError(
            f"{python} cannot run hookline without PYTHONPATH and the folder you are in ({said}); install it for that "
            "Python (pip install hookline), and try again"
        )
