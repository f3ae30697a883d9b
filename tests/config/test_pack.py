import hashlib
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookline.config import pack, toml
from hookline.config.pack import Pack, PackFile
from hookline.errors import ConfigError

HOOK = {"name": "guard", "on": "before_tool", "tools": ["shell"], "run": ["python3", "hooks/guard.py"], "timeout": 5}
SCRIPT = PackFile(path="hooks/guard.py", content=b"#!/usr/bin/env python3\nprint('{}')\n", executable=True)
GUARD = Pack(name="guard", version="1.2", hooks=(HOOK,), files=(SCRIPT,))

NAMES = st.text(st.characters(codec="ascii", categories=("L", "N")), min_size=1, max_size=12)
VALUES = st.recursive(
    st.text() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False),
    lambda inside: st.lists(inside, max_size=3) | st.dictionaries(st.text(), inside, max_size=3),
    max_leaves=8,
)


@pytest.mark.spec("A-20")
def test_pack_says_the_same_after_writing_and_reading() -> None:
    assert pack.read(pack.write(GUARD), path="guard.toml") == GUARD


@given(st.lists(st.tuples(NAMES, st.binary() | st.text().map(str.encode)), unique_by=lambda pair: pair[0].casefold()))
def test_every_content_survives_byte_for_byte(contents: list[tuple[str, bytes]]) -> None:
    files = tuple(PackFile(path=f"hooks/z{name}", content=content) for name, content in contents)
    packed = Pack(name="any", hooks=(HOOK,), files=files)

    assert pack.read(pack.write(packed), path="any.toml").files == files


@given(VALUES)
def test_every_value_of_a_hook_is_written_as_it_is(value: object) -> None:
    assert toml.parse(f"{toml.key_line(('it',), value)}\n").value == {"it": value}


def test_scripts_are_readable_in_the_pack() -> None:
    assert "content = '''\n#!/usr/bin/env python3\nprint('{}')\n'''" in pack.write(GUARD)


def test_what_toml_cannot_say_is_refused() -> None:
    with pytest.raises(ConfigError, match="TOML cannot carry nothing"):
        pack.write(Pack(name="guard", hooks=({**HOOK, "timeout": None},)))


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("/etc/passwd", "is absolute"),
        ("~/x.py", "is absolute"),
        ("C:/x.py", "is absolute"),
        ("../x.py", "leads out of the pack"),
        ("hooks/../../x.py", "leads out of the pack"),
        ("hooks//x.py", "leads out of the pack"),
        ("./x.py", "leads out of the pack"),
        ("", "leads out of the pack"),
        ("hooks\\\\x.py", "is no name for a file"),
        ("x.py\\u001b[2J", "is no name for a file"),
        ("x\\u202ey", "is no name for a file"),
        ("CON", "is no name for a file"),
        ("hooks/nul.py", "is no name for a file"),
        (".git/config", "is git's own"),
        ("hooks/.GIT/config", "is git's own"),
        ("Hookline.toml", "is where the hooks of the pack are written"),
    ],
)
def test_file_that_would_lie_elsewhere_is_refused_with_its_line(path: str, reason: str) -> None:
    text = pack.write(GUARD).replace('hooks/guard.py"\nsha', f'{path}"\nsha')

    with pytest.raises(ConfigError, match=reason) as caught:
        pack.read(text, path="guard.toml")

    assert caught.value.line == text[: text.index("sha256")].count("\n")


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("print", "exec ", "is not what its sha256 says"),
        ("format = 1", "format = 2", "no pack of format 1; it says the number 2"),
        ("[pack]", "[packs]", 'unknown key "packs" in a pack .did you mean "pack".'),
        ("executable = true", 'executable = "yes"', "executable: wanted true or false"),
        ("executable = true", 'encoding = "rot13"', 'wanted "base64" or nothing'),
        ("executable = true", 'encoding = "base64"', "this is no base64"),
        ("executable = true", "exectable = true", 'unknown key "exectable"'),
        ('name = "guard"\nversion', 'name = "../guard"\nversion', "is no name for a pack"),
        ('name = "guard"\nversion', 'name = "Aux"\nversion', "is no name for a pack"),
        ('name = "guard"\nversion', 'name = "guard."\nversion', "is no name for a pack"),
        ('name = "guard"\non', "on", "name: wanted a text, got nothing"),
        ("[[hook]]", "[hook]", r"wanted \[\[hook\]\] tables, got an object"),
        ("[[hook]]", "[hook", "Expected"),
    ],
)
def test_pack_that_does_not_keep_its_promises_is_refused(old: str, new: str, reason: str) -> None:
    text = pack.write(GUARD)
    assert old in text

    with pytest.raises(ConfigError, match=reason) as caught:
        pack.read(text.replace(old, new, 1), path="guard.toml")

    assert caught.value.path == "guard.toml"
    assert caught.value.line


