"""What an engine is put together from."""

from collections.abc import Mapping

from msgspec import Struct

from hookline.ports import Dialect, Kind


class Parts(Struct, frozen=True):
    """The tables an engine works with: how to speak to hooks, and how to reach them."""

    dialects: Mapping[str, Dialect]
    kinds: Mapping[str, Kind]


def default_parts() -> Parts:
    """Give everything Hookline ships."""
    # The one door upwards: whoever uses a part by itself gets the same tables as the whole engine.
    from hookline.wiring import make_parts  # noqa: PLC0415

    return make_parts()
