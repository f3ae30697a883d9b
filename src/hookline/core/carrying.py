"""Approvals as a file that carries them to another machine, such as one that builds and tests."""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from hookline.core.approvals import Approval, read_guarded
from hookline.core.repository import top
from hookline.errors import ConfigError, StoreError
from hookline.model.workspace import lies_in

_DIGEST: Final = re.compile(r"[0-9a-f]{64}")
_VERSION: Final = 1


class _Exported(Struct, frozen=True, kw_only=True):
    hookline_approvals: int
    approvals: tuple[Approval, ...]


def export(approvals: Iterable[Approval], *, exact: bool = False) -> bytes:
    """Write approvals as JSON that people can read; with `exact`, with the programs they hold for."""
    carried = tuple(_carried(approval, exact=exact) for approval in approvals)
    raw = msgspec.json.encode(_Exported(hookline_approvals=_VERSION, approvals=carried))
    return msgspec.json.format(raw, indent=2) + b"\n"


def read(path: Path, *, workspace: Path | None) -> list[Approval]:
    """Read exported approvals from outside of a workspace.

    Raises:
        ConfigError: The file lies in the workspace, others could have written it, or it is something else.
    """
    if workspace is not None and lies_in(str(path.absolute()), (str(workspace.resolve()), top(workspace))):
        raise ConfigError(
            "approvals are not taken from inside the workspace they are about: whoever wrote the hooks "
            "could have written them; keep the file elsewhere",
            path=str(path),
        )
    try:
        book = msgspec.json.decode(read_guarded(path), type=_Exported)
    except OSError as problem:
        raise ConfigError(f"the approvals cannot be read: {problem.strerror}", path=str(path)) from None
    except StoreError as problem:
        raise ConfigError(str(problem)) from None
    except (msgspec.MsgspecError, UnicodeDecodeError) as problem:
        raise ConfigError(f"this is no export of approvals ({problem})", path=str(path)) from None
    if book.hookline_approvals != _VERSION:
        raise ConfigError(
            f"the export has version {book.hookline_approvals}, wanted {_VERSION}; export it again", path=str(path)
        )
    for item in book.approvals:
        if not _DIGEST.fullmatch(item.digest) or not item.repository:
            raise ConfigError(f'the approval of "{item.hook}" has no valid digest or no repository', path=str(path))
    return [replace(item, imported=True) for item in book.approvals]


def _carried(approval: Approval, *, exact: bool) -> Approval:
    # the numbers of a file mean nothing on another machine
    programs = tuple(replace(program, seen=()) for program in approval.programs or ()) if exact else None
    return replace(approval, programs=programs)
