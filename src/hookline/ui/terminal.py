"""The live view in a terminal: lanes of agents, calls as they come, blocked calls, and the slowest hooks.

The screen never waits for the database: two threads read it, and send what they found as messages. Text of others is
sanitized and drawn as plain text, so that neither escape sequences nor markup in it have an effect.
"""

import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import ClassVar, Final, NamedTuple, Protocol, TypeVar

from msgspec import Struct
from msgspec.structs import replace
from rich.text import Text
from textual import work
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, Horizontal, VerticalScroll
from textual.message import Message
from textual.screen import ModalScreen
from textual.widgets import DataTable, Footer, Input, Sparkline, Static
from textual.worker import get_current_worker

from hookline.errors import EngineError
from hookline.stores.trace_queries import HookFigures, Summary, TraceFilter
from hookline.text import sanitize
from hookline.ui.live_calls import Lane, LiveSnapshot

# seconds between two looks at the calls, and at the hooks
_NEXT_CALLS: Final = 0.4
_NEXT_HOOKS: Final = 3.0

_LONGEST_CELL: Final = 300

# A sign and a colour for each decision: neither is the only one that says it.
_DECISIONS: Final[Mapping[str, tuple[str, str]]] = {
    "deny": ("✗", "bold red"),
    "stop": ("✗", "bold red"),
    "ask": ("?", "bold yellow"),
    "allow": ("✓", "green"),
    "pass": ("·", "dim"),
    "unfinished": ("…", "yellow"),
}
# what `d` goes through
_CHOICES: Final = ("", "deny,stop", "ask", "allow", "pass")
_CHOICE_NAMES: Final = {"": "", "deny,stop": "blocked"}

_HELP: Final = (
    ("tab, shift+tab", "go to the next or the previous pane"),
    ("up, down, j, k", "move; on its first line, a pane of calls follows"),
    ("enter", "open the call, the calls of the lane, or the hook"),
    ("/", "filter by a part of command, path, tool or session"),
    ("a", "only the next agent"),
    ("d", "only the next decision: blocked, ask, allow, pass"),
    ("escape", "take all filters away"),
    ("space", "pause, and go on"),
    ("e", "in the hooks pane: enable or disable the hook"),
    ("y", "on the page of a hook: approve it as it is shown"),
    ("?", "show or hide this page"),
    ("q", "quit"),
)


_Result = TypeVar("_Result")


class HookState(Struct, frozen=True, kw_only=True):
    """A hook of the project: its state in a word or two, whether it is switched on, and whether it waits for approval."""

    id: str
    state: str
    is_on: bool
    needs_approval: bool


class HookPage(Struct, frozen=True, kw_only=True):
    """What the user has to know about a hook before they approve it; the digest is empty if there is nothing to approve."""

    hook: str
    lines: tuple[Text, ...]
    digest: str = ""


class TopSource(Protocol):
    """Where the view gets its data, and what it can do. Every method may take its time, and may raise `EngineError`."""

    def read_calls(self, wanted: TraceFilter) -> LiveSnapshot:
        """Return the calls and lanes of now."""

    def read_figures(self, wanted: TraceFilter) -> Sequence[HookFigures]:
        """Return the figures of the hooks that ran."""

    def list_hooks(self) -> Sequence[HookState]:
        """Return the hooks of the project."""

    def lay_out_trace(self, trace: str) -> Sequence[Text]:
        """Return the lines about one call."""

    def open_hook(self, hook: str, *, columns: int) -> HookPage:
        """Return the approval screen of a hook."""

    def approve(self, page: HookPage) -> str:
        """Approve a hook as the page shows it; return what was done."""

    def toggle(self, hook: str, *, on: bool) -> str:
        """Switch a hook on or off; return what was done."""


class Column(NamedTuple):
    """A column of a pane: its width, or its share of what is left as a negative number; hidden in a narrower pane."""

    name: str
    width: int
    least: int = 0


