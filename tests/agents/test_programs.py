"""Which programs are run, and how they are found."""

import re
from pathlib import Path

import pytest

from tests.agents.agents import AGENTS, MORE
from tests.agents.programs import PROGRAMS, cache, missing


def test_every_agent_is_a_program_of_a_fixed_version() -> None:
    assert {*AGENTS, *MORE} == set(PROGRAMS)
    assert all(re.fullmatch(r"\d+\.\d+\.\d+", program.version) for program in PROGRAMS.values())


def test_programs_are_kept_where_the_person_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOOKLINE_AGENTS", str(tmp_path))

    assert cache() == tmp_path
    assert {program.name for program in missing()} >= set(PROGRAMS)

    here = PROGRAMS["codex-cli"].path
    here.parent.mkdir(parents=True)
    here.touch()

    assert "codex-cli" not in {program.name for program in missing()}
