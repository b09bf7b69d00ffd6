"""The ways to link with Onym: commands, services, integrations and Python. Each returns the answers that it shows.

Only public interfaces are used, so that the comparison outlives changes of what is behind them.
"""

from __future__ import annotations

import asyncio
import csv
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import httpx
import polars as pl

import onym
from benchmarks.same.texts import Documents
from benchmarks.serve.running import Running
from onym.types import Document, LinkedDocument, Mention

if TYPE_CHECKING:
    from spacy.tokens import Doc, Span

TOP_K = 10
_AT_ONCE = 10  # queries per request of OpenRefine
_EXACT, _FOUR_DIGITS = 1e-5, 1.01e-4


class Answer(NamedTuple):
    """What a way shows of a mention. `concept_id` is None if the mention is not linked; ids are in lower case."""

    start: int
    end: int
    surface: str
    concept_id: str | None
    ids: tuple[str, ...]
    scores: tuple[float, ...]
    confidence: float | None


Answers = dict[str, list[Answer]]
"""The answers by the id of the text."""


@dataclass(frozen=True)
class Case:
    """A pipeline and the documents that it links. `named` are the options of the commands that name its linker instead.

    `route` is the part of the service's paths that names the pipeline; `kept` has the expected answers by kind of documents.
    """

    name: str
    pipeline: str
    named: tuple[str, ...]
    documents: Documents
    dataset: Path
    folder: Path
    service: Running | None = None
    route: str = ""
    kept: dict[str, Answers] = field(default_factory=dict)

    @property
    def url(self) -> str:
        """The address of the service, which waits until all pipelines are open."""
        assert self.service, "this case has no service"
        self.service.wait_until_ready()
        return self.service.url

    @cached_property
    def loaded(self) -> onym.Pipeline:
        return onym.load(self.pipeline)

    def expected(self, kind: str) -> Answers:
        """Return the answers of `Pipeline.link_many`."""
        if kind not in self.kept:
            pipeline = self.loaded.for_terms() if kind == "terms" else self.loaded
            self.kept[kind] = of_linked(pipeline.link_many(self.documents[kind]))
        return self.kept[kind]

    def file(self, kind: str) -> Path:
        """Return the file of the documents, or the table of the terms."""
        path = self.folder / (f"{kind}.csv" if kind == "terms" else f"{kind}.jsonl")
        if not path.exists():
            if kind == "terms":
                with path.open("w", encoding="utf-8", newline="") as table:
                    csv.writer(table).writerows([["id", "term"], *([each.id, each.text] for each in self.documents[kind])])
            else:
                onym.write_corpus(self.documents[kind], path, "jsonl")
        return path


class Way(NamedTuple):
    """A way to link: the kind of documents that it takes, and `ask`, which links them.

    `shown` returns what the way shows of an answer; scores are compared with a tolerance.
    """

    name: str
    kind: str
    ask: Callable[[Case], Answers]
    shown: Callable[[Answer], Answer | None] = lambda answer: answer
    tolerance: float = _EXACT


# What a way shows of an answer.


def best(answer: Answer) -> Answer:
    """Only the concept that a mention is linked to."""
    count = int(answer.concept_id is not None)
    return answer._replace(ids=answer.ids[:count], scores=answer.scores[:count])


def mapped(answer: Answer) -> Answer:
    """All ids, and the score of the concept that a term is mapped to."""
    return answer._replace(scores=best(answer).scores)


def reconciled(answer: Answer) -> Answer:
    """All ids, and one score: the confidence, or without a calibration the linker's score, if it is a share."""
    first = answer.scores[:1] if answer.confidence is None else (answer.confidence,)
    return answer._replace(concept_id=None, scores=tuple(min(1.0, each) for each in first), confidence=None)


def migrated(answer: Answer) -> Answer | None:
    """The concept that is chosen among an answer's first two. A tie is left to people, unless there is a confidence."""
    is_tied = answer.confidence is None and len(set(answer.scores[:2])) < 2
    is_chosen = answer.concept_id is not None and len(answer.ids) > 1 and not is_tied
    return best(answer)._replace(scores=()) if is_chosen else None


