"""`hookline agent`: the reference agent, in the terminal or for one prompt.

Exit codes: 0 the agent answered; 1 an error in the call, in the model or in its server; 2 a hook blocked the prompt, the
session or the run; 130 the user interrupted.
"""

import argparse
import asyncio
import os
import signal
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec import to_builtins

from hookline.agent.models import EXAMPLE, find_window
from hookline.agent.project_files import OWN, PERSONAS
from hookline.bridge.guarded_paths import list_guarded_paths
from hookline.cli._command import TINY, CliCommand, ExitCode, argument, flag, number, parse_count, repeatable
from hookline.cli._output import TextStyle, print_error, print_json, print_line, print_piece
from hookline.cli._run_hooks import VERBOSE_OPTIONS, redirect_stdout_to_stderr, run_until_terminated, start_live_view
from hookline.cli._terminal import ApprovalPrompt, Terminal, open_terminal
from hookline.cli.rollback import describe_undo, take_back
from hookline.engine.engine import Engine
from hookline.engine.turns import select_turn
from hookline.errors import Blocked, ConfigError, EngineError
from hookline.model.verdict import Outcome
from hookline.project import Project, load_project
from hookline.text import sanitize

if TYPE_CHECKING:
    from hookline.agent.conversation import Conversation
    from hookline.agent.session import AgentOptions

MODEL_VARIABLE: Final = "HOOKLINE_AGENT_MODEL"

_HELP: Final = """/compact  replace the conversation by a summary
/hooks    list the hooks of this project
/rollback take back what hooks with `undo` did in the last turn
/help     show this
/exit     end the session, as Ctrl-D does; Ctrl-C stops the agent's turn
/NAME     run a skill: /deploy region=eu
@NAME     give the task to a subagent: @review the last commit"""


class ConsoleView:
    """Show what the agent does, and ask at the terminal; with `--json` or `-p`, stdout is left to the answer."""

    def __init__(self, terminal: Terminal | None, *, is_quiet: bool) -> None:
        self._terminal = terminal
        self._is_quiet = is_quiet
        self.is_streaming = not is_quiet
        self._is_line_open = False

    def show(self, kind: str, text: str) -> None:
        """Show a text of the model, a call of a tool, a note of a hook, or an error."""
        self.end_line()
        if kind in {"note", "error"}:
            print_error(f"hookline: {text}" if kind == "error" else text)
        elif not self._is_quiet:
            marked = f"● {text}" if kind == "tool" else text
            print_line(marked, broken=True, marks=[(marked, TextStyle.DIM)] if kind == "tool" else ())

    def stream(self, text: str) -> None:
        """Show the next piece of what the model is writing."""
        if text:
            print_piece(text)
            self._is_line_open = not text.endswith("\n")

    def end_line(self) -> None:
        """End the line that the model was writing."""
        if self._is_line_open:
            print_line()
            self._is_line_open = False

    async def confirm(self, question: str, choices: str) -> str | None:
        """Return the letter of the user's choice; None where there is no terminal."""
        self.end_line()
        if self._terminal is None:
            return None
        async with self._terminal.lock():
            self._terminal.show([question])
            return await self._terminal.ask(choices)


def run(args: argparse.Namespace) -> int:
    """Run the agent for one prompt, or until the user ends it."""
    try:
        import pydantic_ai  # noqa: F401, PLC0415 - an extra
    except ImportError:
        raise ConfigError("`hookline agent` needs another package: pip install 'hookline[agent]'") from None
    root = Path(args.cwd or ".").absolute()
    if not root.is_dir():
        raise ConfigError(f"--cwd: there is no folder {root}")
    # tools and hooks run there, and so does everything they start
    os.chdir(root)
    return run_until_terminated(_run(args, root))