def test_more_hooks_than_anybody_reads_are_refused() -> None:
    with pytest.raises(ConfigError, match="at most 200 hooks, this one has 201"):
        pack.write(Pack(name="any", hooks=(HOOK,) * (pack.MAX_HOOKS + 1)))


@pytest.mark.parametrize(
    ("paths", "reason"),
    [
        (("hooks/a.py", "hooks/A.py"), "is in this pack twice"),
        (("hooks", "hooks/a.py"), "is a file and a folder at once"),
        (tuple(f"{number}.py" for number in range(pack.MAX_FILES + 1)), "at most 200 files"),
    ],
)
def test_files_that_get_in_each_others_way_are_refused(paths: tuple[str, ...], reason: str) -> None:
    files = tuple(PackFile(path=path, content=b"") for path in paths)

    with pytest.raises(ConfigError, match=reason):
        pack.write(Pack(name="any", hooks=(HOOK,), files=files))


def test_more_than_a_person_can_read_is_refused() -> None:
    files = tuple(PackFile(path=name, content=b"x" * (pack.MAX_BYTES // 2 + 1)) for name in ("a", "b"))

    with pytest.raises(ConfigError, match="1024 KB together"):
        pack.write(Pack(name="any", hooks=(HOOK,), files=files))


def test_file_is_read_up_to_its_limit(tmp_path: Path) -> None:
    path = tmp_path / "guard.toml"
    path.write_text(pack.write(GUARD))
    assert pack.read_file(path) == GUARD

    path.write_bytes(b"#" * (2 * pack.MAX_BYTES + 1))
    with pytest.raises(ConfigError, match="larger than 2048 KB"):
        pack.read_file(path)


@pytest.mark.parametrize(("content", "reason"), [(None, "no such file"), (b"\xff", "not UTF-8"), (b"[", "Invalid")])
def test_file_that_is_no_pack_is_refused(tmp_path: Path, content: bytes | None, reason: str) -> None:
    path = tmp_path / "guard.toml"
    if content is not None:
        path.write_bytes(content)

    with pytest.raises(ConfigError, match=reason):
        pack.read_file(path)


def test_unpacked_files_are_the_persons_alone(tmp_path: Path) -> None:
    folder = pack.install(GUARD, tmp_path / "packs")

    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.rglob("*") if path.is_file()}
    assert folder == tmp_path / "packs" / "guard"
    assert modes == {"hookline.toml": 0o600, "guard.py": 0o700}
    assert hashlib.sha256((folder / "hooks/guard.py").read_bytes()).digest() == hashlib.sha256(SCRIPT.content).digest()


def test_unpacked_settings_have_the_hooks_and_nothing_else(tmp_path: Path) -> None:
    folder = pack.install(GUARD, tmp_path)

    assert toml.parse((folder / "hookline.toml").read_text()).value == {"hook": [HOOK]}


def test_pack_that_is_there_stays_as_it_is(tmp_path: Path) -> None:
    pack.install(GUARD, tmp_path)
    (tmp_path / "guard" / "mine").write_text("edited")

    with pytest.raises(ConfigError, match='there is a pack "guard" already'):
        pack.install(GUARD, tmp_path)

    assert (tmp_path / "guard" / "mine").read_text() == "edited"
    assert [path.name for path in tmp_path.iterdir()] == ["guard"]


def test_pack_that_cannot_be_unpacked_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "packs").write_text("a file where the folder would be")

    with pytest.raises(ConfigError, match="the pack cannot be unpacked"):
        pack.install(GUARD, tmp_path / "packs")

    too_long = Pack(name="guard", hooks=(HOOK,), files=(SCRIPT, PackFile(path="x" * 300, content=b"")))
    with pytest.raises(ConfigError, match="the pack cannot be unpacked"):
        pack.install(too_long, tmp_path / "others")
    assert list((tmp_path / "others").iterdir()) == []