# Answers in the formats of the ways.


def of_linked(linked: Iterable[LinkedDocument]) -> Answers:
    return {each.document.id: [of_link(link.mention, link.mention.surface, link) for link in each.links] for each in linked}


def of_link(span: Any, surface: str, link: Any) -> Answer:
    """Return the answer of a link, or of another object with its candidates, reason and confidence."""
    ids = tuple(each.concept_id.lower() for each in link.candidates)
    scores = tuple(each.score for each in link.candidates)
    return Answer(span.start, span.end, surface, None if link.nil_reason else ids[0], ids, scores, link.confidence)


def of_row(row: dict[str, Any], text: str, span: tuple[int, int] | None = None) -> Answer:
    """Return the answer of a row of a table, which may have candidates and the text of the mention."""
    start, end = span or (row["start"], row["end"])
    surface = row.get("text", text[start:end])
    concept_id = row["concept_id"].lower() if row["concept_id"] else None
    found = row.get("candidates")
    if not isinstance(found, list):
        found = [row] if concept_id else []
    ids, scores = tuple(each["concept_id"].lower() for each in found), tuple(each["score"] for each in found)
    return Answer(start, end, surface, concept_id, ids, scores, row["confidence"])


def of_rows(documents: Iterable[Document], replies: Iterable[Iterable[dict[str, Any]]]) -> Answers:
    return {doc.id: [of_row(row, doc.text) for row in rows] for doc, rows in zip(documents, replies, strict=True)}


def of_terms(documents: Iterable[Document], rows: Iterable[dict[str, Any]]) -> Answers:
    """Return the answers of mapped terms, in their order."""
    return {doc.id: [of_row(row, doc.text, (0, len(doc.text)))] for doc, row in zip(documents, rows, strict=True)}


def none_yet(documents: Iterable[Document]) -> tuple[Answers, dict[str, str]]:
    """Return empty answers and the texts by id, for ways whose answers come in any order."""
    return {doc.id: [] for doc in documents}, {doc.id: doc.text for doc in documents}


def of_predictions(path: Path, documents: Sequence[Document]) -> Answers:
    answers, texts = none_yet(documents)
    for one in onym.read_predictions(path):
        ids = tuple(own[0].lower() for own, _, _ in one.answers)
        scores = tuple(score for _, score, _ in one.answers)
        concept_id = None if one.nil_reason or not ids else ids[0]
        surface = texts[one.document_id][one.start : one.end]
        answers[one.document_id].append(Answer(one.start, one.end, surface, concept_id, ids, scores, one.confidence))
    return answers


def read_lines(text: str) -> list[Any]:
    return [json.loads(line) for line in text.splitlines() if line.strip()]


def command(*words: object) -> str:
    """Run a command of `onym` in this process, and return its standard output."""
    from typer.testing import CliRunner

    from onym.cli.app import app

    done = CliRunner().invoke(app, [str(word) for word in words])
    if done.exit_code:
        raise RuntimeError(
            f"onym {words[0]} failed with exit status {done.exit_code}: {done.stderr[-1000:]}"
        ) from done.exception
    return done.stdout


# The ways, by the documents that they take.


def python_link(case: Case) -> Answers:
    return of_linked(case.loaded.link(doc) for doc in case.documents["texts"])


def python_explain(case: Case) -> Answers:
    documents = case.documents["texts"]
    explained = {doc.id: [each.link for each in case.loaded.explain(doc)] for doc in documents}
    return {text: [of_link(link.mention, link.mention.surface, link) for link in links] for text, links in explained.items()}


def cli_link(case: Case) -> Answers:
    out = case.folder / "linked.jsonl"
    command("link", case.file("texts"), "--pipeline", case.pipeline, "--format", "jsonl", "-o", out)
    documents = map(json.loads, out.read_text("utf-8").splitlines())
    return {doc["id"]: list(_of_linked_document(doc)) for doc in documents}


