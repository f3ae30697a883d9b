"""Write a hook into an agent's own file: under its events, with its names of tools, in its unit of time."""

import shlex
from collections.abc import Iterable, Mapping
from typing import Final

from hookline.config.copies import meaning
from hookline.config.document import KeyPath
from hookline.config.formats.agents import FORMS
from hookline.config.formats.agents.style import Aim, Moment, Style
from hookline.config.writing import Entry, Target, Wider, Written, event_names, fields_of, group_of, other_dialect
from hookline.model.hook import Hook

# what the entry of each kind of hook calls its type
_TYPES: Final[Mapping[str, str]] = {"command": "command", "webhook": "http", "ask_agent": "agent"}
_REACHED_BY: Final[Mapping[str, str]] = {"command": "command", "webhook": "url", "ask_agent": "prompt"}
# a bundle has to be called something, and what `hookline install` writes is called otherwise
_BUNDLE: Final = "carried"
# what is said by where an entry stands, or is the agent's own way
_APART: Final = frozenset({"command", "args", "shell", "matcher", "name", "parallel", "enabled", "method"})


def write_agents(hook: Hook, target: Target, *, form: str) -> Written:
    """Write a hook in one of the forms that agents' files have."""
    style = FORMS[form].style
    if _REACHED_BY.get(hook.kind) not in style.spelled:
        return Written((), (f"{hook.kind} hooks have no place in this format",))
    if not hook.enabled and "enabled" not in style.spelled:
        return Written((), ("it is switched off, and hooks in this file have no switch",))
    entry, lost = _entry(hook, target, style)
    entries: list[Entry] = []
    for event, moment in _events(hook, target, style, lost):
        matcher = _matcher(hook, target, moment, lost, event=event)
        value = {**entry, **({"matcher": matcher} if matcher else {})}
        entries.append(_SHAPES.get(form, _flat if style.alone else _grouped)(event, value, style, target))
    return Written(tuple(entries), (*dict.fromkeys(lost), *other_dialect(hook, target)), style.around)


def _entry(hook: Hook, target: Target, style: Style) -> tuple[dict[str, object], list[str]]:
    """Give what the entry says whatever the event, and what it cannot say."""
    fields = {name: spelling[0] for name, spelling in style.spelled.items()}
    plain, lost = fields_of(hook, fields, apart=_APART)
    said = {key: name for name, key in fields.items()}
    value = {key: style.spelled[said[key]][1](getattr(hook, said[key])) for key in plain}
    if hook.command:
        value = {style.spelled["command"][0]: line_of(hook, target), **value}
    if hook.method != "POST":
        lost.append("there is no key for method")
    title = {"name": hook.name or hook.id} if "name" in style.spelled else {}
    switch = {} if hook.enabled else {"enabled": False}
    kind = {"type": _TYPES[hook.kind]} if "type" in style.keys or "action" in style.keys else {}
    return {**title, **kind, **value, **switch}, lost


def line_of(hook: Hook, target: Target) -> str:
    """Give a command as the line that a shell reads, whatever reads it where it stands now."""
    if hook.args:
        return shlex.join([hook.command, *hook.args])
    if hook.shell or (hook.shell is None and hook.dialect in target.vocabulary.shell_dialects):
        return hook.command
    try:
        return shlex.join(shlex.split(hook.command))
    except ValueError:
        return hook.command


def _events(hook: Hook, target: Target, style: Style, lost: list[str]) -> Iterable[tuple[str, Moment]]:
    """Give the agent's own events at which the hook would run, with what each is about."""
    if hook.dialect == target.dialect and hook.native_event in {*style.moments, *_known(target)}:
        return [(hook.native_event, style.moments.get(hook.native_event, Moment()))]
    found: dict[str, Moment] = {}
    for event in hook.on:
        own = {name: moment for name, moment in style.moments.items() if event in moment.on}
        general = [name for name, moment in own.items() if not moment.tools]
        narrow = {name: moment for name, moment in own.items() if moment.tools and _meets(hook, target, moment)}
        if not general:
            names, why = event_names((event,), target.dialect, target.vocabulary, own_first=True)
            # an event that is only about some tools does for all of them where there is no other
            general = [name for name in names if name not in own]
            lost += why if not general and not narrow else []
        chosen = {name: style.moments.get(name, Moment()) for name in general[:1]} or narrow
        found |= chosen
    return found.items()


def _known(target: Target) -> Iterable[str]:
    return target.vocabulary.names.get(target.dialect, {})


def _tools(hook: Hook, target: Target) -> tuple[str, ...]:
    """Give the tools a hook is for, in our words; none when it names none, or not in a way that can be told."""
    found = meaning(hook.matcher, hook.dialect, target.vocabulary.tools) if hook.matcher else ()
    return found if "" not in found else ()


def _meets(hook: Hook, target: Target, moment: Moment) -> bool:
    tools = _tools(hook, target)
    return not tools or not set(tools).isdisjoint(moment.tools)


def _matcher(hook: Hook, target: Target, moment: Moment, lost: list[str], *, event: str) -> str:
    """Give the matcher in the agent's words, or as it stands where it is more than names."""
    if not hook.matcher:
        return ""
    tools = _tools(hook, target)
    if moment.aim is not Aim.SUBJECT:
        others = [tool for tool in moment.tools if tool not in tools]
        if len(others) == len(moment.tools) or not tools:
            lost.append(Wider(f"the matcher {hook.matcher}: there is none at this event"))
        elif others:
            # the agent's own word for what the hook is about
            lost.append(f"{event} is about {', '.join(others)}, too")
        return ""
    if hook.dialect == target.dialect or not tools:
        if hook.dialect != target.dialect:
            lost.append(f"the matcher {hook.matcher} is more than a list of names; it is written as it stands")
        return hook.matcher
    names = target.vocabulary.tools.get(target.dialect, {})
    nameless = [tool for tool in tools if not names.get(tool)]
    if nameless:
        lost.append(f"the tools {', '.join(nameless)} have no name in {target.dialect}")
    return "|".join(dict.fromkeys(names[tool][0] for tool in tools if names.get(tool))) or "|".join(tools)


def _flat(event: str, value: dict[str, object], style: Style, target: Target) -> Entry:  # noqa: ARG001 - as all shapes
    return Entry(("hooks", event), value)


def _grouped(event: str, value: dict[str, object], style: Style, target: Target) -> Entry:
    where: KeyPath = (style.wrapper, event) if style.wrapper else (event,)
    return _in_group(where, value, target)


def _in_group(where: KeyPath, value: dict[str, object], target: Target) -> Entry:
    matcher = str(value.get("matcher", ""))
    entry = {key: item for key, item in value.items() if key != "matcher"}
    group = group_of(target.document, where, matcher)
    if group is not None:
        return Entry((*where, group, "hooks"), entry)
    return Entry(where, {**({"matcher": matcher} if matcher else {}), "hooks": [entry]})


def _bundled(event: str, value: dict[str, object], style: Style, target: Target) -> Entry:
    where: KeyPath = (_BUNDLE, event)
    moment = style.moments.get(event, Moment())
    return Entry(where, value) if moment.aim is Aim.NOTHING else _in_group(where, value, target)


def _listed(event: str, value: dict[str, object], style: Style, target: Target) -> Entry:  # noqa: ARG001 - as all shapes
    action = {key: value[key] for key in ("type", "command", "prompt") if key in value}
    rest = {key: item for key, item in value.items() if key not in action}
    name = {"name": rest.pop("name")}
    return Entry(("hooks",), {**name, "trigger": event, **rest, "action": action})


_SHAPES: Final = {"antigravity": _bundled, "kiro": _listed}
