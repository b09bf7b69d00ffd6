"""What the commands print of a pack."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from onym.packs.archive import PackRecord


def rows_of(record: PackRecord) -> list[tuple[str, str]]:
    """Return what a record says, as rows for people."""
    kb = record.kb
    return [
        ("name", record.name),
        ("version", record.version),
        ("digest", record.digest),
        ("private", f"yes: {', '.join(record.restricted) or 'marked so'}" if record.private else "no"),
        ("knowledge base", f"{kb.concepts:,} concepts, {kb.names:,} names ({kb.digest})"),
        *(("source", f"{each.name}, release {each.release}: {each.licence}") for each in record.sources),
        *(("trained on", f"{each.name}: {each.licence}") for each in record.corpora),
        ("files", f"{len(record.files):,}, {sum(each.bytes for each in record.files.values()):,} bytes unpacked"),
        ("built by", f"onym {record.onym}"),
    ]


def values_of(record: PackRecord) -> dict[str, Any]:
    """Return what a record says, for machines; of the files, how many there are and their size."""
    values = record.model_dump(mode="json", exclude={"files"})
    size = sum(each.bytes for each in record.files.values())
    return {**values, "digest": record.digest, "files": len(record.files), "bytes": size}
