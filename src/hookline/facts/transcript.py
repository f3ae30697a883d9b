"""The last messages of a conversation, from the transcript that the agent names in its payload.

Agents write JSON lines in shapes of their own, which have the same in common: a role, and texts in `content` or `parts`.
"""

import asyncio
from collections.abc import Iterator, Mapping
from typing import Final

from hookline import caller_context, json_codec
from hookline.files import read_regular_file
from hookline.model.event import Event
from hookline.model.requirements import FactError

MOST_BYTES: Final = 1024 * 1024
MOST_MESSAGES: Final = 20
LONGEST_MESSAGE: Final = 4_000

_ROLES: Final = {"user": "user", "human": "user", "assistant": "assistant", "gemini": "assistant", "model": "assistant"}


async def read_transcript(event: Event) -> dict[str, object]:
    """Return the path of the transcript and its last messages, the newest last; empty where the agent names none.

    Raises:
        FactError: The file cannot be read.
    """
    path = event.data.get("transcript_path")
    if not path or not isinstance(path, str):
        return {"path": "", "messages": []}
    path = caller_context.expand_home(path)
    raw = await asyncio.to_thread(read_regular_file, path, MOST_BYTES, from_end=True)
    if raw is None:
        raise FactError(f"{path} cannot be read")
    return {"path": path, "messages": list(_read_messages(raw))[-MOST_MESSAGES:]}


def _read_messages(raw: bytes) -> Iterator[dict[str, str]]:
    for line in raw.split(b"\n"):
        try:
            document = json_codec.load(line)
        except ValueError:
            # the first line may have lost its beginning, and the last one its end
            continue
        if isinstance(document, dict) and (message := _read_message(document)):
            yield message


def _read_message(document: Mapping[str, object]) -> dict[str, str]:
    """Return the role and the text of a line; empty for what is no message: results of tools, settings, times."""
    inner = next((one for key in ("message", "payload") if isinstance(one := document.get(key), dict)), document)
    role = _ROLES.get(str(inner.get("role") or document.get("type")), "")
    text = "" if document.get("isMeta") else _join_texts(inner.get("content") or inner.get("parts"))
    return {"role": role, "text": text[:LONGEST_MESSAGE]} if role and text.strip() else {}


def _join_texts(value: object) -> str:
    if isinstance(value, list):
        return "\n".join(filter(None, (_join_texts(part.get("text")) for part in value if isinstance(part, dict))))
    return value if isinstance(value, str) else ""
