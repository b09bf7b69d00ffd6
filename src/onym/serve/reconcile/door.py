"""How /reconcile is entered. OpenRefine sends no header, so a token stands in the path: `/reconcile/TOKEN`.

Pages of all sites may read the answers (CORS), without credentials; nothing else of the service has such headers.
"""

from __future__ import annotations

import hmac
from collections.abc import MutableMapping
from typing import Any

from onym.serve.refusals import Headers

ROOT = "/reconcile"
UNLOCKED = "onym.unlocked"
"""Where a scope notes that the token stood in the path."""
CORS: Headers = [(b"access-control-allow-origin", b"*")]


def is_reconcile(path: str) -> bool:
    """Tell whether a path is one of the reconciliation service.

    >>> is_reconcile("/reconcile/suggest/entity"), is_reconcile("/v1/link")
    (True, False)
    """
    return path.startswith(ROOT) and path[len(ROOT) : len(ROOT) + 1] in ("", "/")


def take_secret(scope: MutableMapping[str, Any], token: str) -> bool:
    """Take the token out of the path of a request, and tell whether it was there. The comparison takes constant time.

    >>> scope = {"path": "/reconcile/0123456789abcdef/preview"}
    >>> take_secret(scope, "0123456789abcdef"), scope["path"]
    (True, '/reconcile/preview')
    """
    path: str = scope["path"]
    if not token or not path.startswith(f"{ROOT}/"):
        return False
    rest = path[len(ROOT) + 1 :]
    secret, after = rest[: len(token)], rest[len(token) :]
    if not hmac.compare_digest(secret.encode("utf-8", "replace"), token.encode()) or after[:1] not in ("", "/"):
        return False
    scope["path"] = ROOT + after
    scope["raw_path"] = scope["path"].encode("utf-8", "replace")
    scope[UNLOCKED] = True
    return True