class Pane(DataTable[Text]):
    """A table that fits its width, and keeps its cursor on the same row while others come."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "cursor_down", show=False),
        Binding("k", "cursor_up", show=False),
    ]

    def __init__(self, title: str, columns: Sequence[Column], *, name: str, follows: bool = True) -> None:
        super().__init__(cursor_type="row", id=name)
        self._follows = follows
        self.border_title = title
        self._specs = columns
        self._shown: list[tuple[str, Sequence[Text]]] = []
        self._drawn_width = 0
        self._drawn_keys: list[str] = []

    def fill(self, rows: Iterable[tuple[str, Sequence[Text]]], *, title: str) -> None:
        """Show these rows: a key and the cells of all columns."""
        self.border_title = title
        wanted = list(rows)
        if wanted == self._shown and self._drawn_width == self.size.width:
            return
        self._shown = wanted
        self._draw()

    def on_resize(self) -> None:
        """Fit the columns to the new width."""
        if self._drawn_width != self.size.width:
            self._draw()

    @property
    def selected(self) -> str:
        """The key of the row under the cursor; empty if there is none."""
        return self._shown[self.cursor_row][0] if 0 <= self.cursor_row < len(self._shown) else ""

    def _draw(self) -> None:
        width = self.size.width
        if not width:
            return
        before, row = self._drawn_keys[self.cursor_row : self.cursor_row + 1], self.cursor_row
        if width != self._drawn_width:
            self.clear(columns=True)
            self._drawn_width = width
            for name, columns in self._measure(width):
                self.add_column(name, width=columns, key=name)
        else:
            self.clear()
        chosen = [number for number, column in enumerate(self._specs) if column.least <= width]
        for key, cells in self._shown:
            self.add_row(*(cells[number] for number in chosen), key=key)
        # a cursor on the first row of a pane that follows stays there
        self._drawn_keys = [key for key, _ in self._shown]
        if (row > 0 or not self._follows) and before and before[0] in self._drawn_keys:
            self.move_cursor(row=self._drawn_keys.index(before[0]), animate=False)

    def _measure(self, width: int) -> list[tuple[str, int]]:
        """Return the columns that are shown, with their widths."""
        shown = [column for column in self._specs if column.least <= width]
        padding = 2 * self.cell_padding
        left = width - self.styles.scrollbar_size_vertical - sum(max(column.width, 0) + padding for column in shown)
        shares = sum(-column.width for column in shown if column.width < 0) or 1
        return [
            (column.name, column.width if column.width > 0 else max(left * -column.width // shares, 6))
            for column in shown
        ]


class Page(ModalScreen[None]):
    """Lines to scroll through."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,enter", "dismiss", "back"),
        Binding("j", "scroll('down')", show=False),
        Binding("k", "scroll('up')", show=False),
    ]

    def __init__(self, title: str, lines: Sequence[Text]) -> None:
        super().__init__()
        self._title = title
        self._lines = lines

    def compose(self) -> ComposeResult:
        """Draw the lines and the keys."""
        with VerticalScroll(id="page") as body:
            body.border_title = _clean(self._title).plain
            yield Static(Text("\n").join(self._lines), id="lines")
        yield Footer()

    def action_scroll(self, way: str) -> None:
        """Scroll by a line."""
        body = self.query_one("#page", VerticalScroll)
        body.scroll_relative(y=1 if way == "down" else -1, animate=False)


class HookScreen(Page):
    """The approval screen of a hook; `y` approves what it shows."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("y", "approve", "approve it, as it is now")]

    def __init__(self, page: HookPage, approve: Callable[[HookPage], object]) -> None:
        super().__init__(page.hook, page.lines)
        self._page = page
        self._approve = approve

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer the approval only where there is something to approve."""
        return bool(self._page.digest) if action == "approve" else super().check_action(action, parameters)

    def action_approve(self) -> None:
        """Approve the hook, and go back."""
        self._approve(self._page)
        self.dismiss()


