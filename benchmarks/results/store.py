"""Store of results: the predictions of each row, and the figures computed from them.

    results/LINKER/rows.json            a list of rows: settings of the run, and figures
    results/LINKER/curves.json          dev scores during training, by model
    results/LINKER/NAME.jsonl.gz        the predictions of a row, in the format of docs/reference/predictions.md

For each mention, all concepts of the five best names are stored. Scores have five decimals, or more if needed to keep different
scores different. The same predictions always give the same bytes.
"""

from __future__ import annotations

import fcntl
import gzip
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO, Protocol, cast

from onym.datasets import PreparedDataset
from onym.evaluate.cases import Case
from onym.evaluate.coverage import mention_coverage
from onym.evaluate.evaluation import document_groups, make_cases, training_of
from onym.evaluate.evaluation import hits as hits_of
from onym.evaluate.metrics import gold_ranks, recall_at
from onym.evaluate.significance import bootstrap_interval, mcnemar_exact
from onym.evaluate.slices import slices_of
from onym.evaluate.task import EvaluationTask
from onym.kb import KnowledgeBase
from onym.outputs.predictions import Answer, Prediction, Predictions, read_predictions, write_predictions
from onym.store.output import whole_file

FOLDER = Path(__file__).parents[2] / "results"
ROWS = "rows.json"
NAMES = 5
"""Number of names stored per mention."""
DIGITS = 5
_MAX_DIGITS = 17
_KEY = re.compile(r"[a-z0-9_+-]+(/[a-z0-9_+-]+)*")

CURVES = "curves.json"
LOCK = ".lock"

Figures = dict[str, float]
Slices = dict[str, list[float]]
"""For each slice, the number of mentions and their recall@1 under the protocol of the row."""
Curve = list[list[float]]
"""Dev scores during training: step, recall@1, recall@5."""