async def _run(args: argparse.Namespace, root: Path) -> int:
    from hookline.agent.conversation import make_ask  # noqa: PLC0415 - needs Pydantic AI
    from hookline.agent.session import open_session, run_setup  # noqa: PLC0415

    persona = PERSONAS[args.persona]
    terminal = open_terminal(os.environ)
    prompt = _read_prompt(args)
    view = ConsoleView(terminal, is_quiet=prompt is not None)
    approve = ApprovalPrompt(terminal) if terminal is not None else None

    project = load_project(
        root, ask=make_ask(view), approve=approve, guarded=list_guarded_paths, only_dialect=persona.dialect
    )
    if approve is not None:
        approve.set_context(project.trust, cwd=str(root))
    async with project.engine as engine:
        for problem in engine.problems:
            print_error(f"hookline: {problem}")
        start_live_view(args, engine)
        trigger = "maintenance" if args.maintenance else "init"
        try:
            if (args.maintenance or args.init) and prompt is None:
                await run_setup(project, persona, view, trigger=trigger)
                return 0
            options = _read_options(args, trigger=trigger)
            with redirect_stdout_to_stderr() if prompt is not None else nullcontext():
                async with open_session(project, options, view) as conversation:
                    if prompt is None:
                        return await _talk(conversation, project, view)
                    text = await conversation.answer(prompt)
                report = _describe(conversation, options, text)
        except Blocked as blocked:
            return _report_block(args, blocked)
    print_json(report) if args.json else print_line(text, broken=True)
    return 0


def _read_prompt(args: argparse.Namespace) -> str | None:
    """Return the prompt of a call: of the command line or of stdin; None for an interactive session."""
    is_piped = sys.stdin is not None and not sys.stdin.isatty()
    if args.prompt == "-" or (args.prompt is None and is_piped and not (args.init or args.maintenance)):
        prompt = sys.stdin.read().strip()
    elif args.prompt is None:
        if args.json:
            raise ConfigError("--json needs a prompt: -p PROMPT, or on stdin")
        return None
    else:
        prompt = str(args.prompt)
    if not prompt:
        raise ConfigError("the prompt is empty; give one with -p PROMPT, or on stdin")
    return prompt


def _read_options(args: argparse.Namespace, *, trigger: str) -> "AgentOptions":
    from hookline.agent.conversation import AgentLimits  # noqa: PLC0415 - needs Pydantic AI
    from hookline.agent.session import AgentOptions  # noqa: PLC0415

    model = args.model or os.environ.get(MODEL_VARIABLE, "")
    if not model:
        raise ConfigError(f"name a model: `--model {EXAMPLE}`, or set {MODEL_VARIABLE}")
    return AgentOptions(
        model=model,
        url=args.url,
        persona=PERSONAS[args.persona],
        limits=AgentLimits(
            permission="all" if args.yes else args.permission,
            max_turns=args.max_turns,
            window=args.context_window or find_window(model),
            compact_at=args.compact_at,
            temperature=args.temperature,
            subagent_hooks=args.subagent_hooks,
        ),
        trigger=trigger,
        mcp=tuple(args.mcp),
        resume=args.resume,
    )


async def _talk(conversation: "Conversation", project: Project, view: ConsoleView) -> int:
    """Read prompts and print answers until the user ends the session."""
    import readline  # noqa: F401, PLC0415 - gives `input` a history and editing keys

    session = conversation.scope.session
    print_line(f"{session.provider}:{session.model}, session {session.id}; /help lists commands, Ctrl-D ends")
    while True:
        await project.engine.drain()
        try:
            # nothing else runs between two turns, so that waiting here blocks nothing
            prompt = input("> ").strip()  # noqa: ASYNC250 - see above
        except EOFError:
            print_line()
            return 0
        except KeyboardInterrupt:
            print_line()
            continue
        if prompt in {"/exit", "/quit"}:
            return 0
        if prompt:
            await _take_turn(conversation, project, view, prompt)


async def _take_turn(conversation: "Conversation", project: Project, view: ConsoleView, prompt: str) -> None:
    loop = asyncio.get_running_loop()

    async def work() -> None:
        if prompt == "/help":
            print_line(_HELP, broken=True)
        elif prompt == "/hooks":
            for hook in project.hooks:
                print_line(f"{hook.id}: {', '.join(hook.on)}")
        elif prompt == "/compact":
            print_line("compacted" if await conversation.compact() else "nothing was compacted")
        elif prompt == "/rollback":
            await _roll_back(conversation, project.engine, view)
        elif prompt.startswith("/") and not conversation.is_skill(prompt):
            print_error(f"there is no command or skill {prompt.partition(' ')[0]}; /help lists commands")
        else:
            answer = await conversation.answer(prompt)
            # the user has read it already where it was shown while it was written
            view.end_line() if conversation.is_streaming else print_line(answer, broken=True)

    turn = asyncio.ensure_future(work())
    loop.add_signal_handler(signal.SIGINT, turn.cancel)
    try:
        await turn
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        view.end_line()
        print_error("stopped")
    except EngineError as problem:
        view.end_line()
        # a blocked prompt or a model that cannot be reached ends the turn, not the session
        print_error(f"hookline: {problem}", broken=True)
    finally:
        # from here on, Ctrl-C is an exception of `input` again
        loop.remove_signal_handler(signal.SIGINT)


