"""Throw broken answers and events at every dialect; anything but a verdict, an event or a refusal is a failure.

A denial in the words of one dialect is also read by another one, where it has to block or to be refused.

    python tools/fuzz_replies.py --count 100000 --seed 7

The same seed gives the same documents.
"""

import argparse
import json
import random
import sys
import traceback
from collections import Counter
from collections.abc import Callable
from time import perf_counter

from hookline import json_codec
from hookline.dialects import DIALECTS
from hookline.errors import DialectError
from hookline.model.event import Event, EventName, Session
from hookline.model.exchange import Reply, Request
from hookline.model.hook import Hook
from hookline.model.verdict import Decision, Effect, EffectKind, Outcome, Verdict

HOOK = Hook(id="fuzz", command="fuzz")
TOOLS = ("shell", "read_file", "write_file", "edit_file", "multi_edit", "grep", "web_fetch", "mcp__a__b", "unknown")
WORDS = (
    "allow", "deny", "ask", "block", "approve", "modify", "stop", "pass", "continue", "none", "askAgent", "runCommand",
    "decision", "reason", "metadata", "data", "args", "result", "error", "context", "message", "version", "2.0", "1.0.0",
    "permissionDecision", "permission", "behavior", "action", "cancel", "review", "ok", "blocked", "decison", "denied",
    "hookSpecificOutput", "systemMessage", "additionalContext", "stopReason", "modifiedArgs", "modified_args", "updatedInput", "edits", "command", "path", "startLine", "url", "timeout", "",
    "2026-01-16T10:00:00Z", "0001-01-01T00:00:00+23:59", "ä\u0000\U0001f600", "\ud800", "x" * 3000,
)  # fmt: skip
NUMBERS = (0, 1, -1, 2, 2**31, 2**63, 2**64, -(2**70), 10**400, 0.5, -0.0, 1e308, float("nan"), float("inf"))
BYTES = (b"", b"{", b"}", b"\xff", b"\xef\xbb\xbf", b"\x00", b"\\ud800", b'"', b"null", b"1e999", b"[" * 2000)


def value(rng: random.Random, depth: int) -> object:
    """Make any JSON value, and some that are none."""
    kind = rng.randrange(8 if depth else 5)
    if kind == 0:
        return rng.choice((None, True, False))
    if kind == 1:
        return rng.choice(NUMBERS)
    if kind in {2, 3, 4}:
        return rng.choice(WORDS)
    if kind == 5:  # noqa: PLR2004 - one of eight kinds
        return [value(rng, depth - 1) for _ in range(rng.randrange(4))]
    return {rng.choice(WORDS): value(rng, depth - 1) for _ in range(rng.randrange(5))}


def spoil(rng: random.Random, document: object) -> object:
    """Replace, remove or add one value somewhere in a document."""
    if not isinstance(document, dict) or not document or rng.random() < 0.15:  # noqa: PLR2004 - now and then the whole
        return value(rng, 3)
    key = rng.choice(list(document))
    action = rng.randrange(5)
    if action == 0:
        return {name: item for name, item in document.items() if name != key}
    if action == 1:
        return {**document, rng.choice(WORDS): value(rng, 2)}
    return {**document, key: spoil(rng, document[key])}


def spoil_bytes(rng: random.Random, raw: bytes) -> bytes:
    """Damage the bytes: cut, insert, or wrap them in noise."""
    place = rng.randrange(len(raw) + 1)
    cut = rng.randrange(6)
    return rng.choice(
        (
            raw[:place],
            raw[:place] + rng.choice(BYTES) + raw[place + cut :],
            b"noise {not json}\n" + raw + b"\nmore",
            raw + raw,
            rng.choice(BYTES) + raw,
        )
    )


def event(rng: random.Random) -> Event:
    """Make an event."""
    return Event(
        name=rng.choice(list(EventName)),
        data={rng.choice(WORDS): value(rng, 2) for _ in range(rng.randrange(4))},
        tool=rng.choice(("", *TOOLS)),
        host=rng.choice(("", *DIALECTS)),
        native_args=rng.choice((None, value(rng, 2))),
        native_name=rng.choice(("", "beforeShellExecution", "PreToolUse")),
        args={rng.choice(WORDS): value(rng, 2) for _ in range(rng.randrange(4))},
        session=Session(id="s", started=rng.choice((0, 1768557600000, 10**18))),
        timestamp=rng.choice((0, 1768557600000, 10**18)),
    )


def outcome(rng: random.Random) -> Outcome:
    """Make an outcome."""
    paths = {EffectKind.REWRITE: (("args", "command"), ("output",)), EffectKind.DATA: (("k",),)}
    kinds = rng.choices(list(EffectKind), k=rng.randrange(5))
    effects = tuple(Effect(kind, value(rng, 2), rng.choice(paths.get(kind, ((),)))) for kind in kinds)
    return Outcome(decision=rng.choice(list(Decision)), reasons=("because",) * rng.randrange(3), effects=effects)


