"""What stands in for hashlib where one call is answered gives the same digests."""

import hashlib
from typing import Any

import pytest

from hookline.bridge.cold import digests as stand_in

# its names are those of the real one, as far as they are asked for
digests: Any = stand_in


@pytest.mark.parametrize("raw", [b"", b"abc", bytes(range(256)) * 300])
def test_the_digests_are_the_same(raw: bytes) -> None:
    key = b"k" * 32
    assert digests.sha256(raw).hexdigest() == hashlib.sha256(raw).hexdigest()
    ours = digests.blake2b(raw, key=key, digest_size=32).hexdigest()
    assert ours == hashlib.blake2b(raw, key=key, digest_size=32).hexdigest()


def test_any_other_comes_from_where_it_is() -> None:
    assert digests.md5 is hashlib.md5
    assert digests.file_digest is hashlib.file_digest
    with pytest.raises(AttributeError):
        _ = digests.nothing
