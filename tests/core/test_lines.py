import pytest

from hookline.core import lines

VARIABLES = {"PWD": "/w", "HOME": "/h"}


@pytest.mark.parametrize(
    ("script", "wanted"),
    [
        ('"$(dirname "$0")/b.sh" arg', ["./b.sh"]),
        ("python3 -u hooks/b.py data.json", ["hooks/b.py", "data.json"]),
        ("exec timeout 5 node ./x.js", ["./x.js"]),
        ("if ./check.sh; then . lib/one.sh; fi", ["./check.sh", "lib/one.sh"]),
        ("x=$(tools/version.sh)", ["tools/version.sh"]),
        ('"$PYTHON" run.py', ["run.py"]),
        ("cat a.txt b.txt # ./no.sh", []),
        ("/usr/bin/env true", []),
        ("case $1 in\n  deploy/x.sh) exit 2;;\nesac", []),
        ('if [ "$1" = deploy/x.sh ]; then exit 2; fi', []),
    ],
)
def test_what_a_script_plainly_runs_is_found(script: str, wanted: list[str]) -> None:
    assert list(lines.run_by(script)) == wanted


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("cd a && x", ["/w", "/w/a"]),
        ("cd a; cd b", ["/w", "/w/a", "/w/b", "/w/a/b"]),
        ('cd "$PWD/my dir"', ["/w", "/w/my dir"]),
        ("make -Csub --directory=other", ["/w", "/w/sub", "/w/other", "/w/sub/other"]),
        ("npm --prefix ~/x run", ["/w", "/h/x"]),
        ("cd - && cd", ["/w"]),
        ("abcd x; --dirty x", ["/w"]),
    ],
)
def test_folders_that_a_line_goes_to_are_found(text: str, wanted: list[str]) -> None:
    assert lines.folders((text,), "/w", VARIABLES) == wanted


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("$PWD/x ${PWD%/}/y", "/w/x /w/y"),
        ("a=1; echo $a ${b:-2} ${c}", "a=1; echo 1 2 ${c}"),
        ("sh $(pwd)/x `pwd`/y ~/z", "sh /w/x /w/y /h/z"),
        ("D='a b' E=$D", "D='a b' E=a b"),
    ],
)
def test_variables_are_filled_in_where_they_are_known(monkeypatch: pytest.MonkeyPatch, text: str, wanted: str) -> None:
    for name in "abcDE":
        monkeypatch.delenv(name, raising=False)

    assert lines.filled(text, VARIABLES) == wanted


def test_folders_that_a_line_puts_on_its_search_path_are_found() -> None:
    found = lines.search_folders(('PATH="$PWD/bin:$PATH" x; export PATH=node_modules/.bin:${PATH}',), VARIABLES)

    assert found == ["/w/bin", "node_modules/.bin"]


@pytest.mark.parametrize("piece", ["  ", "$(", "`", "${a", "if ", "timeout ", "\\\n", "()", " #", "a b ", "(", ")"])
def test_script_made_to_keep_us_busy_does_not(piece: str) -> None:
    assert list(lines.run_by(piece * 100_000 + "(")) is not None