def _of_linked_document(plain: dict[str, Any]) -> Iterator[Answer]:
    """Yield the answers of a document in the format linked-document/2."""
    for mention, link in zip(plain.get("mentions", ()), plain.get("links", ()), strict=True):
        row = {**mention, "candidates": link.get("candidates", []), "confidence": link.get("confidence")}
        is_linked = row["candidates"] and not link.get("nil_reason")
        row["concept_id"] = row["candidates"][0]["concept_id"] if is_linked else None
        yield of_row(row, plain["text"])


def cli_link_kb(case: Case) -> Answers:
    out = case.folder / "linked-kb.jsonl"
    command("link", case.file("annotated"), *case.named, "--top-k", TOP_K, "-o", out)
    return of_predictions(out, case.documents["annotated"])


def cli_explain(case: Case) -> Answers:
    answers, texts = none_yet(case.documents["texts"])
    for row in read_lines(command("explain", case.file("texts"), "--pipeline", case.pipeline, "--json")):
        if "rejected" not in row:
            answers[row["document"]].append(of_row(row, texts[row["document"]]))
    return answers


def batch(case: Case) -> Answers:
    out = case.folder / "batch.jsonl"
    command("batch", "export", _batch_run(case), "--format", "predictions", "-o", out)
    return of_predictions(out, case.documents["texts"])


def _batch_run(case: Case) -> Path:
    out = case.folder / "batch"
    if not out.exists():
        command("batch", "plan", case.file("texts"), "--pipeline", case.pipeline, "-o", out)
        command("batch", "run", out, "--workers", 1)
    return out


def review(case: Case) -> Answers:
    """Return the links of a desk that is made of a batch run."""
    from onym.review.desk import open_desk

    path = case.folder / "desk.sqlite"
    command("review", "create", _batch_run(case), "--kb", case.pipeline, "-o", path)
    answers, _ = none_yet(case.documents["texts"])
    with open_desk(path) as desk:
        names = {doc.number: doc.id for doc in desk.documents()}
        for link in desk.links():
            answers[names[link.document]].append(of_link(link, link.surface, link))
    return answers


def migrate(case: Case) -> Answers:
    """Return the concepts that `onym migrate` chooses if each id has two successors: a mention's first two candidates."""
    successors: dict[str, tuple[str, ...]] = {}
    documents = []
    for doc in case.documents["annotated"]:
        mentions = []
        for mention, answer in zip(doc.mentions, case.expected("annotated")[doc.id], strict=True):
            old = f"old:{len(successors)}"
            successors[old] = answer.ids[:2]
            mentions.append(replace(mention, concept_ids=(old,) if len(answer.ids) > 1 else ()))
        documents.append(replace(doc, mentions=tuple(mentions)))
    answers, texts = none_yet(documents)
    for row in _migrate(case, documents, successors):
        if row["part"] == "mention" and row["outcome"] == "relinked":
            found = of_row({**row, "concept_id": row["new"], "score": 0.0}, texts[row["document"]])
            answers[row["document"]].append(found._replace(scores=()))
    return answers


def _migrate(case: Case, documents: Sequence[Document], successors: dict[str, tuple[str, ...]]) -> list[dict[str, Any]]:
    """Migrate documents from a release in which every id is retired, and return the audit table."""
    folder = case.folder / "migrate"
    folder.mkdir()
    terms = (
        "\n".join(["[Term]", f"id: {old}", f"name: {old}", "is_obsolete: true", *(f"consider: {each}" for each in targets), ""])
        for old, targets in successors.items()
    )
    header = "format-version: 1.2\nontology: old\n\n[Term]\nid: old:kept\nname: kept\n"
    (folder / "old.obo").write_text("\n".join([header, *terms]), "utf-8")
    (folder / "old.toml").write_text('name = "old"\n[[sources]]\npath = "old.obo"\n', "utf-8")
    command("kb", "build", folder / "old.toml", "--output", folder / "old")
    onym.write_corpus(documents, folder / "documents.jsonl", "jsonl")
    command(
        *("migrate", folder / "documents.jsonl", "--from", folder / "old", "--to", case.pipeline, "--pipeline", case.pipeline),
        *("--min-confidence", 0, "--audit", folder / "audit.jsonl", "-o", folder / "migrated.jsonl"),
    )
    return read_lines((folder / "audit.jsonl").read_text("utf-8"))


