"""How often hooks may still run, and which are paused."""

from collections.abc import Iterable

from hookline.engine.limits import LimitStatus
from hookline.model.event import Event, EventName
from hookline.model.hook import Hook
from hookline.project import Project


def list_limits(project: Project, hooks: Iterable[Hook], *, alone: bool) -> list[tuple[str, LimitStatus]]:
    """Return the status of every limit of these hooks, by the id of the hook; `alone` leaves out shared limits.

    Raises:
        StoreError: The state of the hooks cannot be read.
    """
    # without a session: it is not known which one is meant
    event = Event(name=EventName.USER_TRIGGERED, cwd=str(project.root))
    admission = project.engine.admission
    return [(hook.id, limit) for hook in hooks for limit in admission.limit_status(hook, event, alone=alone)]
