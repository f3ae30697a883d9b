"""Language models as hooks and settings name them: where they are reached, what they cost, and what may be spent."""

import re
from collections.abc import Mapping
from typing import Final

from msgspec import Struct

MILLION: Final = 1_000_000
# who offers models; `openai` is every server that speaks the API of OpenAI
PROVIDERS: Final = ("ollama", "openai", "anthropic")

_BUDGET: Final = re.compile(r"\$?([0-9]+(?:\.[0-9]+)?)([kM]?)( ?tokens)? ?/ ?day")
_FACTORS: Final = {"": 1, "k": 1_000, "M": MILLION}


class ModelSettings(Struct, frozen=True, kw_only=True):
    """What the user's settings say about a model, or about all models of a provider.

    `url` is where it is reached, `key_env` names the variable that holds the key, and `input` and `output` are the prices
    of a million tokens. A project has no settings, so that it cannot have a key sent to a server of its choice.
    """

    url: str = ""
    key_env: str = ""
    input: float | None = None
    output: float | None = None


class ModelUsage(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What answers of a model took: tokens read and written, and their price; None where the price is not known."""

    model: str
    input: int = 0
    output: int = 0
    cost: float | None = None

    @property
    def tokens(self) -> int:
        """All tokens, read and written."""
        return self.input + self.output

    def add(self, other: "ModelUsage") -> "ModelUsage":
        """Return the sum of two usages of one model."""
        cost = None if self.cost is None or other.cost is None else self.cost + other.cost
        return ModelUsage(
            model=self.model, input=self.input + other.input, output=self.output + other.output, cost=cost
        )

    def share(self, place: int, count: int) -> "ModelUsage":
        """Return one of `count` parts that add up to the whole."""

        def part(number: int) -> int:
            return number // count + (place < number % count)

        cost = None if self.cost is None else self.cost / count
        return ModelUsage(model=self.model, input=part(self.input), output=part(self.output), cost=cost)


class ModelBudget(Struct, frozen=True):
    """What may be spent in a day: an amount of money, in the currency of the prices, or a number of tokens."""

    amount: float
    in_tokens: bool = False

    def __str__(self) -> str:
        return f"{self.format(self.amount)}/day"

    def format(self, amount: float) -> str:
        """Return an amount in the unit of the budget."""
        if self.in_tokens:
            return f"{amount:.0f} tokens"
        whole, _, digits = f"{amount:.6f}".partition(".")
        return f"{whole}.{digits.rstrip('0'):0<2}"


def parse_budget(text: str) -> ModelBudget:
    """Read what may be spent in a day: "0.50/day", or "100k tokens/day".

    Raises:
        ValueError: It is something else.
    """
    found = _BUDGET.fullmatch(text.strip())
    amount = float(found[1]) * _FACTORS[found[2]] if found else 0.0
    if found is None or amount <= 0 or (found[2] and not found[3]) or (text.startswith("$") and found[3]):
        raise ValueError(f'wanted an amount for each day, such as "0.50/day" or "100k tokens/day", got "{text}"')
    return ModelBudget(amount, in_tokens=bool(found[3]))


def split_model(name: str) -> tuple[str, str]:
    """Return the provider of a model and the name that the provider has for it.

    Raises:
        ValueError: There is no such provider, or no name.
    """
    provider, _, model = name.partition(":")
    if provider not in PROVIDERS or not model.strip() or not name.isprintable():
        wanted = ", ".join(f"{one}:NAME" for one in PROVIDERS)
        raise ValueError(f'wanted a model as one of {wanted}, got "{name}"')
    return provider, model


def find_model_settings(name: str, models: Mapping[str, ModelSettings]) -> ModelSettings:
    """Return what settings say about a model; what they do not say of the model holds as they say it of its provider."""
    own, general = models.get(name, ModelSettings()), models.get(name.partition(":")[0], ModelSettings())
    return ModelSettings(
        url=own.url or general.url,
        key_env=own.key_env or general.key_env,
        input=own.input if own.input is not None else general.input,
        output=own.output if own.output is not None else general.output,
    )
