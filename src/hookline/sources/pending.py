"""Files that wait for their turn: one at a time each, and later where hooks keep changing them."""

import asyncio

from hookline.sources.rounds import Rounds, wait_of

# how long it takes at least until what waits is looked at again, in seconds
_SHORTEST = 0.05


class Pending:
    """The files that may have changed, each with the round it belongs to; the first to come is the first to go."""

    def __init__(self, rounds: Rounds) -> None:
        self._rounds = rounds
        self._ready: dict[str, int] = {}
        self._later: dict[str, int] = {}
        self._again: dict[str, int] = {}
        self._taken: set[str] = set()
        self._is_ready = asyncio.Event()
        self._is_later = asyncio.Event()

    def __len__(self) -> int:
        """How many files wait, or are being told of."""
        return len(self._ready) + len(self._later) + len(self._again) + len(self._taken)

    def put(self, path: str, number: int) -> bool:
        """Let a file wait for its turn; False when it has had too many rounds."""
        wait = wait_of(number)
        if wait is None:
            return False
        if path in self._taken:
            self._again[path] = number
            return True
        self._later.pop(path, None)
        self._ready.pop(path, None)
        if wait:
            self._later[path] = number
            self._is_later.set()
        else:
            self._ready[path] = number
            self._is_ready.set()
        return True

    def has(self, path: str) -> bool:
        """Say whether a file waits already."""
        return path in self._ready or path in self._later or path in self._again

    async def take(self) -> tuple[str, int]:
        """Wait for a file whose turn it is; nobody else gets it until it is `done`."""
        while not self._ready:
            self._is_ready.clear()
            await self._is_ready.wait()
        path = next(iter(self._ready))
        self._taken.add(path)
        return path, self._ready.pop(path)

    def done(self, path: str) -> None:
        """Give a file back; what happened to it meanwhile is next."""
        self._taken.discard(path)
        if path in self._again:
            self.put(path, self._again.pop(path))

    async def revive(self) -> None:
        """Let those that wait for quiet have their turn when it is, for ever."""
        while True:
            if not self._later:
                self._is_later.clear()
                await self._is_later.wait()
            left = {path: (wait_of(number) or 0.0) - self._rounds.quiet for path, number in self._later.items()}
            for path in [path for path, seconds in left.items() if seconds <= 0]:
                self._ready[path] = self._later.pop(path)
                self._is_ready.set()
            await asyncio.sleep(max(min(left.values()), _SHORTEST))
