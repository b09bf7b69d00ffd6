"""Conformance tests with the schemas and examples of the Reconciliation Service API 0.2, which are downloaded separately."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import httpx
from jsonschema import Draft7Validator
from referencing import Registry
from referencing.jsonschema import DRAFT7

_VERSION = Path("reconciliation-0.2") / "0.2"
_SWAGGER = "http://swagger.io/v2/schema.json"


def specs_folder() -> Path:
    """Return the folder of specifications: `ONYM_SPECS`, or `../shared/specs` by default."""
    return Path(os.environ.get("ONYM_SPECS") or Path(__file__).parents[3] / ".." / "shared" / "specs").resolve()


def reconcile_schemas() -> ReconcileSchemas:
    """Return the schemas; exit if they are missing."""
    folder = specs_folder() / _VERSION
    if not folder.is_dir():
        sys.exit(
            f"this benchmark needs the Reconciliation API's schemas, which are not in {folder}: set ONYM_SPECS to their folder"
        )
    return ReconcileSchemas(folder)


class ReconcileSchemas:
    """Validates values with a named schema, such as `manifest`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @cached_property
    def _schemas(self) -> dict[str, Any]:
        return {path.stem: json.loads(path.read_text("utf-8")) for path in sorted((self._folder / "schemas").glob("*.json"))}

    @cached_property
    def _registry(self) -> Registry[Any]:
        """Return the schemas by `$id`, so that none is downloaded."""
        resources = [(_SWAGGER, self._schemas["openapi"])]
        resources += [(schema["$id"], schema) for name, schema in self._schemas.items() if name != "openapi"]
        return Registry().with_resources((uri, DRAFT7.create_resource(schema)) for uri, schema in resources)

    def problems(self, name: str, value: object) -> list[str]:
        """Return the validation errors of a value."""
        validator = Draft7Validator(self._schemas[name], registry=self._registry)
        return [f"{name}: {error.json_path}: {error.message[:200]}" for error in validator.iter_errors(value)]

    def examples(self, name: str, kind: str) -> Iterator[tuple[str, Any]]:
        """Yield the `valid` or `invalid` examples of a schema, with their names."""
        for path in sorted((self._folder / "examples" / name / kind).glob("*.json")):
            yield f"{name}/{kind}/{path.name}", json.loads(path.read_text("utf-8"))

    def own_cases(self) -> Iterator[tuple[str, list[str]]]:
        """Check the specification's own examples: valid ones must pass, and invalid ones must fail."""
        for name in self._schemas:
            yield from ((each, self.problems(name, value)) for each, value in self.examples(name, "valid"))
            for each, value in self.examples(name, "invalid"):
                yield each, [] if self.problems(name, value) else ["it is let through"]


# Requests to a reconciliation service, and checks that responses conform to the specification in form and meaning.

Case = tuple[str, list[str]]
_PROPERTIES = (
    *("name", "synonyms", "definition", "parents", "mapped_to", "xrefs", "groups", "types", "alternative_ids"),
    "no-such-property",
)
_VALUES: tuple[Any, ...] = (
    "a note",
    7,
    1.5,
    True,
    {"id": "MESH:D005334", "name": "Fever"},
    {"id": "x"},
    ["a", {"id": "b", "name": "c"}, 3],
)
_ODD = (
    "",
    "   ",
    "x" * 5_000,
    "\u0000",
    "naïve ΑΒΓ 中文 🙂",
    '"<script>alert(1)</script>',
    "a\nb\tc",
    "{{id}}",
    "%00",
    "D005334",
)
NOT_A_LIMIT = ("NaN", "Infinity", "-Infinity", "1e400", "-1e400", "-1", "true", '"3"', '"x"', "[]")
"""JSON, and what Python's parser takes for JSON, that is not the maximum number of answers."""
_KEYS = ("q0", "", "\u00e9", "a b", "<q>", "q" * 100)