class Judgeable(Protocol):
    """The evaluation task of predictions: a split, and the knowledge base they link to."""

    @property
    def dataset(self) -> PreparedDataset: ...
    @property
    def split(self) -> str: ...
    @property
    def kb(self) -> KnowledgeBase: ...
    @property
    def replaced(self) -> dict[str, str]: ...
    @property
    def protocol(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Row:
    """Results of one linker on one split. `before` is the row of the previous stage, `p` McNemar's p-value against it.

    `documents_per_s` is the speed of detection and linking, on the machine of the row.
    """

    row: str
    dataset: str
    stage: str
    search: str
    ranking: str
    split: str
    trained_on: str
    model: str
    parameters: int
    hours: float
    machine: str
    weights: str
    config: str
    model_folder: str
    file: str
    figures: Figures = field(default_factory=dict)
    slices: Slices = field(default_factory=dict)
    before: str = ""
    p: float | None = None
    documents_per_s: float | None = None

    @property
    def configuration(self) -> tuple[str, str, str, str]:
        """The settings that are selected on dev."""
        return self.model, self.stage, self.search, self.ranking


@dataclass(frozen=True, slots=True)
class Judged:
    """Scored predictions: figures, which mentions are right at rank 1, and recall@1 by slice."""

    figures: Figures
    hits: tuple[bool, ...]
    slices: Slices


class Store:
    """The rows of one linker."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def rows(self) -> list[Row]:
        """Read all rows, sorted by key; return an empty list if there is no file."""
        path = self.folder / ROWS
        return [_row(each) for each in json.loads(path.read_text("utf-8"))] if path.is_file() else []

    def row(self, key: str) -> Row:
        """Return the row with a key."""
        return next(row for row in self.rows() if row.row == key)

    def predictions(self, row: Row) -> Predictions:
        """Read the predictions of a row."""
        return read_predictions(self.folder / row.file)

    def add(self, row: Row, predictions: Predictions) -> None:
        """Store a row with its predictions, replacing any row with the same key."""
        with self._lock():
            write_packed(self.folder / row.file, predictions)
            self.write([*(each for each in self.rows() if each.row != row.row), row])

    def write(self, rows: Iterable[Row]) -> None:
        """Write all rows."""
        self._write(ROWS, [asdict(row) for row in sorted(rows, key=lambda row: row.row)])

    def curves(self) -> dict[str, Curve]:
        """Read the learning curves, by model name."""
        path = self.folder / CURVES
        found: dict[str, Curve] = json.loads(path.read_text("utf-8")) if path.is_file() else {}
        return found

    def add_curve(self, model: str, curve: Curve) -> None:
        """Store the learning curve of a model."""
        with self._lock():
            self._write(CURVES, dict(sorted((self.curves() | {model: curve}).items())))

    @contextmanager
    def _lock(self) -> Iterator[None]:
        """Hold the lock of these rows, waiting for other processes to release it."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with (self.folder / LOCK).open("wb") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def _write(self, name: str, value: Any) -> None:
        with whole_file(self.folder / name, force=True) as file:
            file.write(json.dumps(value, indent=1, ensure_ascii=False).encode() + b"\n")


def file_of(key: str) -> str:
    """Return the file name of a row's predictions."""
    if not _KEY.fullmatch(key):
        msg = f"{key!r} is no key of a row: small letters, digits and _+- in parts that a slash separates"
        raise ValueError(msg)
    return f"{key.replace('/', '.')}.jsonl.gz"


def write_packed(path: Path, predictions: Predictions) -> None:
    """Write predictions with rounded scores, reproducibly byte for byte."""
    with whole_file(path, force=True) as file, gzip.GzipFile("", "wb", 9, file, mtime=0) as packed:
        write_predictions(shorten_scores(predictions), predictions.source, cast(BinaryIO, packed))


def shorten_scores(predictions: Iterable[Prediction]) -> Iterator[Prediction]:
    """Yield predictions with rounded scores."""
    return (replace(one, answers=short_scores(one.answers), detection_score=_short(one.detection_score)) for one in predictions)


def _short(score: float | None) -> float | None:
    return None if score is None else round(score, DIGITS)


def short_scores(answers: Sequence[Answer], digits: int = DIGITS) -> tuple[Answer, ...]:
    """Round the scores of one mention, with enough digits to keep different scores different."""
    scores = sorted({score for _, score, _ in answers})
    for number in range(digits, _MAX_DIGITS):
        if all(round(low, number) < round(high, number) for low, high in pairwise(scores)):
            return tuple((ids, round(score, number), name) for ids, score, name in answers)
    return tuple(answers)


def judge(task: Judgeable, predictions: Predictions) -> Judged:
    """Compute all figures. Mentions whose gold id is not in the KB are left out (except in BioSyn's protocol) but counted."""
    if missing := mention_coverage(task.dataset.documents(task.split), predictions).missing:
        msg = f"{missing:,} mentions have no line among the predictions"
        raise ValueError(msg)
    found = make_cases(EvaluationTask(task.dataset, task.split, task.kb), predictions)
    within = [case for case in found if case.is_in_kb]
    cases = found if task.protocol == "biosyn" else within
    ranks = gold_ranks(cases, task.protocol)
    hits = hits_of(ranks)
    low, high = bootstrap_interval(hits, groups=document_groups(cases))
    shares = _recalls(cases, task.protocol, ranks) | {"r5": recall_at(ranks, 5), "low": low, "high": high}
    counts: Figures = {"hits": sum(hits), "mentions": len(found), "in_kb": len(within)}
    figures = {name: _percent(share) for name, share in shares.items()} | counts
    more = _judge_mapped(task, predictions) if task.replaced else {}
    return Judged(figures | more, tuple(hits), _slices(task, cases, hits))


def _recalls(cases: Sequence[Case], protocol: str, ranks: Sequence[int | None]) -> Figures:
    if protocol == "biosyn":
        return {"r1": recall_at(ranks, 1)}
    strict = gold_ranks(cases, "strict")
    return {
        "any_id_r1": recall_at(ranks, 1),
        "strict_r1": recall_at(strict, 1),
        "any_id_r5": recall_at(ranks, 5),
        "strict_r5": recall_at(strict, 5),
    }


def p_value(one: Judged, other: Judged) -> float:
    """Return McNemar's p-value of two results on the same mentions, to three digits."""
    return float(f"{mcnemar_exact(one.hits, other.hits).p_value:.3g}")


def differences(said: Mapping[str, object], found: Mapping[str, object]) -> list[str]:
    """Return the differences between two sets of figures."""
    names = sorted(said.keys() | found.keys())
    return [f"{name} is {found.get(name)}, not {said.get(name)}" for name in names if said.get(name) != found.get(name)]


def best(rows: Sequence[Row]) -> dict[str, str]:
    """Return, by dataset, the test row of the settings that are best on dev: by any-id recall@1, then strict recall@1.

    Models trained on dev take no part in the selection. If there is also a model with the selected settings that was trained on
    train and dev, its row is returned, as in published work, even if it is worse on test.
    """
    best_rows: dict[str, str] = {}
    for dataset in sorted({row.dataset for row in rows}):
        own = [row for row in rows if row.dataset == dataset]
        dev = [row for row in own if row.split == "dev" and row.trained_on == "train"]
        if not dev:
            continue
        first = min(dev, key=lambda row: (-row.figures["hits"], -row.figures.get("strict_r1", 0.0), row.row))
        tests = [row for row in own if row.split == "test" and row.configuration == first.configuration]
        if tests:
            best_rows[dataset] = max(tests, key=lambda row: row.trained_on == "train+dev").row
    return best_rows


def stage_before(row: Row, rows: Sequence[Row], stages: Mapping[str, str]) -> Row | None:
    """Return the row of the nearest earlier stage with otherwise equal settings, preferring the same training data.

    `stages` maps each stage to the previous one.
    """
    stage = row.stage
    while stage := stages.get(stage, ""):
        alike = [
            each
            for each in rows
            if (each.dataset, each.split, each.model, each.search, each.ranking, each.stage)
            == (row.dataset, row.split, row.model, row.search, row.ranking, stage)
        ]
        if alike:
            return max(alike, key=lambda each: each.trained_on == row.trained_on)
    return None


def twins(rows: Sequence[Row]) -> list[str]:
    """Return a problem for each pair of rows with the same settings, since one could be selected by its test figures."""
    seen: dict[tuple[object, ...], str] = {}
    problems = []
    for row in rows:
        other = seen.setdefault((row.dataset, row.split, row.trained_on, *row.configuration), row.row)
        if other != row.row:
            problems.append(f"{row.row}: same settings as {other}; remove one of the two rows")
    return problems


def between(page: str, name: str, text: str) -> str:
    """Return a page with the text between two named markers replaced."""
    first, last = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    before, _, rest = page.partition(first)
    _, found, after = rest.partition(last)
    if not found:
        msg = f"the page lacks the markers {first} and {last}"
        raise ValueError(msg)
    return f"{before}{first}\n\n{text.strip()}\n\n{last}{after}"


def table(header: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table."""
    rows = [header, ["---"] * len(header), *lines]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _slices(task: Judgeable, cases: Sequence[Case], hits: Sequence[bool]) -> Slices:
    training = training_of(EvaluationTask(task.dataset, task.split, task.kb))
    found = slices_of(cases, task.kb, training=training).indices
    return {name: [len(rows), _percent(sum(hits[row] for row in rows) / len(rows))] for name, rows in found.items() if rows}


def _judge_mapped(task: Judgeable, predictions: Predictions) -> Figures:
    cases = make_cases(EvaluationTask(task.dataset, task.split, task.kb, task.replaced), predictions)
    within: list[Case] = [case for case in cases if case.is_in_kb]
    return {"mapped_any_id_r1": _percent(recall_at(gold_ranks(within, "any-id"), 1)), "mapped": len(within)}


def _percent(share: float) -> float:
    return round(100 * share, 1)


def _row(value: dict[str, Any]) -> Row:
    known = {each.name for each in fields(Row)}
    if unknown := value.keys() - known:
        msg = f"a row has unknown keys: {', '.join(sorted(unknown))}"
        raise ValueError(msg)
    return Row(**value)