class YesNoScreen(ModalScreen[bool]):
    """A question that `y` answers with yes, and every other key of the footer with no."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "answer(True)", "yes"),
        Binding("n,escape,q,enter", "answer(False)", "no"),
    ]

    def __init__(self, text: str) -> None:
        super().__init__()
        self._text = text

    def compose(self) -> ComposeResult:
        """Draw the question."""
        yield Static(_clean(self._text), id="question")
        yield Footer()

    def action_answer(self, answer: bool) -> None:  # noqa: FBT001 - textual passes it by position
        """Close the question."""
        self.dismiss(answer)


class LiveUpdate(Message):
    """New calls, or why they cannot be read."""

    def __init__(self, snapshot: LiveSnapshot | None, problem: str = "") -> None:
        super().__init__()
        self.snapshot = snapshot
        self.problem = problem


class HookUpdate(Message):
    """New figures and states of hooks."""

    def __init__(self, figures: Sequence[HookFigures], states: Sequence[HookState], problem: str = "") -> None:
        super().__init__()
        self.figures = figures
        self.states = states
        self.problem = problem


class TopApp(App[None]):
    """The live view."""

    TITLE = "hookline top"
    ENABLE_COMMAND_PALETTE = False
    HORIZONTAL_BREAKPOINTS = [  # noqa: RUF012 - as textual declares it
        (0, "-narrow"),
        (120, "-wide"),
    ]
    CSS = """
    Screen { layers: base; background: $background; }
    #head { height: 1; padding: 0 1; background: $panel; }
    #status { width: 1fr; height: 1; }
    #rate { width: 30; height: 1; }
    .-narrow #rate { display: none; }
    #find { height: 1; border: none; padding: 0 1; background: $surface; }
    #panes { height: 1fr; }
    .-narrow #panes { layout: vertical; }
    .-wide #panes { layout: grid; grid-size: 2 3; grid-rows: 4fr 6fr 3fr; }
    .-wide #calls, .-wide #blocked { column-span: 2; }
    Pane { overflow-x: hidden; height: 1fr; min-height: 4; border: round $foreground 30%; border-title-color: $foreground 70%; background: $background; }
    .-narrow Pane:focus { height: 3fr; }
    Pane:focus { border: round $accent; border-title-color: $accent; border-title-style: bold; }
    Pane > .datatable--header { background: $background; color: $foreground 60%; text-style: none; }
    Pane > .datatable--cursor { background: $foreground 12%; text-style: none; }
    Pane:focus > .datatable--cursor { background: $accent 40%; }
    Page, YesNoScreen { align: center middle; }
    #page { width: 94%; height: 1fr; margin: 1 0; padding: 0 1; border: round $accent; border-title-color: $accent; background: $surface; }
    #lines { width: 100%; height: auto; }
    #question { width: auto; max-width: 90%; height: auto; padding: 1 3; border: round $warning; background: $surface; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q", "quit", "quit"),
        Binding("question_mark", "help", "keys"),
        Binding("slash", "find", "filter"),
        Binding("a", "next_agent", "agent"),
        Binding("d", "next_decision", "decision"),
        Binding("space", "pause", "pause"),
        Binding("e", "switch", "on/off"),
        Binding("escape", "reset", show=False),
        Binding("ctrl+c", "quit", show=False),
    ]

    def __init__(self, source: TopSource) -> None:
        super().__init__()
        self._source = source
        self._wanted = TraceFilter()
        self._snapshot = LiveSnapshot()
        self._figures: Sequence[HookFigures] = ()
        self._states: dict[str, HookState] = {}
        self._agents: list[str] = []
        self._problem = ""
        self._is_paused = False
        self._wake = {name: threading.Event() for name in ("calls", "hooks")}

    def compose(self) -> ComposeResult:
        """Draw the head, the four panes and the keys."""
        with Horizontal(id="head"):
            yield Static("reading the traces …", id="status", markup=False)
            yield Sparkline([], summary_function=max, id="rate")
        with Container(id="panes"):
            yield Pane("agents", _LANE_COLUMNS, name="lanes")
            yield Pane("hooks", _HOOK_COLUMNS, name="hooks", follows=False)
            yield Pane("calls", _CALL_COLUMNS, name="calls")
            yield Pane("blocked", _CALL_COLUMNS, name="blocked")
        yield Input(placeholder="a part of a command, a path, a tool or a session", id="find", compact=True)
        yield Footer()

    def on_mount(self) -> None:
        """Start to read."""
        self.query_one("#find", Input).display = False
        self.query_one("#calls", Pane).focus()
        self._watch_calls()
        self._watch_hooks()

    def on_unmount(self) -> None:
        """Let the threads end."""
        self._wake_threads()

    def _wake_threads(self) -> None:
        for event in self._wake.values():
            event.set()

    @work(thread=True, group="calls")
    def _watch_calls(self) -> None:
        def read() -> Message:
            try:
                return LiveUpdate(self._source.read_calls(self._wanted))
            except EngineError as problem:
                return LiveUpdate(None, str(problem))

        self._repeat(read, "calls", _NEXT_CALLS)

    @work(thread=True, group="hooks")
    def _watch_hooks(self) -> None:
        def read() -> Message:
            try:
                return HookUpdate(self._source.read_figures(self._wanted), self._source.list_hooks())
            except EngineError as problem:
                return HookUpdate((), (), str(problem))

        self._repeat(read, "hooks", _NEXT_HOOKS)

    def _repeat(self, read: Callable[[], Message], name: str, seconds: float) -> None:
        """Read again and again, at once when the filter changes, until the program ends."""
        worker, wake = get_current_worker(), self._wake[name]
        while not worker.is_cancelled:
            wake.clear()
            self.post_message(read())
            wake.wait(seconds)

    def on_live_update(self, update: LiveUpdate) -> None:
        """Take over new calls."""
        self._problem = update.problem
        if update.snapshot is not None and not self._is_paused:
            self._snapshot = update.snapshot
            # agents stay in the list when a filter hides them
            found = {lane.agent for lane in update.snapshot.lanes if lane.agent}
            self._agents = sorted({*self._agents, *found})
        self._show()

    def on_hook_update(self, update: HookUpdate) -> None:
        """Take over new figures and states."""
        if update.problem:
            self._problem = update.problem
        elif not self._is_paused:
            self._figures = update.figures
            self._states = {state.id: state for state in update.states}
            self._show()

    def _show(self) -> None:
        if not self.screen_stack:
            # the program ends: a thread had read something already
            return
        now, snapshot = time.time(), self._snapshot
        recent = sum(lane.count_recent(now) for lane in snapshot.lanes)
        lanes = [(f"{lane.agent}\n{lane.session}", _draw_lane(lane, now)) for lane in snapshot.lanes]
        self._fill("lanes", lanes, title=f"agents ({len(lanes)})")
        hint = "" if snapshot.lanes else "; none yet: `hookline install` lets agents ask the hooks"
        self._fill("calls", map(_draw_call, snapshot.calls), title=f"calls{self._describe_filter()}{hint}")
        self._fill("blocked", map(_draw_call, snapshot.blocked), title=f"blocked ({len(snapshot.blocked)})")
        figures = {one.hook: one for one in self._figures}
        figures.update({name: HookFigures(hook=name) for name in self._states if name not in figures})
        hooks = sorted(figures.values(), key=self._rank_hook)
        waiting = sum(state.needs_approval for state in self._states.values())
        needs = "needs" if waiting == 1 else "need"
        title = f"hooks, the slowest first{f'; {waiting} {needs} approval' if waiting else ''}"
        self._fill("hooks", ((one.hook, _draw_hook(one, self._states.get(one.hook))) for one in hooks), title=title)
        status = Text.assemble(("hookline top", "bold"), f"  {len(lanes)} sessions  {recent} calls/min  ")
        blocked = sum(lane.blocked for lane in snapshot.lanes)
        status.append(f"✗ {blocked} blocked", "red" if blocked else "dim")
        if self._is_paused:
            status.append("  ‖ paused: space goes on", "bold yellow")
        if self._problem:
            status.append(f"  ! {_clean(self._problem).plain}", "bold red")
        self.screen_stack[0].query_one("#status", Static).update(status)
        self.screen_stack[0].query_one("#rate", Sparkline).data = snapshot.spans

    def _rank_hook(self, figures: HookFigures) -> tuple[bool, float, str]:
        state = self._states.get(figures.hook)
        return state is None or not state.needs_approval, -figures.times.p95, figures.hook

    def _fill(self, name: str, rows: Iterable[tuple[str, Sequence[Text]]], *, title: str) -> None:
        self.screen_stack[0].query_one(f"#{name}", Pane).fill(rows, title=title)

    def _describe_filter(self) -> str:
        wanted = self._wanted
        decision = _CHOICE_NAMES.get(wanted.decision, wanted.decision)
        text = f'"{_clean(wanted.text).plain}"' if wanted.text else ""
        parts = [part for part in (_clean(wanted.host).plain, decision, text) if part]
        return f": only {', '.join(parts)}" if parts else ""

    def _set_filter(self, wanted: TraceFilter) -> None:
        self._wanted = wanted
        self._wake_threads()

    def action_find(self) -> None:
        """Open the line in which the user types a filter."""
        line = self.query_one("#find", Input)
        # shown and focused at once, so that no key that is typed now goes elsewhere
        line.display = True
        self.screen.set_focus(line)

    def on_input_changed(self, event: Input.Changed) -> None:
        """Filter while the user types."""
        self._set_filter(replace(self._wanted, text=event.value.strip()))

    def on_input_submitted(self) -> None:
        """Keep the filter, and go back to the calls."""
        self.query_one("#find", Input).display = False
        self.query_one("#calls", Pane).focus()

    def action_reset(self) -> None:
        """Take all filters away."""
        line = self.query_one("#find", Input)
        line.value = ""
        if line.display:
            self.on_input_submitted()
        self._set_filter(TraceFilter())

    def action_next_agent(self) -> None:
        """Narrow to the next agent, and after the last one to none."""
        self._set_filter(replace(self._wanted, host=_find_next(("", *self._agents), self._wanted.host)))

    def action_next_decision(self) -> None:
        """Narrow to the next decision, and after the last one to none."""
        self._set_filter(replace(self._wanted, decision=_find_next(_CHOICES, self._wanted.decision)))

    def action_pause(self) -> None:
        """Keep the screen as it is, or go on."""
        self._is_paused = not self._is_paused
        self._show()
        self._wake_threads()

    def action_help(self) -> None:
        """Show the keys."""
        lines = [Text.assemble((f"{keys:<16}", "bold"), about) for keys, about in _HELP]
        signs = [Text.assemble((f"{sign:<16}", style), word) for word, (sign, style) in _DECISIONS.items()]
        self.push_screen(Page("keys", [*lines, Text(), *signs]))

    def on_data_table_row_selected(self, event: DataTable.RowSelected) -> None:
        """Open what is under the cursor."""
        key = str(event.row_key.value)
        if event.data_table.id == "lanes":
            agent, _, session = key.partition("\n")
            self._set_filter(TraceFilter(host=agent, text=session))
            self.query_one("#calls", Pane).focus()
        elif event.data_table.id == "hooks":
            self._open_hook(key)
        else:
            self._open_trace(key)

    @work(thread=True)
    def _open_trace(self, trace: str) -> None:
        self._try(
            lambda: self._source.lay_out_trace(trace), lambda lines: self.push_screen(Page(f"trace {trace}", lines))
        )

    @work(thread=True)
    def _open_hook(self, hook: str) -> None:
        columns = self.size.width * 94 // 100 - 6
        self._try(
            lambda: self._source.open_hook(hook, columns=columns),
            lambda page: self.push_screen(HookScreen(page, self._approve)),
        )

    @work(thread=True)
    def _approve(self, page: HookPage) -> None:
        self._try(lambda: self._source.approve(page), self._report)

    def action_switch(self) -> None:
        """Ask whether to switch the hook under the cursor on or off."""
        pane = self.query_one("#hooks", Pane)
        if not pane.has_focus or not pane.selected:
            self._report("go to the hooks pane with tab, and choose a hook")
            return
        state = self._states.get(pane.selected)
        if state is None:
            self._report(f'"{pane.selected}" is no hook of this project; `hookline top --project` shows another one')
            return
        word = "off" if state.is_on else "on"

        def act(answer: bool | None) -> None:  # noqa: FBT001 - textual passes it by position
            if answer:
                self._toggle(state.id, on=not state.is_on)

        self.push_screen(YesNoScreen(f'Switch the hook "{state.id}" {word}?  [y] yes  [n] no'), act)

    @work(thread=True)
    def _toggle(self, hook: str, *, on: bool) -> None:
        self._try(lambda: self._source.toggle(hook, on=on), self._report)

    def _try(self, act: Callable[[], _Result], show: Callable[[_Result], object]) -> None:
        """Do something in this thread, and show its result, or why it was refused, on the screen."""
        try:
            result = act()
        except EngineError as problem:
            self.call_from_thread(self._report, str(problem), is_error=True)
        else:
            self.call_from_thread(show, result)
        self._wake["hooks"].set()

    def _report(self, text: str, *, is_error: bool = False) -> None:
        self.notify(sanitize(text), severity="error" if is_error else "information", markup=False, timeout=8)