def damaged(rng: random.Random, document: object) -> bytes:
    """Write a document with some damage."""
    for _ in range(rng.randrange(4)):
        document = spoil(rng, document)
    raw = json.dumps(document).encode()
    return spoil_bytes(rng, raw) if rng.random() < 0.3 else raw  # noqa: PLR2004 - most damage is in the values


def attempt(decode: Callable[[], object], *, wanted: type) -> str:
    """Decode once and name the result; anything but the two allowed ends is told in full."""
    try:
        result = decode()
    except DialectError:
        return "refused"
    except Exception:  # noqa: BLE001 - finding these is what this program is for
        return traceback.format_exc()
    return "understood" if isinstance(result, wanted) else f"a {type(result).__name__} came back"


def fuzz_one(rng: random.Random, name: str) -> tuple[list[str], bytes]:
    """Try one damaged answer and the same bytes as an event."""
    dialect = DIALECTS[name]
    asked = event(rng)
    request: Request = dialect.encode_event(asked, HOOK)
    answer = dialect.encode_outcome(outcome(rng), asked)
    # some agents are answered with nothing, with plain text, or with a line for the person before the answer
    said = json_codec.find_last_object(answer.stdout)[0]
    document = rng.choice((said, said, json.loads(request.body)))
    raw = damaged(rng, document)
    native = rng.choice(("", request.native, *dialect.SPEC.events.values(), *dialect.SPEC.more_events))
    reply = Reply(stdout=raw, stderr=rng.choice(BYTES), exit_code=rng.choice((0, 0, 0, 1, 2)))
    if rng.random() < 0.1:  # noqa: PLR2004 - some hooks are functions
        reply = Reply(value=spoil(rng, document))
    return [
        attempt(lambda: dialect.decode_reply(reply, request), wanted=Verdict),
        attempt(lambda: dialect.decode_event(raw, native), wanted=Event),
    ], raw


CALL = Event(name=EventName.BEFORE_TOOL, tool="shell", args={"command": "ls"})
DENIAL = Outcome(decision=Decision.DENY, reasons=("because",))


def fuzz_no(rng: random.Random, name: str) -> tuple[str, bytes]:
    """Let a hook of one dialect say no in the words of another, with extra keys beside it: it blocks, or fails."""
    other = DIALECTS[rng.choice(sorted(DIALECTS))]
    document = json_codec.find_last_object(other.encode_outcome(DENIAL, CALL).stdout)[0]
    if document is None:
        return "understood", b""
    extras = {rng.choice(WORDS): value(rng, 1) for _ in range(rng.randrange(3))}
    raw = json.dumps({**extras, **document}).encode()
    dialect = DIALECTS[name]
    request = dialect.encode_event(CALL, HOOK)
    try:
        verdict = dialect.decode_reply(Reply(stdout=raw), request)
    except DialectError:
        return "refused", raw
    passes = verdict.decision < Decision.ASK and verdict.failure is None
    return f"a no of {other.SPEC.name} passed: {verdict}" if passes else "understood", raw


def main() -> int:
    """Fuzz and say how it went."""
    parser = argparse.ArgumentParser(description="Fuzz every dialect's decoders.")
    parser.add_argument("--count", type=int, default=100_000, help="how many answers in all")
    parser.add_argument("--seed", type=int, default=1, help="the same seed gives the same answers")
    options = parser.parse_args()
    rng = random.Random(options.seed)  # noqa: S311 - to be repeated, not to be secret
    names = sorted(DIALECTS)
    counts: dict[str, Counter[str]] = {name: Counter() for name in names}
    failed = 0
    started = perf_counter()
    for number in range(options.count):
        name = names[number % len(names)]
        results, raw = fuzz_one(rng, name)
        denied, no = fuzz_no(rng, name)
        if denied not in {"understood", "refused"}:
            failed += 1
            print(f"{name}, no, document {number}: {no[:300]!r}\n{denied}", file=sys.stderr)
        for result, what in zip(results, ("reply", "event"), strict=True):
            bad = result not in {"understood", "refused"}
            counts[name][f"{what} {'failed' if bad else result}"] += 1
            if bad:
                failed += 1
                print(f"{name}, {what}, document {number}: {raw[:300]!r}\n{result}", file=sys.stderr)
    for name in names:
        said = counts[name]
        print(
            f"{name:14} {said['reply understood']:7} verdicts {said['reply refused']:7} refused"
            f"   {said['event understood']:7} events {said['event refused']:7} refused"
        )
    print(f"seed {options.seed}, {perf_counter() - started:.0f} s")
    print(f"{options.count * 3 - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
