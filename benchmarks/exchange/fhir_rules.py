"""Whether a resource is valid FHIR: by fhir.resources, and by rules of the specification that fhir.resources does not check.

fhir.resources knows elements, types and cardinalities. It lists the codes that an element may have, but accepts others, and it
searches its patterns anywhere in a value. The rules here are those of the specification: listed codes, `string`, `code`
and `id` from their first to their last character, `ele-1` (nothing is empty), `ext-1` (an extension has a value or extensions)
and the constraints of ConceptMap.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from importlib import import_module
from typing import Any

from pydantic import BaseModel, ValidationError

VERSIONS = {"R4B": "fhir.resources.R4B", "R5": "fhir.resources"}
_STRING = re.compile(r"[ \r\n\t\S]*\S[ \r\n\t\S]*")
_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")
_ID = re.compile(r"[A-Za-z0-9\-.]{1,64}")
_CODE = re.compile(r"\S+( \S+)*")
_URI = re.compile(r"\S+")
_CODES = ("code", "valueCode", "relationship", "equivalence", "status")
_URIS = ("url", "system")


def fhir_problems(resource: dict[str, Any], version: str) -> list[str]:
    """Return what is wrong with a resource of R4B or R5."""
    try:
        model = model_of(resource["resourceType"], version)
        found = model.model_validate_json(json.dumps(resource))
    except (ValidationError, ValueError, KeyError, ModuleNotFoundError) as e:
        return [f"fhir.resources: {type(e).__name__}"]
    content = {key: value for key, value in resource.items() if key != "resourceType"}
    return [*_unlisted(found), *_malformed(content), *_inconsistent(resource)]


def model_of(kind: str, version: str) -> type[BaseModel]:
    """Return the class of a resource or a data type."""
    found = getattr(import_module(f"{VERSIONS[version]}.{kind.lower()}"), kind)
    assert isinstance(found, type)
    assert issubclass(found, BaseModel)
    return found


def _unlisted(value: Any) -> Iterator[str]:
    """Yield the elements whose code is none of those that the specification lists."""
    if isinstance(value, list):
        for each in value:
            yield from _unlisted(each)
    elif isinstance(value, BaseModel):
        for name, info in type(value).model_fields.items():
            inner, extra = getattr(value, name), info.json_schema_extra
            listed = extra.get("enum_values") if isinstance(extra, dict) else None
            if listed and inner is not None and inner not in listed:  # type: ignore[operator]
                yield f"{name}: an unlisted code"
            yield from _unlisted(inner)


def _malformed(value: Any, name: str = "") -> Iterator[str]:
    """Yield what breaks the rules of strings, codes, URIs, extensions and of emptiness."""
    if value in ("", None, [], {}):
        yield f"{name}: empty"
    elif isinstance(value, list):
        for each in value:
            yield from _malformed(each, name)
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from _malformed(inner, key)
        if "url" in value and set(value) - {"id"} != {"url"} and name == "extension":
            if ("extension" in value) == any(key.startswith("value") for key in value):
                yield "extension: ext-1"
        elif name == "extension":
            yield "extension: without a value"
    elif isinstance(value, str):
        pattern = _URI if name in _URIS else _CODE if name in _CODES else _ID if name == "id" else _STRING
        if not pattern.fullmatch(value) or _CONTROLS.search(value):
            yield f"{name}: malformed"


def _inconsistent(resource: dict[str, Any]) -> Iterator[str]:
    """Yield what breaks the constraints of ConceptMap."""
    elements = [each for group in resource.get("group", ()) for each in group["element"]]
    for element in elements:
        targets = element.get("target", [])
        if element.get("noMap") and targets:
            yield "cmd-4: targets of what has none"
        if "code" not in element or not (targets or element.get("noMap")):
            yield "element: maps nothing"
        for target in targets:
            if ("code" in target) == (target.get("equivalence") == "unmatched"):
                yield "target: a match without a code, or a code without a match"
            if target.get("equivalence") in ("narrower", "inexact") and "comment" not in target:
                yield "cmd-1: no comment"
    for group in resource.get("group", ()):
        codes = [element.get("code") for element in group["element"]]
        if len(set(codes)) < len(codes):
            yield "group: a code twice"
        if "source" not in group or "target" not in group:
            yield "group: no code systems"