def serve(case: Case) -> Answers:
    documents = case.documents["texts"]
    with httpx.Client(timeout=60.0) as client:
        replies = [client.post(f"{case.url}/v1{case.route}/link", json=_request(doc)) for doc in documents]
    return of_rows(documents, (reply.raise_for_status().json()["links"] for reply in replies))


def serve_lines(case: Case) -> Answers:
    documents = case.documents["texts"]
    body = "\n".join(json.dumps(_request(doc)) for doc in documents)
    headers = {"content-type": "application/x-ndjson"}
    reply = httpx.post(f"{case.url}/v1{case.route}/link/batch", content=body, headers=headers, timeout=600.0)
    return of_rows(documents, (each["links"] for each in read_lines(reply.raise_for_status().text)))


def _request(document: Document) -> dict[str, Any]:
    if not document.mentions:
        return {"text": document.text}
    mentions = [{"start": each.start, "end": each.end, "type": each.type} for each in document.mentions]
    return {"document": {"id": document.id, "text": document.text, "mentions": mentions}}


def serve_map(case: Case) -> Answers:
    documents = case.documents["terms"]
    request = {"terms": [each.text for each in documents], "candidates": TOP_K}
    reply = httpx.post(f"{case.url}/v1{case.route}/map", json=request, timeout=600.0).raise_for_status()
    return of_terms(documents, reply.json()["rows"])


def reconcile(case: Case) -> Answers:
    documents, answers = case.documents["terms"], {}
    for first in range(0, len(documents), _AT_ONCE):
        queries = {each.id: {"query": each.text} for each in documents[first : first + _AT_ONCE]}
        reply = httpx.post(f"{case.url}/reconcile{case.route}", data={"queries": json.dumps(queries)}, timeout=600.0)
        for name, found in reply.raise_for_status().json().items():
            term, results = queries[name]["query"], found["result"]
            ids, scores = tuple(each["id"].lower() for each in results), tuple(each["score"] / 100 for each in results[:1])
            answers[name] = [Answer(0, len(term), term, None, ids, scores, None)]
    return answers


def mcp(case: Case) -> Answers:
    documents = case.documents["raw"]
    results = _call_tools(case, [("link", {"text": doc.text}) for doc in documents])
    return of_rows(documents, results)


def mcp_map(case: Case) -> Answers:
    documents = case.documents["terms"]
    (rows,) = _call_tools(case, [("map", {"terms": [doc.text for doc in documents]})])
    return of_terms(documents, rows)


def _call_tools(case: Case, calls: Sequence[tuple[str, dict[str, Any]]]) -> list[list[dict[str, Any]]]:
    from mcp import Client

    from onym.integrations.mcp import build_server

    async def call() -> list[Any]:
        async with Client(build_server(case.loaded)) as client:
            return [await client.call_tool(name, arguments) for name, arguments in calls]

    return [each.structured_content["result"] for each in asyncio.run(call())]


def spacy(case: Case) -> Answers:
    return _spacy(case, "raw")


def spacy_entities(case: Case) -> Answers:
    return _spacy(case, "entities")


def _spacy(case: Case, kind: str) -> Answers:
    from spacy import blank

    nlp = blank("en")
    nlp.add_pipe("onym", config={"pipeline": case.pipeline, "use_entities": kind == "entities"})

    def read(document: Document) -> Doc:
        doc = nlp.make_doc(document.text)
        doc.ents = _spans(doc, document.mentions)
        return doc

    documents = case.documents[kind]
    docs = nlp.pipe(map(read, documents))
    found = {document.id: [span._.onym for span in doc.spans["onym"]] for document, doc in zip(documents, docs, strict=True)}
    texts = {document.id: document.text for document in documents}
    return {text: [of_link(link, texts[text][link.start : link.end], link) for link in links] for text, links in found.items()}


