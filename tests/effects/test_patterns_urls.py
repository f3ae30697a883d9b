import pytest

from hookline.effects.effects import EffectsBuilder
from hookline.effects.patterns import add_url, compile_urls, find_urls
from hookline.errors import ConfigError


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("see https://a.b/c, and (http://d.e/f).", ("https://a.b/c", "http://d.e/f")),
        ("HTTPS://A.B twice HTTPS://A.B", ("HTTPS://A.B",)),
        ("curl 'https://a.b/c?d=e&f=g'", ("https://a.b/c?d=e&f=g",)),
        ("ftp://a.b and file:///a", ()),
        ("", ()),
    ],
)
def test_urls_are_found_in_any_text(text: str, expected: tuple[str, ...]) -> None:
    assert find_urls(text) == expected


@pytest.mark.parametrize(
    ("pattern", "url", "expected"),
    [
        ("example.com", "https://example.com/a", True),
        ("example.com", "https://api.EXAMPLE.com:8443/a", True),
        ("example.com", "https://example.com./", True),
        ("example.com", "https://notexample.com/", False),
        ("example.com", "https://example.com.evil.org/", False),
        ("example.com", "https://good.org@example.com/", True),
        ("example.com", "https://example.com@good.org/", False),
        ("example.com", "https://good.org/example.com", False),
        ("*.internal", "http://db.internal/", True),
        ("example.com:8080", "http://example.com:8080/", True),
        ("example.com:8080", "http://example.com:9090/", False),
        ("https://example.com", "http://example.com/", False),
        ("https://example.com", "https://example.com/", True),
        ("example.com/admin", "https://example.com/admin/users?x=1", True),
        ("example.com/admin", "https://example.com/public", False),
        ("example.com/*.sh", "https://example.com/a/b.sh", True),
        # spelled in another way, it may be the same
        ("example.com/admin", "https://example.com/%61dmin", True),
        ("example.com/admin", "https://example.com/x/../admin", True),
        ("169.254.169.254", "http://169.254.169.254/latest", True),
        ("example.com:443", "https://example.com/", True),
        ("example.com:443", "http://example.com/", False),
        ("example.com:*", "http://example.com/", True),
        ("[::1]", "http://[::1]:80/", True),
        ("[::1]:80", "http://[::1]/", True),
        ("[::1]:80", "http://[::1]:81/", False),
        ("::1", "http://[::1]/", True),
        # what cannot be read may be anywhere
        ("example.com", "http://[broken", True),
        ("example.com", "http://a\\b", True),
        ("example.com:1", "http://example.com:99999/", True),
    ],
)
def test_pattern_means_a_host_and_all_below_it_or_the_beginning_of_a_url(
    pattern: str, url: str, *, expected: bool
) -> None:
    assert compile_urls([pattern])(url) is expected


@pytest.mark.parametrize(
    "url",
    [
        "file:///etc/passwd",
        "http://2130706433/",
        "http://0x7f.1/",
        "http://0x7f000001./",
        "http://%31%32%37.0.0.1/",
        "http://[::ffff:169.254.169.254]/",
        "http://ex\u00e4mple/",
        "x",
    ],
)
def test_url_that_may_lead_elsewhere_makes_the_others_uncertain(url: str) -> None:
    found = EffectsBuilder()

    add_url(found, url)

    assert found.build().urls == (url,)
    assert found.build().unknown == {"urls", "reads"}


def test_plain_url_is_certain() -> None:
    found = EffectsBuilder()

    add_url(found, "http://127.0.0.1:80/a")

    assert not found.build().unknown


def test_empty_pattern_is_refused() -> None:
    with pytest.raises(ConfigError, match="empty"):
        compile_urls([" "])
