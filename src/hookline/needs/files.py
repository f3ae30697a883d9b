"""Files and folders that have to be there, by path or by pattern."""

import asyncio
import glob
from pathlib import Path

from hookline.display import exact
from hookline.model.needed import file_of
from hookline.needs._place import Place


async def look(text: str, place: Place) -> str:
    """Say that there is no such file; one that is a link to nothing is not there."""
    name = str(_at_home(file_of(text)))
    path = Path(place.folder, name)
    if _is_there(path):
        return ""
    if not glob.has_magic(name):
        return f'the file "{exact(str(path))}" is not there: make it, or correct files in needs'
    # a pattern may lead through many folders
    if await asyncio.to_thread(_any, name, place.folder):
        return ""
    return f'no file in "{exact(place.folder)}" matches "{exact(text)}"'


def _is_there(path: Path) -> bool:
    return path.exists()


def _at_home(name: str) -> Path:
    try:
        return Path(name).expanduser()
    except RuntimeError:  # nobody has such a home
        return Path(name)


def _any(pattern: str, folder: str) -> bool:
    return next(glob.iglob(pattern, root_dir=folder, recursive=True), None) is not None  # noqa: PTH207 - the first will do
