"""How long jobs take, as the last batches tell."""

from __future__ import annotations

_KEPT = 0.9  # of what was heard before, with each batch
_ENOUGH = 5  # batches: fewer say little, the first after a start least of all
_FIXED = 200  # characters that a job costs besides its own


class Pace:
    """Seconds for a character, over the last batches; a short one counts for little.

    >>> pace = Pace()
    >>> for _ in range(10):
    ...     pace.hear(jobs=5, characters=9_000, seconds=1.0)
    >>> round(pace.seconds(jobs=50, characters=90_000), 3)
    10.0
    """

    def __init__(self) -> None:
        self._batches, self._seconds, self._size = 0, 0.0, 0.0

    def hear(self, jobs: int, characters: int, seconds: float) -> None:
        """Hear of a batch that was answered."""
        self._batches += 1
        self._seconds = _KEPT * self._seconds + seconds
        self._size = _KEPT * self._size + _size(jobs, characters)

    def seconds(self, jobs: int, characters: int) -> float:
        """Return how long some jobs will take; 0 as long as too little was heard."""
        return _size(jobs, characters) * self._seconds / self._size if self._batches >= _ENOUGH else 0.0


def _size(jobs: int, characters: int) -> int:
    return characters + _FIXED * jobs
