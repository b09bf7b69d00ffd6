"""Values out of JSON that may hold anything: each is of the expected type, or the file is refused."""

from __future__ import annotations

from typing import Any

from onym.errors import InputError
from onym.store.files.source import InputFile


def require_object(value: Any, file: InputFile) -> dict[str, Any]:
    """Return the value if it is an object."""
    if not isinstance(value, dict):
        raise InputError("json-shape", f"an object was expected, not {_kind(value)}", where=file.name)
    return value


def string(value: dict[str, Any], key: str, file: InputFile) -> str | None:
    """Return the string at `key`, or None where there is none."""
    found = value.get(key)
    if found is None or isinstance(found, str):
        return found or None
    raise InputError("json-shape", f"{key!r} should be a string, not {_kind(found)}", where=file.name)


def strings(value: dict[str, Any], key: str, file: InputFile) -> list[str]:
    """Return the list of strings at `key`, empty where there is none."""
    found = value.get(key)
    if found is None:
        return []
    if isinstance(found, list) and all(isinstance(member, str) for member in found):
        return found
    raise InputError("json-shape", f"{key!r} should be a list of strings", where=file.name)


def objects(value: dict[str, Any], key: str, file: InputFile) -> list[dict[str, Any]]:
    """Return the list of objects at `key`, empty where there is none."""
    found = value.get(key)
    if found is None:
        return []
    if isinstance(found, list):
        return [require_object(member, file) for member in found]
    raise InputError("json-shape", f"{key!r} should be a list of objects", where=file.name)


def _kind(value: Any) -> str:
    return {dict: "an object", list: "a list", str: "a string", bool: "a truth value"}.get(type(value), "a number")