_LANE_COLUMNS: Final = (
    Column("agent", 12),
    Column("project", 10, least=52),
    Column("last", -1),
    Column("calls", 6),
    Column("✗", 4),
    Column("/min", 4),
    Column("seen", 5, least=64),
)
_CALL_COLUMNS: Final = (
    Column("time", 8),
    Column("agent", 11),
    Column("decision", 9),
    Column("call", -3),
    Column("reason", -2, least=60),
    Column("took", 8, least=100),
)
_HOOK_COLUMNS: Final = (
    Column("hook", -1),
    Column("state", 16),
    Column("runs", 5),
    Column("fail", 4),
    Column("✗", 4, least=60),
    Column("p50", 7),
    Column("p95", 7),
)


def _draw_lane(lane: Lane, now: float) -> Sequence[Text]:
    sign, style = _DECISIONS.get(lane.decision, ("", ""))
    return (
        _clean(lane.agent or "-", "bold"),
        _clean(os.path.basename(lane.project) or "-", "dim"),  # noqa: PTH119 - a text of an agent
        Text.assemble((f"{sign} ", style), _clean(lane.subject)),
        _number(lane.calls),
        _number(lane.blocked, "bold red"),
        _number(lane.count_recent(now)),
        Text(_shorten_span(now - lane.last), "dim", justify="right"),
    )


