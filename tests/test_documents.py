"""What the documents say is tried: their code runs, and what they name is there."""

import subprocess
import sys
from pathlib import Path

import pytest

from tools import links

ROOT = Path(__file__).resolve().parent.parent
RUNNABLE = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
ALL = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
GUIDES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md"]


def _name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.mark.slow
@pytest.mark.parametrize("document", RUNNABLE, ids=_name)
def test_code_of_document_does_what_the_document_says(document: Path) -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "tools" / "documents.py", document],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )

    assert done.returncode == 0, f"\n{done.stdout}{done.stderr}"


@pytest.mark.parametrize("document", ALL, ids=_name)
def test_relative_links_of_document_lead_somewhere(document: Path) -> None:
    assert links.broken_links(document) == []


@pytest.mark.parametrize("document", GUIDES, ids=_name)
def test_make_targets_named_in_guide_exist(document: Path) -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")

    assert links.unknown_targets(document.read_text("utf-8"), makefile) == []


@pytest.mark.parametrize("document", GUIDES, ids=_name)
def test_paths_named_in_guide_exist(document: Path) -> None:
    assert links.missing_paths(document.read_text("utf-8"), ROOT) == []
