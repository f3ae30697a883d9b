from pathlib import Path

from tests.cli.program import configure, hookline


def test_scopes_of_a_hook_are_written_by_add(tmp_path: Path) -> None:
    home = tmp_path / "home"
    folder = configure(home, "")
    options = ("--agent", "claude", "--branch", "main", "--branch", "release/*", "--between", "mon-fri 09:00-18:00")
    added = hookline(home, "add", "h", "--on", "before_tool", "--run", "/bin/echo x", *options, "--set", "once=turn")
    assert added.returncode == 0, added.stderr
    text = (folder / "hookline.toml").read_text()
    assert 'agents = ["claude-code"]\nbranches = ["main", "release/*"]\nbetween = ["mon-fri 09:00-18:00"]\n' in text
    assert 'once = "turn"' in text
    refused = hookline(home, "add", "i", "--on", "before_tool", "--run", "/bin/echo", "--agent", "claud")
    assert "--agent: there is no agent" in refused.stderr
