"""Runs jobs in a linker process, and returns an HTTP status and JSON for each. Jobs with the same options form one batch."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any

from onym.corpora.base import MalformedError
from onym.corpora.plain import from_plain
from onym.corpora.problems import INTERNAL
from onym.errors import InputError, InternalError, OnymError, is_failure, to_onym_error
from onym.packs.locate import load
from onym.pipeline.config import PipelineOptions, digest_of
from onym.pipeline.pipeline import Pipeline
from onym.pipeline.prepare import Prepared
from onym.serve.reconcile.matching import reconcile_acts
from onym.serve.refusals import body_of, status_of
from onym.serve.routes import Options, all_routes
from onym.serve.routes.link import reply_with_links
from onym.text.similarity import FEW_CALLS
from onym.types import Document, LinkedDocument, Problem

Job = dict[str, Any]
"""`op` is the operation; the other keys are the fields of the request."""
Said = tuple[int, bytes]
"""HTTP status and JSON body."""
_WITHOUT_VALUES = {
    "concept-unknown": "no concept has this id",
    "concept-retired": "this id is retired",
    "concept-ambiguous": "several concepts have this id",
    "filter-unknown": "no concept has one of these semantic types",
}
_VARIANTS = 32  # maximum number of cached pipeline copies, one per combination of request options
_TURNS = FEW_CALLS + 1  # calls to warm up: TF-IDF builds its full weight matrix after FEW_CALLS calls


class JobRunner:
    """Runs jobs with a pipeline.

    >>> from onym.pipeline import build_pipeline
    >>> answers = JobRunner(build_pipeline(getfixture("tiny_kb"), getfixture("tmp_path") / "pipeline"))
    >>> [(status, body)] = answers.of([{"op": "link", "text": "High fever."}])
    >>> status, json.loads(body)["links"][0]["concept_id"]
    (200, 'MESH:D005334')
    """

    def __init__(self, pipeline: Pipeline) -> None:
        self._pipeline = pipeline
        self._variant = lru_cache(_VARIANTS)(partial(Options.apply, pipeline))
        self._acts: dict[str, Callable[[Job], Any]] = {
            route.op: partial(self._act, route.act) for route in all_routes() if route.act
        }
        self._acts |= reconcile_acts(pipeline)

    @classmethod
    def open(cls, folder: str, opening: Mapping[str, Any]) -> JobRunner:
        """Open the pipeline of a folder as `ServeSettings.opening` says, and warm it up."""
        options = PipelineOptions.of(opening.get("options", {}))
        pipeline = load(folder, prefer=options.prefer).with_options(options).with_components(*opening.get("components", ()))
        answers = cls(pipeline.with_corrections(opening.get("corrections")))
        answers.warm_up()
        return answers

    @property
    def release(self) -> dict[str, Any]:
        """The release: a digest of everything that links depend on, the digest of the KB, and the non-default options."""
        terms = self._pipeline.term_calibration
        depends = {**self._pipeline.source(), "terms": terms and digest_of(terms)}
        source = json.dumps(depends, sort_keys=True, default=str)
        options = self._pipeline.options.non_default_options()
        options.pop("concepts", None)  # not part of the release, because the list may be long
        digest = hashlib.sha256(source.encode()).hexdigest()[:16]
        return {"release": digest, "kb": self._pipeline.kb.digest, "options": options}

    def warm_up(self) -> None:
        """Link a name of the knowledge base a few times, so that everything is loaded before the first request."""
        name = self._pipeline.kb.preferred_form(0) if len(self._pipeline.kb) else "fever"
        for turn in range(_TURNS):
            text = f"{name} {turn}"  # another text each time, because answers are kept
            document = {"id": "", "text": text, "mentions": [{"start": 0, "end": len(text)}]}
            self.of(
                [{"op": "link", "text": name}, {"op": "link", "document": document}, {"op": "search", "q": name, "limit": 1}]
            )

    def of(self, jobs: Sequence[Job]) -> list[Said]:
        """Return a status and a body for each job, in order."""
        said: list[Said | None] = [None] * len(jobs)
        alike: dict[tuple[Any, ...], list[int]] = {}
        for at, job in enumerate(jobs):
            if job["op"] == "link":
                alike.setdefault(Options.of(job), []).append(at)
            else:
                said[at] = _reply(lambda job=job: self._acts[job["op"]](job))  # type: ignore[misc]
        for key, rows in alike.items():
            for at, each in zip(rows, self._link_jobs(key, [jobs[at] for at in rows]), strict=True):
                said[at] = each
        return [each for each in said if each is not None]

    def _link_jobs(self, key: tuple[Any, ...], jobs: Sequence[Job]) -> list[Said]:
        """Link the documents of jobs with the same options as one batch. A malformed document does not fail the others."""
        documents = [_attempt(lambda job=job: _document(job)) for job in jobs]  # type: ignore[misc]
        right = [doc for doc in documents if isinstance(doc, Document)]
        pipeline = _attempt(lambda: self._variant(*key)) if right else self._pipeline
        linked = pipeline if isinstance(pipeline, OnymError) else _attempt(lambda: list(pipeline.run_steps(right)))
        if isinstance(linked, OnymError):
            return [_reply_error(linked if isinstance(doc, Document) else doc) for doc in documents]
        rest = iter(linked)
        return [
            _reply_document(next(rest), job, pipeline) if isinstance(doc, Document) else _reply_error(doc)
            for doc, job in zip(documents, jobs, strict=True)
        ]

    def _act(self, act: Callable[[Pipeline, Job], Any], job: Job) -> Any:
        return act(self._variant(*Options.of(job)), job)


def _document(job: Job) -> Document:
    """Return the document of a job; raise InputError if any part of it is malformed."""
    if job.get("text") is not None:
        return Document("1", job["text"])
    try:
        *problems, document = from_plain(job["document"], "document")
    except MalformedError as e:
        raise InputError("request-malformed", e.what, where="document", fix="see /openapi.json") from None
    for problem in (*problems, document):
        if isinstance(problem, Problem):
            raise InputError("request-malformed", f"{problem.code}: {problem.what}", where="document", fix="see /openapi.json")
    return document  # type: ignore[return-value]


def _reply_document(result: tuple[Prepared, LinkedDocument], job: Job, pipeline: Pipeline) -> Said:
    prepared, linked = result
    if linked.problems:
        first = linked.problems[0]
        if first.code == INTERNAL:
            return _reply_error(InternalError("internal-error", first.what))
        return _reply_error(InputError("document-failed", f"{first.code}: {first.what}", where=first.where))
    return _reply(lambda: reply_with_links(prepared, linked, job, pipeline))


def _reply(act: Callable[[], Any]) -> Said:
    value = _attempt(act)
    return _reply_error(value) if isinstance(value, OnymError) else (200, _json(value))


def _attempt(act: Callable[[], Any]) -> Any:
    """Return the result of `act`, or its exception as an OnymError. Other exceptions may have request text in the message."""
    try:
        return act()
    except BaseException as e:
        if not is_failure(e):
            raise
        return to_onym_error(e, caught_in=__file__)


def _reply_error(error: OnymError) -> Said:
    """Return the response for an error, without values of the request."""
    error.what = _WITHOUT_VALUES.get(error.code, error.what)
    return status_of(error), body_of(error)


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
