import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookline.text import MASK, redact

KEY = "a1B2c3D4" * 6


@pytest.mark.spec("P-19")
@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (f"key sk-proj-{KEY} used", f"key sk-pro{MASK} used"),
        (f"sk-ant-api03-{KEY}", f"sk-ant{MASK}"),
        ("sk_live_" + "x1" * 12, f"sk_liv{MASK}"),
        (f"ghp_{KEY}", f"ghp_a1{MASK}"),
        (f"gho_{KEY}", f"gho_a1{MASK}"),
        (f"github_pat_{KEY}", f"github{MASK}"),
        (f"glpat-{KEY}", f"glpat-{MASK}"),
        ("AKIAIOSFODNN7EXAMPLE", f"AKIAIO{MASK}"),
        (f"AIza{KEY}", f"AIzaa1{MASK}"),
        ("xoxb-123456789012-abcdef", f"xoxb-1{MASK}"),
        (f"hf_{KEY}", f"hf_a1B{MASK}"),
        (f"npm_{KEY}", f"npm_a1{MASK}"),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl", f"eyJhbG{MASK}"),
        (f"GITHUB_TOKEN=ghp_{KEY}", f"GITHUB_TOKEN=ghp_a1{MASK}"),
        ("Authorization: Bearer abcdefgh", f"Authorization: Bearer {MASK}"),
        ("authorization: Basic dXNlcjpwYXNz", f"authorization: Basic {MASK}"),
        ('curl -H "Authorization: token abcd1234efgh" x', f'curl -H "Authorization: token {MASK}" x'),
        ("bearer abc123abc123abc123", f"bearer {MASK}"),
        ("password=hunter2 next", f"password={MASK} next"),
        ('"password": "two words"', f'"password": "{MASK}"'),
        ("DB_PASSWD='x'", f"DB_PASSWD='{MASK}'"),
        ("password=pa$$word", f"password={MASK}"),
        ("token: abc123def", f"token: {MASK}"),
        ('{"api_key": "abc123456"}', f'{{"api_key": "{MASK}"}}'),
        ("AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG", f"AWS_SECRET_ACCESS_KEY={MASK}"),
        ("https://bob:s3cret@example.com/x", f"https://bob:{MASK}@example.com/x"),
        (f"https://{KEY}@example.com/x", f"https://{MASK}@example.com/x"),
        (
            "-----BEGIN RSA PRIVATE KEY-----\nMIIabc\nxyz==\n-----END RSA PRIVATE KEY-----\nafter",
            f"-----BEGIN RSA PRIVATE KEY-----{MASK}-----END RSA PRIVATE KEY-----\nafter",
        ),
    ],
)
def test_secret_is_masked_and_its_beginning_stays(text: str, shown: str) -> None:
    assert redact(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "sk-learn-is-a-library-for-machine-learning",
        "max_tokens: 4096, tokens=12345678",
        "Unexpected token: identifier",
        "def check(token: str, password: str | None = None) -> bool",
        "token = next(tokens)",
        "password = getpass.getpass()",
        "password: required",
        "TOKEN=$GITHUB_TOKEN1234567",
        "git@github.com:owner/name.git",
        "ssh://git@github.com/owner/name",
        "http://localhost:8080/a@b",
        "the basic responsibilities of a bearer of bad news",
        "commit 9fceb02d0ae598e95dc970b74767f19372d61af8",
        "AKIAabc",
    ],
)
def test_ordinary_text_stays(text: str) -> None:
    assert redact(text) == text


@given(st.text())
def test_masking_twice_is_masking_once(text: str) -> None:
    once = redact(text)

    assert redact(once) == once


@pytest.mark.parametrize(
    "piece",
    [
        *["eyJ-", "eyJaaaaaaaa.", "password", "password=     ", "-----BEGIN PRIVATE KEY-----", "://a:", "bearer    "],
        *["authorization: ", "sk-", "token:", f"token:{'a' * 45}", " ", "\n", "a", "AKIA", "://", "'", '"password"'],
    ],
)
def test_a_megabyte_of_hostile_text_is_read_to_its_end(piece: str) -> None:
    # a pattern that goes over it again and again would not come back within the time a test has
    hostile = piece * (1_000_000 // len(piece))

    assert redact(f"{hostile} ghp_{KEY}").endswith(MASK)
