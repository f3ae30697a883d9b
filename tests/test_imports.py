"""What is not imported: each of these costs everybody who starts us more than what we do there.

The lists are checked in processes of their own. A name that is here is not to come back by accident; one that is
needed after all leaves the list, with its price.
"""

import subprocess
import sys
from typing import Final

# of what `import hookline` costs whoever embeds us, before they use anything
AT_IMPORT: Final = frozenset(
    {
        "argparse",
        "asyncio",
        "dataclasses",
        "enum",
        "hookline.engine",
        "hookline.model",
        "httpx2",
        "inspect",
        "json",
        "logging",
        "msgspec",
        "pathlib",
        "pathspec",
        "re",
        "rich",
        "sqlite3",
        "ssl",
        "subprocess",
        "tempfile",
        "tomllib",
        "typing",
        "watchfiles",
        "yaml",
    }
)


def loaded(*words: str) -> set[str]:
    """Give the modules that a program has imported at its end."""
    script = f"{'; '.join(words)}; import sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True)
    bare = subprocess.run(
        [sys.executable, "-c", "import sys; print(*sys.modules)"],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return set(done.stdout.split()) - set(bare.stdout.split())


def test_to_import_us_imports_next_to_nothing() -> None:
    found = loaded("import hookline")
    assert not found & AT_IMPORT
    assert {name for name in found if name.startswith("hookline")} == {"hookline"}


def test_a_name_brings_what_it_needs_and_no_other() -> None:
    found = loaded("from hookline import Verdict")
    assert "hookline.model.verdict" in found
    assert not found & {"hookline.engine.engine", "hookline.dialects.claude_code", "asyncio"}


def test_one_dialect_is_imported_for_one_agent() -> None:
    found = loaded("from hookline.dialects import DIALECTS", 'DIALECTS["claude-code"]')
    assert "hookline.dialects.claude_code" in found
    assert not found & {"hookline.dialects.kiro", "hookline.dialects.cursor", "hookline.dialects.gemini_cli"}
