"""Switch built-in hooks on and off: they stand in no file but in the settings of the person's own one."""

from collections.abc import Sequence
from typing import Final

from hookline.builtin.catalogue import bare
from hookline.cli._change import Draft, Session, file_at, listed, text_of
from hookline.config import edit
from hookline.config.settings import TABLE
from hookline.config.vocabulary import quoted
from hookline.errors import ConfigError
from hookline.model.hook import Hook, Layer

_POINTER: Final = (TABLE, "builtins")


def switch_builtins(change: Session, hooks: Sequence[Hook], *, on: bool) -> int:
    """Write which built-in hooks are on.

    Raises:
        ConfigError: The administrator switched one on, or the file cannot be changed.
    """
    different = [hook for hook in {hook.id: hook for hook in hooks}.values() if hook.enabled is not on]
    for hook in different:
        if hook.layer is Layer.MANAGED:
            raise ConfigError(
                f"hook {quoted(hook.id)} is managed: whoever administers this machine switched it on, and only they "
                "switch it off"
            )
    word = "on" if on else "off"
    notes = [f'"{hook.id}" is switched {word} already' for hook in hooks if hook.enabled is on]
    notes += [f'"{hook.id}" runs from now on, in every project' for hook in different if on]
    file = file_at(change.project, change.project.folders.config / "hookline.toml")
    raw, text = text_of(file)
    if different:
        text = _written(text, {bare(hook.id) for hook in different}, on=on, path=file.path)
    draft = Draft(file=file, before=raw, text=text if raw is not None or text else None)
    return change.finish([draft.change], f"switched {word} {listed(different)}", notes=notes)


def _written(text: str, names: set[str], *, on: bool, path: str) -> str:
    before = edit.value_of(text, path=path)
    there = _names(edit.at(before, _POINTER), path=path)
    if on:
        if edit.at(before, _POINTER[:1]) is None:
            # a table of its own, as people write it; it can stand after all others
            text = f"{text.rstrip()}\n\n[{TABLE}]\n".lstrip("\n")
        return edit.put(text, _POINTER, [*there, *sorted(names)], path=path)
    left = [name for name in there if bare(name) not in names]
    return edit.put(text, _POINTER, left, path=path) if left else edit.drop(text, _POINTER, path=path, prune=True)


def _names(found: object, *, path: str) -> list[str]:
    """Give the hooks that a file names; what cannot be read is not written over, because somebody meant it."""
    if found is None:
        return []
    if isinstance(found, list) and all(isinstance(name, str) for name in found):
        return [str(name) for name in found]
    raise ConfigError(f'builtins in [{TABLE}] is no list of names such as ["read-only"]: correct it first', path=path)
