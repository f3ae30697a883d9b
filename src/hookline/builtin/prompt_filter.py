"""The built-in hook `prompt-filter`: deny a prompt with a secret in it, or with what a pattern of the user names."""

from typing import Final

from hookline.builtin.catalogue import BuiltinScope, Judge, Options
from hookline.conditions.regex import compile_regex
from hookline.config.keys import read_texts
from hookline.model.event import Event
from hookline.model.verdict import Verdict
from hookline.text import MASK, redact, sanitize

_LONGEST: Final = 80


def make_filter(_scope: BuiltinScope, options: Options) -> Judge:
    """Return the hook."""
    patterns = [(pattern, compile_regex(pattern)) for pattern in read_texts(options, "deny")]

    def judge(event: Event) -> Verdict | None:
        prompt = event.data.get("prompt")
        if not isinstance(prompt, str):
            return None
        if options.get("secrets", True) and (secret := find_secret(prompt)):
            return Verdict.deny(
                f"prompt-filter: the prompt was not sent, because it has what looks like a secret: {secret}; take it "
                "out, or name the variable or the file that holds it"
            )
        for pattern, regex in patterns:
            if regex.matches(prompt):
                # the pattern is not shown: it may be what must not be sent
                number = next(at for at, (one, _) in enumerate(patterns, 1) if one is pattern)
                return Verdict.deny(
                    f"prompt-filter: the prompt was not sent: pattern {number} of your settings forbids it"
                )
        return None

    return judge


def find_secret(prompt: str) -> str:
    """Return the place of the first secret in a text, masked; empty where there is none."""
    masked = redact(prompt)
    if masked == prompt:
        return ""
    # a mask that was there before is no secret
    line = next((line for line in masked.splitlines() if MASK in line), masked)
    at = line.find(MASK)
    return sanitize(line[max(at - _LONGEST // 2, 0) : at + len(MASK)], longest=_LONGEST + len(MASK))
