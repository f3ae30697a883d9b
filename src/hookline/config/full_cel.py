"""Conditions in all of CEL, with the official library; Hookline's own reader knows the part that policies use."""

import re
from collections.abc import Callable, Mapping
from typing import Final

from hookline.errors import ConditionError, ConfigError

# what is no name in a condition: texts, and what stands behind a dot or before a parenthesis
_TEXT: Final = re.compile(r"'''.*?'''|\"\"\".*?\"\"\"|'(?:[^'\\\n]|\\.)*'|\"(?:[^\"\\\n]|\\.)*\"|//[^\n]*", re.DOTALL)
_NAME: Final = re.compile(r"(?<![\w.`])(?<!\.\s)[A-Za-z_]\w*(?!\s*\(|\w)", re.ASCII)
# names that CEL itself has
_WORDS: Final = "true false null in"
_TYPES: Final = "bool bytes double dyn int list map null_type string type uint optional_type google"
_OWN: Final = frozenset(f"{_WORDS} {_TYPES}".split())
_SAID: Final = re.compile(r"ERROR: <input>:(?P<line>\d+):(?P<column>\d+): (?P<what>.*)")


# answers for the variables of an event: the type of the result, and its value
_Evaluate = Callable[[Mapping[str, object]], tuple[str, object]]


class CelCondition:
    """A condition that the official library reads and answers."""

    # the library does not tell names of the event from variables of a loop
    names: frozenset[str] = frozenset()

    def __init__(self, evaluate: _Evaluate, names: frozenset[str]) -> None:
        self._evaluate = evaluate
        self._variables = names

    def __call__(self, context: Mapping[str, object]) -> bool:
        """Return whether the condition holds for an event, given as the context of `model/templates.py`.

        Raises:
            ConditionError: It cannot be decided.
        """
        try:
            data = {name: _plain(context[name]) for name in self._variables if name in context}
            kind, answer = self._evaluate(data)
        # the library has no errors of its own: whatever it says, the condition was not decided
        except Exception as problem:  # noqa: BLE001
            raise ConditionError(f"CEL: {problem}") from None
        if kind == "BOOL":
            return answer is True
        if kind == "ERROR":
            raise ConditionError(f"CEL: {answer}")
        raise ConditionError(f"it gives {kind.lower()}, not true or false")

    def facts(self, context: Mapping[str, object]) -> str:  # noqa: ARG002 - the library does not tell what it looked at
        """Return "": the library does not report which values decided."""
        return ""


def compile_with_cel(text: str, *, trouble: str) -> CelCondition:
    """Read a condition that Hookline's own reader could not read; `trouble` is what it said.

    Raises:
        ConfigError: The library is not there, or it is no condition for it, either.
    """
    try:
        from cel_expr_python import cel  # type: ignore[import-untyped]  # noqa: PLC0415 - large, not always there
        from cel_expr_python.ext import ext_bindings, ext_encoders, ext_math, ext_optional, ext_strings  # type: ignore[import-untyped]  # noqa: PLC0415
    except ImportError:
        raise ConfigError(f"{trouble}; all of CEL needs one more package: pip install 'hookline[cel]'") from None
    extensions = [
        ext_bindings.ExtBindings(),
        ext_encoders.ExtEncoders(),
        ext_math.ExtMath(),
        ext_optional.ExtOptional(),
        ext_strings.ExtStrings(),
    ]
    # what an event has is known only when it comes: every name may stand for anything
    names = frozenset(_NAME.findall(_TEXT.sub("''", text))) - _OWN
    try:
        env = cel.NewEnv(variables=dict.fromkeys(names, cel.Type.DYN), extensions=extensions)
        expression = env.compile(text)
    except RuntimeError as problem:
        said = _SAID.search(str(problem))
        if said is None or said["what"].startswith("undeclared reference"):
            # Hookline's own reader has reported an unknown name with a better message
            raise ConfigError(trouble) from None
        raise ConfigError(f"if: {said['what']}, at line {said['line']}, column {said['column']}: {text}") from None
    kind = expression.return_type().name()
    if kind not in {"BOOL", "DYN"}:
        raise ConfigError(f"if: a condition is true or false, but this is of type {kind.lower()}")

    def evaluate(data: Mapping[str, object]) -> tuple[str, object]:
        result = expression.eval(data=data)
        return result.type().name(), result.value()

    return CelCondition(evaluate, names)


def _plain(value: object) -> object:
    """Return a value in the types that the library takes."""
    if isinstance(value, Mapping):
        return {_plain(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, str):
        return str(value)
    return value
