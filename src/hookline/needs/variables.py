"""Variables that have to be set. What they hold is nobody's business."""

from hookline.model.needed import variable_of
from hookline.needs._place import Place


async def look(text: str, place: Place) -> str:
    """Say that a variable is not set, or empty."""
    name = variable_of(text)
    return "" if place.variable(name) else f"the variable {name} is not set: set it, or give it in the hook's env"
