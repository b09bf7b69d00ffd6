"""What all answers say to browsers: run nothing, show me in no frame, keep no copy. Routes may say more for themselves."""

from __future__ import annotations

from collections.abc import Iterable

from onym.serve.refusals import Headers

POLICY = "default-src 'none'; frame-ancestors 'none'"
"""The Content-Security-Policy of all that is not a page: nothing of it is run, loaded or framed."""
_DEFAULTS: Headers = [
    (b"content-security-policy", POLICY.encode()),
    (b"cache-control", b"no-store"),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
]


def guarded(headers: Iterable[tuple[bytes, bytes]]) -> Headers:
    """Return the headers of an answer with the safe ones that it does not set itself.

    >>> guarded([(b"cache-control", b"no-cache")])[0], len(guarded([(b"cache-control", b"no-cache")]))
    ((b'cache-control', b'no-cache'), 5)
    """
    own = list(headers)
    names = {name for name, _ in own}
    return own + [each for each in _DEFAULTS if each[0] not in names]
