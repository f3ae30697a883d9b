"""Models by name: `ollama:llama3.2`, `openai:gpt-5`, `anthropic:claude-sonnet-4-5`."""

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

from hookline import ConfigError

if TYPE_CHECKING:
    from pydantic_ai.models import Model

EXAMPLE: Final = "ollama:llama3.2"
_OLLAMA: Final = "http://127.0.0.1:11434"
# what helps with Ollama, by the status of its answer
_HINTS: Final = {
    404: "; `ollama pull {name}` gets it",
    400: "; the model may know no tools: `ollama show {name}` lists what it can",
}
_USUAL_WINDOW: Final = 128_000
_OLLAMA_WINDOW: Final = 4_096


def make_model(name: str, url: str = "") -> "Model":
    """Return the model of a name; `url` is the address of another server than the usual one.

    Raises:
        ConfigError: There is no such provider, or its key is missing.
    """
    provider, _, model = name.partition(":")
    make = _PROVIDERS.get(provider)
    if make is None or not model:
        known = ", ".join(f"{one}:NAME" for one in _PROVIDERS)
        raise ConfigError(f'there is no model "{name}"; name one as {known}, such as `--model {EXAMPLE}`')
    return make(model, url)


def explain_problem(model: "Model", error: Exception) -> str:
    """Return why a model could not be used, where it was looked for, and what to do."""
    from pydantic_ai.exceptions import ModelHTTPError  # noqa: PLC0415 - loads the library

    where = f"{model.system}:{model.model_name} at {model.base_url or 'its usual address'}"
    if not isinstance(error, ModelHTTPError):
        start = "; `ollama serve` starts Ollama" if model.system == "ollama" else "; check --url and the network"
        return f"{where} cannot be reached: {str(error).rstrip('.')}{start}"
    body = error.body if isinstance(error.body, Mapping) else {}
    reason = body.get("message") or body.get("error") or error.body or "no reason given"
    hint = _HINTS.get(error.status_code, "").format(name=model.model_name) if model.system == "ollama" else ""
    return f"{where} refused the request with status {error.status_code}: {reason}{hint}"


def find_window(name: str) -> int:
    """Return the usual size of a model's context window, in tokens; Ollama's is what its server was started with."""
    if not name.startswith("ollama:"):
        return _USUAL_WINDOW
    said = os.environ.get("OLLAMA_CONTEXT_LENGTH", "")
    return int(said) if said.isdecimal() and int(said) else _OLLAMA_WINDOW


def _make_ollama(name: str, url: str) -> "Model":
    from pydantic_ai.models.ollama import OllamaModel  # noqa: PLC0415 - only this provider needs it
    from pydantic_ai.providers.ollama import OllamaProvider  # noqa: PLC0415

    base = url or os.environ.get("OLLAMA_HOST", "") or _OLLAMA
    # as Ollama's own client reads it: a host, a host and a port, or a URL
    base = base if "://" in base else f"http://{base if ':' in base else f'{base}:11434'}"
    base = base.replace("//0.0.0.0", "//127.0.0.1").rstrip("/")
    return OllamaModel(name, provider=OllamaProvider(base_url=base if base.endswith("/v1") else f"{base}/v1"))


def _make_openai(name: str, url: str) -> "Model":
    from pydantic_ai.models.openai import OpenAIChatModel  # noqa: PLC0415 - only this provider needs it
    from pydantic_ai.providers.openai import OpenAIProvider  # noqa: PLC0415

    base = url or os.environ.get("OPENAI_BASE_URL", "")
    key = os.environ.get("OPENAI_API_KEY", "") or ("none" if base else "")
    if not key:
        raise ConfigError("OPENAI_API_KEY is not set; set it, or name a server that needs no key with --url")
    return OpenAIChatModel(name, provider=OpenAIProvider(base_url=base or None, api_key=key))


def _make_anthropic(name: str, url: str) -> "Model":
    from pydantic_ai.models.anthropic import AnthropicModel  # noqa: PLC0415 - only this provider needs it
    from pydantic_ai.providers.anthropic import AnthropicProvider  # noqa: PLC0415

    key = os.environ.get("ANTHROPIC_API_KEY", "") or ("none" if url else "")
    if not key:
        raise ConfigError("ANTHROPIC_API_KEY is not set; set it, or choose another model with --model")
    return AnthropicModel(name, provider=AnthropicProvider(api_key=key, base_url=url or None))


_PROVIDERS: Final[Mapping[str, Callable[[str, str], "Model"]]] = {
    "ollama": _make_ollama,
    "openai": _make_openai,
    "anthropic": _make_anthropic,
}