def _draw_call(call: Summary) -> tuple[str, Sequence[Text]]:
    sign, style = _DECISIONS.get(call.decision, ("", ""))
    why = ": ".join(filter(None, (", ".join(call.decided_by), "; ".join(call.reasons))))
    reason = ", ".join(filter(None, (why, f"{call.failed} failed" if call.failed else "")))
    return call.trace, (
        Text(_clock(call.at), "dim"),
        _clean(call.host or "-"),
        Text(f"{sign} {sanitize(call.decision)}", style),
        _clean(call.subject or call.tool or call.event),
        _clean(reason, "" if call.blocked else "dim"),
        Text(_milliseconds(call.duration), "dim", justify="right"),
    )


def _draw_hook(figures: HookFigures, state: HookState | None) -> Sequence[Text]:
    shown = Text("elsewhere", "dim")
    if state is not None and not state.is_on:
        shown = Text("- off", "dim")
    elif state is not None:
        sign, style = ("!", "bold yellow") if state.needs_approval else ("✓", "green")
        shown = Text(f"{sign} {sanitize(state.state)}", style)
    return (
        _clean(figures.hook, "bold"),
        shown,
        _number(figures.runs),
        _number(figures.failed, "bold red"),
        _number(figures.denials, "yellow"),
        Text(_milliseconds(figures.times.p50), justify="right"),
        Text(_milliseconds(figures.times.p95), justify="right"),
    )


def _find_next(choices: Sequence[str], now: str) -> str:
    return choices[(choices.index(now) + 1) % len(choices)] if now in choices else choices[0]


def _clean(text: str, style: str = "") -> Text:
    """Return text of others on one line."""
    return Text(sanitize(text, longest=_LONGEST_CELL).replace("\n", " "), style)


def _number(count: int, style: str = "") -> Text:
    return Text(str(count) if count else "-", style if count else "dim", justify="right")


def _clock(at: float) -> str:
    try:
        return datetime.fromtimestamp(at, UTC).astimezone().strftime("%H:%M:%S")
    except (ValueError, OverflowError, OSError):
        return "?"


def _milliseconds(seconds: float) -> str:
    if not seconds:
        return "-"
    return f"{seconds * 1e3:.1f}ms" if seconds < 1 else f"{seconds:.2f}s"


def _shorten_span(seconds: float) -> str:
    units = ((86_400, "d"), (3_600, "h"), (60, "m"))
    return next(
        (f"{seconds // size:.0f} {unit}" for size, unit in units if seconds >= size), f"{max(seconds, 0):.0f} s"
    )