async def _roll_back(conversation: "Conversation", engine: Engine, view: ConsoleView) -> None:
    """Offer to take back what hooks did in the last turn of this session."""
    session = conversation.scope.session.id
    runs = select_turn([run for run in await engine.compensations.list_pending() if run.session == session])
    if not runs:
        print_line("no hook did anything in this session that can be taken back")
        return
    for run in runs:
        print_line(f"  {run.hook}: {describe_undo(engine, run)}")
    if await view.confirm("Take this back, the latest first?", "[y] yes  [n] no  (n) ") in {"y", "yes"}:
        for run, problem in await take_back(engine, runs):
            print_line(f"{run.hook}: {problem or 'taken back'}")


def _describe(conversation: "Conversation", options: "AgentOptions", text: str) -> dict[str, object]:
    """Return what `--json` prints."""
    usage = conversation.usage
    return {
        "text": text,
        "session": conversation.scope.session.id,
        "model": options.model,
        "tools": to_builtins(conversation.calls),
        "usage": {"requests": usage.requests, "input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens},
        "messages": len(conversation.history),
        "blocked": None,
    }


def _report_block(args: argparse.Namespace, blocked: Blocked) -> int:
    reason = blocked.outcome.reason if isinstance(blocked.outcome, Outcome) else str(blocked)
    if args.json:
        print_json({"text": None, "blocked": {"what": blocked.tool, "reason": sanitize(reason)}})
    else:
        print_error(f"{blocked.tool} blocked: {reason}", broken=True)
    return ExitCode.BLOCKED


COMMAND: Final = CliCommand(
    "run an agent with a local or remote model, and your hooks around everything it does",
    argument("-p --prompt", "answer this prompt and end; `-` reads it from stdin", metavar="PROMPT"),
    argument("-m --model", f"the model, such as {EXAMPLE}, openai:NAME or anthropic:NAME (or set {MODEL_VARIABLE})"),
    argument("--url", "the address of the model's server", default="", metavar="URL"),
    argument("--cwd --project", "work in this folder", dest="cwd", metavar="DIR"),
    argument(
        "--as",
        "read the configuration of this agent, and behave as it does",
        dest="persona",
        choices=tuple(PERSONAS),
        default=OWN,
    ),
    argument(
        "--permission",
        "ask before commands and changes; allow changes of files (edits); or allow all: hooks still decide",
        choices=("ask", "edits", "all"),
        default="ask",
    ),
    flag("-y --yes", "the same as --permission all"),
    repeatable("--mcp", "start this MCP server of the project; may be repeated", metavar="NAME"),
    argument(
        "--max-turns", "how often the model may be asked for one prompt", type=parse_count, default=50, metavar="N"
    ),
    argument("--context-window", "tokens that the model can take", type=parse_count, metavar="N"),
    argument(
        "--compact-at",
        "compact at this share of the window",
        type=number("share; write it like 0.8", whole=False, least=TINY, most=1),
        default=0.8,
        metavar="SHARE",
    ),
    argument("--temperature", "temperature of the model", type=float, metavar="T"),
    flag("--subagent-hooks", "raise all events of subagents, and not only those that judge their tool calls"),
    argument("--resume", "go on with this session", default="", metavar="SESSION"),
    flag("--init", "run the Setup hooks; without a prompt, nothing else"),
    flag("--maintenance", "run the Setup hooks for maintenance; without a prompt, nothing else"),
    flag("--json", "print the answer, tool calls, decisions and usage as one JSON object"),
    *VERBOSE_OPTIONS,
    example=f"""-m {EXAMPLE} -p "which tests fail?" """,
    run=run,
)
