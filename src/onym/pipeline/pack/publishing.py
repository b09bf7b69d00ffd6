"""What may be published: neither a private pack, nor one with data whose licence nobody has stated."""

from __future__ import annotations

from onym.errors import ConfigError
from onym.pipeline.pack.record import PackRecord


def require_publishable(record: PackRecord) -> None:
    """Refuse a pack that may not be passed on as a package or on a hub."""
    if record.private or record.restricted:
        why = f": {', '.join(record.restricted)}" if record.restricted else ""
        what = f"the pack is private, and may not be passed on{why}"
        raise ConfigError("pack-private", what, where=record.name, fix="build a pack without this, and without --private")
    if unstated := record.unstated:
        what = f"nobody has stated the licence of {', '.join(unstated)}"
        fix = f'build the pack with --licence "{unstated[0]}=..."'
        raise ConfigError("pack-licence", what, where=record.name, fix=fix)
