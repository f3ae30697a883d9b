"""Where a model is reached: the URL, the key and the prices, from the user's settings and environment.

Nothing of it comes from the definition of a hook: a hook of a project names a model, and the user says where that is.
"""

from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

from msgspec import Struct
from msgspec.structs import replace

from hookline.errors import ConfigError
from hookline.model.hook import Hook
from hookline.model.language_models import (
    MILLION,
    ModelSettings,
    ModelUsage,
    find_model_settings,
    split_model,
)
from hookline.model.settings import find_url_problem

_OLLAMA_PORT: Final = 11434


class _Place(Struct, frozen=True):
    """Where the models of a provider are by default, and the variables that say otherwise and hold the key."""

    url: str
    url_env: str
    key_env: str


_PLACES: Final[Mapping[str, _Place]] = {
    "ollama": _Place(f"http://127.0.0.1:{_OLLAMA_PORT}", "OLLAMA_HOST", "OLLAMA_API_KEY"),
    "openai": _Place("https://api.openai.com/v1", "OPENAI_BASE_URL", "OPENAI_API_KEY"),
    "anthropic": _Place("https://api.anthropic.com", "ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY"),
}


class ModelTarget(Struct, frozen=True, kw_only=True):
    """A model as it is reached; `key_env` names the variable of its key, and `source` says who chose the URL."""

    model: str
    provider: str
    name: str
    url: str
    key_env: str
    source: str = ""
    prices: tuple[float, float] | None = None

    @property
    def needs_key(self) -> bool:
        """Whether the server requires a key; servers of the user's own often want none."""
        place = _PLACES[self.provider]
        return self.provider != "ollama" and (self.url == place.url or self.key_env != place.key_env)

    def count(self, tokens_in: int, tokens_out: int) -> ModelUsage:
        """Return the usage of one answer, with its cost where the price is known."""
        cost = None
        if self.prices is not None:
            cost = (tokens_in * self.prices[0] + tokens_out * self.prices[1]) / MILLION
        return ModelUsage(model=self.model, input=tokens_in, output=tokens_out, cost=cost)


def find_target(model: str, models: Mapping[str, ModelSettings], environ: Mapping[str, str]) -> ModelTarget:
    """Return where a model is reached.

    Raises:
        ConfigError: There is no such provider, or a variable names no URL.
    """
    try:
        provider, name = split_model(model)
    except ValueError as problem:
        raise ConfigError(str(problem)) from None
    place, settings = _PLACES[provider], find_model_settings(model, models)
    url, source = settings.url, "your settings"
    if not url and (given := environ.get(place.url_env, "").strip()):
        url, source = _read_ollama_host(given) if provider == "ollama" else given, place.url_env
        if wrong := find_url_problem(url):
            raise ConfigError(f"the environment variable {place.url_env}: {wrong}")
    prices = (settings.input or 0.0, settings.output or 0.0)
    has_prices = settings.input is not None or settings.output is not None
    return ModelTarget(
        model=model,
        provider=provider,
        name=name,
        url=(url or place.url).rstrip("/"),
        key_env=settings.key_env or place.key_env,
        source=source if url else "",
        # a model on a machine of the user's own costs nothing, unless the settings say otherwise
        prices=prices if has_prices or provider == "ollama" else None,
    )


def add_url(hook: Hook, models: Mapping[str, ModelSettings], environ: Mapping[str, str]) -> Hook:
    """Return a hook with the URL of its model, if it has one that can be reached."""
    try:
        return replace(hook, model_url=find_target(hook.model, models, environ).url) if hook.model else hook
    except ConfigError:
        return hook


def _read_ollama_host(text: str) -> str:
    """Return the URL that OLLAMA_HOST means: a host, a host with a port, or a URL, as Ollama itself reads it."""
    scheme, separator, _ = text.partition("://")
    address = urlsplit(text if separator else f"http://{text}")
    try:
        port = address.port or (0 if separator else _OLLAMA_PORT)
    except ValueError:
        return text
    # a server that listens everywhere is reached here
    host = "127.0.0.1" if address.hostname in {None, "", "0.0.0.0"} else address.hostname or ""  # noqa: S104 - not bound
    host = f"[{host}]" if ":" in host else host
    return f"{scheme if separator else 'http'}://{host}{f':{port}' if port else ''}{address.path}"
