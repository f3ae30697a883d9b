"""Characters beyond ASCII are ordinary ones of a word, and never end the process."""

import subprocess
import sys
from typing import Final

import pytest

from hookline.shell.reader import parse_script
from hookline.shell.script import SimpleCommand

# in a process of its own: what this is about ended the process
_PARSE_MANY: Final = """
import itertools, random
from hookline.shell.reader import parse_script

choose = random.Random(7)
signs = ["{", "$", "${", "}", "<<", "<<-", "(", "[", "#", "-", "=", "`", " ", "a", "\\n", "'", '"', "\\\\"]
letters = ["\\U0010ffff", "\\U00031860", "\\U000e0001", "\\u4e00", "\\u3000", "é", "\\ud800"]
for sign, letter in itertools.product(signs, letters):
    parse_script(sign + letter)
for _ in range(3_000):
    parse_script("".join(choose.choice(signs + letters) for _ in range(choose.randint(2, 16))))
"""


def test_no_character_ends_the_process() -> None:
    ended = subprocess.run([sys.executable, "-c", _PARSE_MANY], capture_output=True, timeout=200, check=False)

    assert (ended.returncode, ended.stderr) == (0, b"")


@pytest.mark.parametrize("word", ["naïve", "日本語", "a\u00a0b", "{一", "x𱡀y", "🎉"])
def test_word_keeps_its_characters(word: str) -> None:
    (step,) = parse_script(f"rm {word} after").steps

    assert isinstance(step.node, SimpleCommand)
    assert [one.text for one in step.node.words] == ["rm", word, "after"]