class ReconcileCases:
    """Tests the service at a URL with terms, ids and types of its knowledge base."""

    def __init__(
        self, base: str, schemas: ReconcileSchemas, terms: Sequence[str], ids: Sequence[str], types: Sequence[str]
    ) -> None:
        self._base, self._schemas = base, schemas
        self._terms, self._ids, self._types = list(terms), list(ids), list(types)
        self._client = httpx.Client(timeout=60.0)

    def run(self) -> Iterator[Case]:
        """Yield each test with the errors in the response."""
        for path in ("", "/"):
            yield f"manifest {path}", self._judge_answer("manifest", self._client.get(f"{self._base}{path}"))
        for name, batch in self._batches():
            yield f"POST {name}", self._judge_batch(batch, self._client.post(self._base, data={"queries": json.dumps(batch)}))
            if len(json.dumps(batch)) < 4_000:
                answer = self._client.get(self._base, params={"queries": json.dumps(batch)})
                yield f"GET {name}", self._judge_batch(batch, answer)
        yield from self._iter_refused()
        for name, wanted in self._extensions():
            yield name, self._judge_extension(wanted, self._client.post(self._base, data={"extend": json.dumps(wanted)}))
        yield from self._iter_suggestions()
        yield from self._iter_previews()
        self._client.close()

    def _batches(self) -> Iterator[tuple[str, dict[str, Any]]]:
        yield from self._schemas.examples("reconciliation-query-batch", "valid")
        yield "terms", {f"q{row}": {"query": term} for row, term in enumerate(self._terms)}
        yield "odd terms", {f"q{row}": {"query": term} for row, term in enumerate(_ODD)}
        yield "odd keys", {key: {"query": self._terms[0]} for key in _KEYS}
        yield "none", {}
        for limit in (0, 1, 3, 2.5, 1_000):
            yield f"limit {limit}", {"q0": {"query": self._terms[0], "limit": limit}}
        for strict in ("any", "all", "should"):
            for types in (*self._types, self._types, "no-such-type", [], [*self._types, "no-such-type"]):
                yield f"type {strict}", {"q0": {"query": self._terms[0], "type": types, "type_strict": strict}}
        for value in _VALUES:
            yield "properties", {"q0": {"query": self._terms[0], "properties": [{"pid": "note", "v": value}]}}

    def _judge_batch(self, batch: Mapping[str, Mapping[str, Any]], answer: httpx.Response) -> list[str]:
        problems = self._schemas.problems("reconciliation-query-batch", batch) + self._judge_answer(
            "reconciliation-result-batch", answer
        )
        if problems:
            return problems
        results = answer.json()
        if set(results) != set(batch):
            return ["other keys than those of the queries"]
        return [problem for key, query in batch.items() for problem in _candidates(query, results[key]["result"])]

    def _iter_refused(self) -> Iterator[Case]:
        """Send invalid batches: each must give an error with a code, unless it is tolerated."""
        for name, batch in self._schemas.examples("reconciliation-query-batch", "invalid"):
            answer = self._client.post(self._base, data={"queries": json.dumps(batch)})
            yield (
                name,
                self._judge_answer("reconciliation-result-batch", answer) if answer.status_code == 200 else _error(answer, 400),
            )
        for text in (
            "",
            "{",
            "[]",
            "7",
            '{"q0": 7}',
            '{"q0": {"query": 7}}',
            *(f'{{"q0": {{"query": "a", "limit": {limit}}}}}' for limit in NOT_A_LIMIT),
            "[" * 5_000,
        ):
            yield f"malformed {text[:20]}", _error(self._client.post(self._base, data={"queries": text}), 400)
            yield f"malformed extend {text[:20]}", _error(self._client.post(self._base, data={"extend": text}), 400)
        yield "neither", _error(self._client.post(self._base, data={"other": "1"}), 400)
        yield "JSON", _error(self._client.post(self._base, json={"queries": {}}), 415)
        many = {f"q{row}": {"query": "a"} for row in range(1_001)}
        yield "too many", _error(self._client.post(self._base, data={"queries": json.dumps(many)}), 400)

    def _extensions(self) -> Iterator[tuple[str, dict[str, Any]]]:
        yield from self._schemas.examples("data-extension-query", "valid")
        yield "all properties", {"ids": self._ids, "properties": [{"id": each} for each in _PROPERTIES]}
        for limit in (0, 1, "2", None, "x", -1):
            settings = {"limit": limit}
            yield f"limit {limit}", {"ids": self._ids[:2], "properties": [{"id": "synonyms", "settings": settings}]}
        yield "no ids", {"ids": [], "properties": [{"id": "name"}]}
        yield "no properties", {"ids": [*self._ids[:1], "", "no-such-id"], "properties": []}

    def _judge_extension(self, wanted: Mapping[str, Any], answer: httpx.Response) -> list[str]:
        problems = self._schemas.problems("data-extension-query", wanted) + self._judge_answer(
            "data-extension-response", answer
        )
        if problems:
            return problems
        found, keys = answer.json(), [each["id"] for each in wanted["properties"]]
        is_whole = set(found["rows"]) == set(wanted["ids"]) and all(list(row) == keys for row in found["rows"].values())
        return [] if is_whole and [each["id"] for each in found["meta"]] == keys else ["other rows or properties than wanted"]

    def _iter_suggestions(self) -> Iterator[Case]:
        kinds = {"entity": "entities", "type": "types", "property": "properties"}
        for kind, schema in kinds.items():
            for prefix in ("", "a", "dis", self._terms[0], self._ids[0], *_ODD[3:]):
                answer = self._client.get(f"{self._base}/suggest/{kind}", params={"prefix": prefix, "cursor": 1})
                yield f"suggest {kind}", self._judge_answer(f"suggest-{schema}-response", answer)
        for params in ({}, {"type": self._types[0]}, {"type": "x", "limit": "3"}, {"limit": "0"}):
            answer = self._client.get(f"{self._base}/extend/propose", params=params)
            yield "propose", self._judge_answer("data-extension-property-proposal", answer)
        yield "suggest nothing", _error(self._client.get(f"{self._base}/suggest/planet"), 404)

    def _iter_previews(self) -> Iterator[Case]:
        for concept_id in self._ids:
            answer = self._client.get(f"{self._base}/preview", params={"id": concept_id})
            policy = answer.headers.get("content-security-policy", "")
            is_card = answer.status_code == 200 and answer.headers["content-type"].startswith("text/html")
            is_safe = (
                "default-src 'none'" in policy
                and "<script" not in answer.text.lower()
                and "x-frame-options" not in answer.headers
            )
            yield "preview", [] if is_card and is_safe else [f"no card, or no safe one: {answer.status_code}"]
        yield "no preview", _error(self._client.get(f"{self._base}/preview", params={"id": "no-such-id"}), 404)
        answer = self._client.options(
            self._base, headers={"origin": "https://example.org", "access-control-request-method": "POST"}
        )
        yield (
            "preflight",
            [] if answer.status_code == 204 and answer.headers.get("access-control-allow-origin") == "*" else ["refused"],
        )

    def _judge_answer(self, schema: str, answer: httpx.Response) -> list[str]:
        """Return the errors in a JSON response."""
        if answer.status_code != 200:
            return [f"status {answer.status_code}"]
        wrong = [] if answer.headers.get("access-control-allow-origin") == "*" else ["pages cannot read it: no CORS"]
        wrong += ["with credentials"] if "access-control-allow-credentials" in answer.headers else []
        return wrong + self._schemas.problems(schema, answer.json())


def _candidates(query: Mapping[str, Any], found: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the errors in a query's candidates: scores must descend from at most 100, and only the first may be a match."""
    scores, limit = [each["score"] for each in found], query.get("limit")
    wrong = (
        [] if scores == sorted(scores, reverse=True) and all(0 <= each <= 100 for each in scores) else ["scores do not fall"]
    )
    wrong += ["a later candidate is a match"] if any(each["match"] for each in found[1:]) else []
    return wrong + (["more candidates than wanted"] if limit is not None and len(found) > max(0, limit) else [])


def _error(answer: httpx.Response, status: int) -> list[str]:
    is_error = answer.status_code == status and set(answer.json()["error"]) == {"code", "what", "where", "fix"}
    return [] if is_error else [f"status {answer.status_code} instead of {status}"]
