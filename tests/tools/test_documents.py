import os
import subprocess
import sys
from pathlib import Path

import pytest

from tools import documents

TOOL = Path(documents.__file__)

TRUTHFUL = """# A document

```toml
# file: settings.toml
[hook]
name = "first"
```

```python
import tomllib
from pathlib import Path

name = tomllib.loads(Path("settings.toml").read_text())["hook"]["name"]
```

Prose in between.

```python
print(f"{name} of 1")
```

<!-- prints -->
```text
first of 1
```

<!-- file: bin/greet -->
```sh
#!/bin/sh
echo "hello $1, in 12.5 ms"
exit 2
```

- In a list:

  ```console
  $ bin/greet you
  hello you, in <ms> ms
  $ echo $?
  2
  $ bin/greet us
  hello us...
  $ cd bin
  $ export WORD=there
  $ cat <<END
  > [$WORD]
  > END
  [there]
  $ ls
  gr...
  ```

<!-- not run: needs a network -->
```python
raise SystemExit("never")
```

```json
{"a": [1, 2]}
```
"""


def _run(folder: Path, text: str) -> subprocess.CompletedProcess[str]:
    document = folder / "PAGE.md"
    document.write_text(text, "utf-8")
    env = {**os.environ, "HOOKS_ENABLED": "false"}
    return subprocess.run(
        [sys.executable, TOOL, document], capture_output=True, text=True, timeout=60, check=False, env=env
    )


def test_document_that_tells_the_truth_passes(tmp_path: Path) -> None:
    done = _run(tmp_path, TRUTHFUL)

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize(
    ("text", "lie"),
    [
        pytest.param("```python\nimport no_such_module\n```\n", "No module named 'no_such_module'", id="import"),
        pytest.param("x\n\n```python\na = 1\n\nassert a == 2\n```\n", 'File "PAGE.md", line 6', id="place"),
        pytest.param("```python\nraise SystemExit(3)\n```\n", "python block raised", id="exit"),
        pytest.param("```console\n$ echo one\ntwo\n```\n", "printed (exit code 0):\none", id="output"),
        pytest.param("```console\n$ echo one\n```\n", "printed (exit code 0):\none", id="unshown output"),
        pytest.param("```console\n$ false\n```\n", "exits with 1; show what it says, or `$ echo $?`", id="exit code"),
        pytest.param("```console\n$ no-such-program\n...\n```\n", "exits with 127", id="missing program"),
        pytest.param("```console\nls\n```\n", "a console block starts with '$ '", id="no prompt"),
        pytest.param("```toml\na = \n```\n", "toml block does not parse", id="toml"),
        pytest.param("<!-- file: a.json -->\n```json\n{'a': 1}\n```\n", "json block does not parse", id="json file"),
        pytest.param("```bash\nls\n```\n", "nobody runs a bash block", id="bash"),
        pytest.param("<!-- not run: -->\n```bash\nls\n```\n", "say why it is not run", id="no reason"),
        pytest.param("<!-- file: ../../x -->\n```text\na\n```\n", "outside the home folder", id="escape"),
        pytest.param(
            "```python\nprint(1)\n```\n\n<!-- prints -->\n```text\n2\n```\n",
            "the last python block printed\n1",
            id="prints",
        ),
    ],
)
def test_document_that_lies_fails_and_says_where(tmp_path: Path, text: str, lie: str) -> None:
    done = _run(tmp_path, text)

    assert done.returncode == 1
    assert "PAGE.md:" in done.stdout
    assert lie in done.stdout


def test_one_lie_does_not_hide_the_next(tmp_path: Path) -> None:
    done = _run(tmp_path, "```python\n1 / 0\n```\n\n```json\n{\n```\n")

    assert "PAGE.md:1:" in done.stdout
    assert "PAGE.md:5:" in done.stdout


def test_home_and_settings_of_the_person_stay_outside(tmp_path: Path) -> None:
    text = (
        "```python\nimport os, pathlib\n"
        "assert pathlib.Path.home().resolve() == pathlib.Path.cwd().resolve().parent\n"
        "assert 'HOOKS_ENABLED' not in os.environ\n```\n"
        "```console\n$ test ~ -ef .. && echo home ${HOOKS_ENABLED-unset}\nhome unset\n```\n"
    )

    assert _run(tmp_path, text).stdout == ""


def test_classes_of_a_document_can_be_found_by_their_module(tmp_path: Path) -> None:
    text = (
        "```python\nfrom __future__ import annotations\nimport dataclasses, typing\n"
        "@dataclasses.dataclass\nclass Point:\n    x: int\n"
        "assert typing.get_type_hints(Point) == {'x': int}\nassert __name__ == '__main__'\n```\n"
    )

    assert _run(tmp_path, text).stdout == ""


@pytest.mark.parametrize(
    ("shown", "printed", "same"),
    [
        ("a\nb", "a\nb\n", True),
        ("a\nb", "a\nc\n", False),
        ("a  \n", "a\n\n", True),
        ("a\n...\nz", "a\nz\n", True),
        ("a\n...\nz", "a\nb\nc\nz\n", True),
        ("a\n...\nz", "a\nb\nc\n", False),
        ("took <ms> ms", "took 12.75 ms\n", True),
        ("took <ms> ms", "took long ms\n", False),
        ("id ..., done", "id 1a2b, done\n", True),
        ("a.c", "abc\n", False),
        ("", "", True),
        ("", "surprise\n", False),
    ],
)
def test_shown_output_matches_only_what_it_describes(shown: str, printed: str, *, same: bool) -> None:
    assert documents.shows(shown, printed) is same


def test_comment_counts_only_right_above_its_block() -> None:
    text = "<!-- not run: old -->\nA sentence.\n\n```python\n1\n```\n\n~~~~json\n```\n~~~~\n"

    found = list(documents.blocks(text))

    assert found == [documents.Block("python", "1\n", 4), documents.Block("json", "```\n", 8)]
