import pytest

from hookline.errors import ConfigError
from hookline.model.settings import Settings, from_environment


@pytest.mark.spec("A-16")
@pytest.mark.parametrize(
    ("environ", "wanted"),
    [
        ({}, Settings()),
        ({"HOOKS_ENABLED": "", "HOOKS_TIMEOUT": ""}, Settings()),
        ({"HOOKS_ENABLED": "false"}, Settings(enabled=False)),
        ({"HOOKS_ENABLED": "0"}, Settings(enabled=False)),
        ({"HOOKS_ENABLED": "True"}, Settings(enabled=True)),
        ({"HOOKS_TIMEOUT": "12.5"}, Settings(timeout=12.5)),
    ],
)
def test_settings_come_from_the_environment(environ: dict[str, str], wanted: Settings) -> None:
    assert from_environment(environ) == wanted


@pytest.mark.parametrize(
    "environ", [{"HOOKS_ENABLED": "nein"}, {"HOOKS_TIMEOUT": "0"}, {"HOOKS_TIMEOUT": "x"}, {"HOOKS_TIMEOUT": "inf"}]
)
def test_what_cannot_be_meant_is_refused(environ: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match=next(iter(environ))):
        from_environment(environ)
