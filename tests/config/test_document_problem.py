from hookline.config.document import Problem, Severity


def test_problem_is_written_as_compilers_do() -> None:
    assert str(Problem("a/hookline.toml", 3, "unknown key", Severity.WARNING)) == (
        "a/hookline.toml:3: warning: unknown key"
    )
    assert str(Problem("a/hookline.toml", 0, "not UTF-8")) == "a/hookline.toml: error: not UTF-8"


def test_neither_path_nor_message_can_forge_a_screen() -> None:
    problem = Problem("x\x1b[2J.json", 1, 'hook "\u202e\x07" is odd')

    assert problem.message == 'hook "\\u202e\\x07" is odd'
    assert str(problem) == 'x\\x1b[2J.json:1: error: hook "\\u202e\\x07" is odd'
