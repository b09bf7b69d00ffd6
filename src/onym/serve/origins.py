"""Which requests come from web pages of other sites: a browser says so, and no page can change what it says."""

from __future__ import annotations

from collections.abc import Mapping

from onym.serve.reconcile.door import is_reconcile

_OWN = frozenset({b"same-origin", b"none"})


def is_foreign(path: str, headers: Mapping[bytes, bytes]) -> bool:
    """Tell whether a page of another origin sent a request to what is not for it.

    Browsers send `Sec-Fetch-Site` to this machine and over TLS, where a proxy may have changed `Host`; elsewhere there is
    `Origin`, which has to be the host. Other programs send neither.

    >>> is_foreign("/v1/search", {b"host": b"localhost:8080", b"origin": b"http://evil.example"})
    True
    >>> is_foreign("/v1/link", {b"host": b"localhost:8080", b"origin": b"http://localhost:8080"})
    False
    """
    if is_reconcile(path):
        return False
    site = headers.get(b"sec-fetch-site")
    if site is not None:
        return site not in _OWN
    origin = headers.get(b"origin")
    return origin is not None and origin.partition(b"://")[2].lower() != headers.get(b"host", b"").lower()
