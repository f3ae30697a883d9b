"""The commands that a script may run: wrappers unfolded, variables put in place, folders followed."""

import pytest

from hookline.shell.reader import parse_script
from hookline.shell.walk import ShellCommand, Walk, walk_commands

pytestmark = pytest.mark.spec("U-03")


def walk(text: str) -> Walk:
    return walk_commands(parse_script(text))


def texts(text: str) -> list[str]:
    return [command.text for command in walk(text).commands]


def named(text: str, name: str) -> ShellCommand:
    return next(command for command in walk(text).commands if command.name == name)


FORCE = "git push --force"
WRAPPED = (
    "env A=1 -u B git push --force",
    "sudo -u root -E git push --force",
    "timeout -k 5 30s git push --force",
    "nice -n 10 nohup git push --force &",
    "time -p git push --force",
    "stdbuf -oL setsid git push --force",
    "bash -c 'git push --force'",
    'sh -lc "git push --force"',
    "zsh -c 'cd x && git push --force'",
    "bash <<EOF\ngit push --force\nEOF",
    "bash <<< 'git push --force'",
    "echo 'git push --force' | sh",
    "printf 'git push %s' --force | bash -s",
    "cat <<EOF | sudo sh\ngit push --force\nEOF",
    "bash <(echo git push --force)",
    "source <(echo git push --force); git push --force",
    "eval 'git push' --force",
    "ssh -p 22 host git push --force",
    "docker exec -it app git push --force",
    "docker run --rm -v x:/y image git push --force",
    "kubectl -n prod exec pod -- git push --force",
    "npx -y git push --force",
    "uv run git push --force",
    "poetry run git push --force",
    "pipx run git push --force",
    "pnpm dlx git push --force",
    "npm exec -- git push --force",
    "command git push --force",
    "exec git push --force",
    "builtin command git push --force",
    "watch -n 5 'git push --force'",
    "strace -f -o log git push --force",
    "xargs -n1 git push --force",
    "find . -exec git push --force \\;",
    "parallel git push --force ::: a",
    "su -c 'git push --force' root",
    "script -c 'git push --force' /dev/null",
    "flock /tmp/lock git push --force",
    "X=push; git $X --force",
    "X='git push --force'; $X",
    "for c in push; do git $c --force; done",
    'f() { git push "$@"; }; f --force',
    "bash -c 'git \"$@\"' _ push --force",
    "git${IFS}push${IFS}--force",
    "$(echo git) push --force",
    "(cd x; git push --force)",
    "{ git push --force; }",
    "if true; then git push --force; fi",
    "while true; do git push --force; done",
    "case $x in *) git push --force;; esac",
    "true && false || ! git push --force",
    "echo $(git push --force)",
    "echo `git push --force`",
    "x=$(git push --force)",
    "diff <(git push --force) x",
    "/usr/bin/git push --force",
    "\\git push --force",
    "g\"i\"t p'us'h --force",
    "$'git' push --force",
    "git -c alias.p='push --force' p",
    "git submodule foreach 'git push --force'",
    "git rebase -x 'git push --force' main",
    "git bisect run git push --force",
    "python3 -c \"import os; os.system('git push --force')\"",
    "python3 -c \"import subprocess; subprocess.run(['git', 'push', '--force'])\"",
    'node -e \'require("child_process").execSync("git push --force")\'',
    "trap 'git push --force' EXIT",
    "tmux new -d 'git push --force'",
    "busybox env git push --force",
    "GIT_DIR=x git push --force",
    "f() { git push --force; }",
)


def test_every_wrapper_is_unfolded() -> None:
    missed = [text for text in WRAPPED if not any(one.startswith(FORCE) for one in texts(text))]

    assert missed == []


def test_texts_that_only_mention_a_command_are_no_command() -> None:
    rows = (
        "echo git push --force",
        "grep 'git push --force' x",
        "git commit -m 'git push --force'",
        "# git push --force",
        "cat <<EOF > x\ngit push --force\nEOF",
        "printf 'git push --force\\n' >> notes",
        "x='git push --force'",
    )
    for text in rows:
        assert not any(one.startswith("git push") for one in texts(text)), text


def test_folders_are_followed() -> None:
    rows = {
        "cd src && rm x": ("src",),
        "cd src; rm x": ("src", "."),
        "cd /srv && cd a/.. && rm x": ("/srv",),
        "(cd src); rm x": (".",),
        "cd && rm x": ("~",),
        "cd $D && rm x": (None,),
        "cd - && rm x": (None,),
        "pushd src && rm x": ("src",),
        "env -C src rm x": ("src",),
        "cd ~/a && rm x": ("~/a",),
        'cd "$HOME/a" && rm x': ("~/a",),
        "bash -c 'cd src && rm x'": ("src",),
        "cd src | true; rm x": (".",),
    }
    for text, folders in rows.items():
        assert named(text, "rm").folders == folders, text


def test_commands_know_whose_output_they_execute() -> None:
    rows = (
        "curl x | sh",
        "curl x | sudo bash -s",
        "bash <(curl x)",
        'sh -c "$(curl x)"',
        'eval "$(curl x)"',
        "sh < <(curl x)",
        'bash <<< "$(curl x)"',
        ". <(curl x)",
        "curl x | tee f | bash",
        "curl x | python3 -",
        "curl x | (cd /tmp; sh)",
        "bash -c 'curl x | sh'",
    )
    for text in rows:
        assert any("curl" in [one.name for one in command.code_from] for command in walk(text).commands), text
    for text in (
        "curl x | jq .",
        "curl x | python3 -m json.tool",
        "curl x | bash script.sh",
        "curl x | python3 -c 'import sys'",
        "curl x > f; ls",
    ):
        assert not any(command.code_from for command in walk(text).commands), text


def test_commands_in_containers_and_on_other_machines_are_marked() -> None:
    for text in ("docker exec c rm x", "ssh host rm x", "kubectl exec p -- rm x", "docker compose run web rm x"):
        assert named(text, "rm").is_remote, text
    assert not named("sudo rm x", "rm").is_remote


def test_an_unknown_variable_leaves_the_word_open() -> None:
    for text in ("git $SUB", "read s; git $s", "git $(date)", "git ${X:-push}", "git $1"):
        assert not named(text, "git").words[1].is_literal, text


def test_a_program_that_cannot_be_known_has_no_name() -> None:
    for text in ("$X push", "$(which git) push", "g?t push", '"$@"'):
        assert "" in [command.name for command in walk(text).commands], text


def test_every_value_of_a_variable_is_tried() -> None:
    assert {"git push ", "git push --force"} >= {
        text for text in texts('F=--force; [ x ] && F=""; git push $F') if "--" in text
    }
    assert texts("for f in a b; do rm $f; done") == ["rm a", "rm b"]


def test_endless_scripts_end() -> None:
    for text in (
        "f() { f; }; f",
        "f() { g; }; g() { f; }; f",
        "bash -c " * 40 + "x",
        "eval " * 200 + "x",
        "for a in {1..50}; do for b in {1..50}; do rm $a $b; done; done",
    ):
        assert walk(text).commands is not None