def _spans(doc: Doc, mentions: Iterable[Mention]) -> list[Span]:
    """Return the mentions that are whole tokens."""
    return list(filter(None, (doc.char_span(each.start, each.end, label=each.type) for each in mentions)))


def fit_for_spacy(documents: Iterable[Document]) -> list[Document]:
    """Return documents with those mentions that can be entities of spaCy: whole tokens that do not overlap."""
    from spacy import blank
    from spacy.util import filter_spans

    nlp, fit = blank("en"), []
    for document in documents:
        doc = nlp.make_doc(document.text)
        kept = {(span.start_char, span.end_char) for span in filter_spans(_spans(doc, document.mentions))}
        mentions = sorted((each for each in document.mentions if (each.start, each.end) in kept), key=lambda each: each.start)
        if mentions:
            fit.append(Document(document.id, document.text, tuple(mentions)))
    return fit


def dataframe(case: Case) -> Answers:
    documents = case.documents["terms"]
    frame = onym.map_series(pl.Series([doc.text for doc in documents]), case.loaded)
    return of_terms(documents, frame.to_dicts())


def cli_map(case: Case) -> Answers:
    return _map(case, "map", ["--pipeline", case.pipeline])


def cli_map_kb(case: Case) -> Answers:
    return _map(case, "map-kb", case.named)


def _map(case: Case, name: str, options: Sequence[str]) -> Answers:
    """Return the mapped concepts from a table of JSON lines, and the candidates from SSSOM, which has all of them."""
    documents, table, sssom = case.documents["terms"], case.folder / f"{name}.jsonl", case.folder / f"{name}.sssom.tsv"
    for out in (table, sssom):
        command("map", case.file("terms"), "--column", "term", *options, "--top-k", TOP_K, "-o", out)
    answers = of_terms(documents, [{**row, "candidates": None} for row in read_lines(table.read_text("utf-8"))])
    lines = [line for line in sssom.read_text("utf-8").splitlines() if not line.startswith("#")]
    ids: dict[str, list[str]] = {doc.text: [] for doc in documents}
    for row in csv.DictReader(lines, dialect="excel-tab"):
        ids[row["subject_label"]].append(row["object_id"].lower())
    return {doc.id: [each._replace(ids=tuple(ids[doc.text])) for each in answers[doc.id]] for doc in documents}


def evaluate(case: Case) -> Answers:
    """Return the predictions of a pipeline on raw texts."""
    return _evaluate(case, "found", ["--pipeline", case.pipeline])


def evaluate_kb(case: Case) -> Answers:
    """Return the predictions of a linker on annotated mentions."""
    return _evaluate(case, "gold", case.named)


def _evaluate(case: Case, kind: str, options: Sequence[str]) -> Answers:
    out = case.folder / f"evaluated-{kind}.jsonl"
    command("evaluate", "--dataset", case.dataset, *options, "--save", out, "--json")
    return of_predictions(out, case.documents[kind])


WAYS = (
    Way("link", "texts", python_link),
    Way("explain", "texts", python_explain),
    Way("cli_link", "texts", cli_link),
    Way("cli_link_kb", "annotated", cli_link_kb),
    Way("cli_explain", "texts", cli_explain, best),
    Way("cli_map", "terms", cli_map, mapped, _FOUR_DIGITS),
    Way("cli_map_kb", "terms", cli_map_kb, mapped, _FOUR_DIGITS),
    Way("batch", "texts", batch),
    Way("review", "texts", review),
    Way("migrate", "annotated", migrate, migrated),
    Way("serve", "texts", serve),
    Way("serve_lines", "texts", serve_lines),
    Way("serve_map", "terms", serve_map),
    Way("reconcile", "terms", reconcile, reconciled, _FOUR_DIGITS),
    Way("mcp", "raw", mcp, best),
    Way("mcp_map", "terms", mcp_map, best),
    Way("spacy", "raw", spacy),
    Way("spacy_entities", "entities", spacy_entities),
    Way("dataframe", "terms", dataframe, best),
    Way("evaluate", "found", evaluate),
    Way("evaluate_kb", "gold", evaluate_kb),
)
