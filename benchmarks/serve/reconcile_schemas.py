"""The JSON schemas and examples of the Reconciliation Service API 0.2, which are not part of this project."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

from jsonschema import Draft7Validator
from referencing import Registry
from referencing.jsonschema import DRAFT7

_VERSION = Path("reconciliation-0.2") / "0.2"
_SWAGGER = "http://swagger.io/v2/schema.json"


def specs_folder() -> Path:
    """Return the folder of specifications: `ONYM_SPECS`, else `../shared/specs` beside the project."""
    return Path(os.environ.get("ONYM_SPECS") or Path(__file__).parents[2] / ".." / "shared" / "specs").resolve()


def reconcile_schemas() -> ReconcileSchemas:
    """Return the schemas; without them a benchmark ends."""
    folder = specs_folder() / _VERSION
    if not folder.is_dir():
        sys.exit(f"this benchmark needs the Reconciliation API's schemas and examples: set ONYM_SPECS (looked in {folder})")
    return ReconcileSchemas(folder)


class ReconcileSchemas:
    """Checks values by the schema of a name, such as `manifest`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @cached_property
    def _schemas(self) -> dict[str, Any]:
        return {path.stem: json.loads(path.read_text("utf-8")) for path in sorted((self._folder / "schemas").glob("*.json"))}

    @cached_property
    def _registry(self) -> Registry[Any]:
        """Return the schemas by their own addresses: nothing is fetched."""
        resources = [(_SWAGGER, self._schemas["openapi"])]
        resources += [(schema["$id"], schema) for name, schema in self._schemas.items() if name != "openapi"]
        return Registry().with_resources((uri, DRAFT7.create_resource(schema)) for uri, schema in resources)

    def problems(self, name: str, value: object) -> list[str]:
        """Return what is wrong with a value."""
        validator = Draft7Validator(self._schemas[name], registry=self._registry)
        return [f"{name}: {error.json_path}: {error.message[:200]}" for error in validator.iter_errors(value)]

    def examples(self, name: str, kind: str) -> Iterator[tuple[str, Any]]:
        """Yield the examples of a schema that are `valid` or `invalid`, with their names."""
        for path in sorted((self._folder / "examples" / name / kind).glob("*.json")):
            yield f"{name}/{kind}/{path.name}", json.loads(path.read_text("utf-8"))

    def own_cases(self) -> Iterator[tuple[str, list[str]]]:
        """Yield the specification's own examples: those that are valid must be, and those that are not must not."""
        for name in self._schemas:
            yield from ((each, self.problems(name, value)) for each, value in self.examples(name, "valid"))
            for each, value in self.examples(name, "invalid"):
                yield each, [] if self.problems(name, value) else ["it is let through"]
