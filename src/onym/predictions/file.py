"""What a linker answered, as a file: JSON lines that hold ids, offsets and scores, but no text and no names.

The first line says what the answers came from. Each other line is a mention:

    {"document": "10192393", "start": 4, "end": 16, "answers": [["mesh:D009203", 0.98, 0], [["mesh:D1", "mesh:D2"], 0.5, 1]]}

An answer is an id (or, where several are meant together, a list of them), its score, and the number of the name that led to it:
answers with the same number share a name. Answers stand best first.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from onym import __version__
from onym.errors import InputError
from onym.linkers.base import Linked, Linker
from onym.store.files.json import parsed_line
from onym.store.files.lines import iter_blocks
from onym.store.files.source import InputFile
from onym.types import Candidate

KIND, FORMAT = "predictions", 1

Answer = tuple[tuple[str, ...], float, int]
"""Ids that are meant together, the score, and the number of the name."""


@dataclass(frozen=True, slots=True)
class Prediction:
    """The answers to one mention, best first."""

    document_id: str
    start: int
    end: int
    answers: tuple[Answer, ...]


@dataclass(frozen=True, slots=True)
class Predictions:
    """A file of predictions: what they came from, and the answers by document, start and end."""

    source: dict[str, Any]
    answers: dict[tuple[str, int, int], tuple[Answer, ...]]

    @classmethod
    def of(cls, predictions: Iterable[Prediction], source: dict[str, Any]) -> Predictions:
        """Gather predictions; where a mention stands twice, the first counts."""
        answers: dict[tuple[str, int, int], tuple[Answer, ...]] = {}
        for one in predictions:
            answers.setdefault((one.document_id, one.start, one.end), one.answers)
        return cls(source, answers)

    def __iter__(self) -> Iterator[Prediction]:
        """Yield them one by one, in order."""
        return (Prediction(*key, answers) for key, answers in self.answers.items())


def source_of(linker: Linker, top_k: int, **more: Any) -> dict[str, Any]:
    """Return what the answers of a linker depend on, for the first line of a file."""
    kb = {"digest": linker.kb.digest, "concepts": len(linker.kb), "names": len(linker.kb.names)}
    return {"onym": __version__, "linker": linker.config, "kb": kb, "top_k": top_k, **more}


def predictions_of(linked: Iterable[Linked]) -> Iterator[Prediction]:
    """Yield what is kept of links."""
    for item in linked:
        for link in item.links:
            yield Prediction(item.document.id, link.mention.start, link.mention.end, _answers(link.candidates))


def write_predictions(predictions: Iterable[Prediction], source: dict[str, Any], file: BinaryIO) -> int:
    """Write predictions, and return how many.

    >>> import io
    >>> file = io.BytesIO()
    >>> write_predictions([Prediction("1", 0, 5, ((("mesh:D005334",), 1.0, 0),))], {"linker": "exact"}, file)
    1
    >>> file.getvalue().splitlines()[1]
    b'{"document":"1","start":0,"end":5,"answers":[["mesh:D005334",1.0,0]]}'
    """
    _write_line(file, {"kind": KIND, "format": FORMAT, "source": source})
    count = 0
    for count, one in enumerate(predictions, 1):  # noqa: B007 - the last is the number of all
        answers = [[ids[0] if len(ids) == 1 else list(ids), score, name] for ids, score, name in one.answers]
        _write_line(file, {"document": one.document_id, "start": one.start, "end": one.end, "answers": answers})
    return count


def read_predictions(path: Path | str) -> Predictions:
    """Read predictions. Where a mention stands twice, its first line counts."""
    file = InputFile.from_path(Path(path))
    lines = _iter_values(file)
    first, where = next(lines, (None, file.name))
    if not isinstance(first, dict) or first.get("kind") != KIND or first.get("format") != FORMAT:
        fix = "write the file with onym link, or name a corpus format with --from"
        raise InputError("predictions-malformed", "not a file of predictions", where=where, fix=fix)
    return Predictions.of((_prediction(value, at) for value, at in lines), _source(first.get("source"), where))


def are_predictions(path: Path | str) -> bool:
    """Tell by its beginning whether a file holds predictions."""
    return InputFile.from_path(Path(path)).head(64).startswith(b'{"kind":"predictions"')


def _answers(candidates: Sequence[Candidate]) -> tuple[Answer, ...]:
    numbers: dict[str, int] = {}
    return tuple(
        ((candidate.concept_id,), candidate.score, numbers.setdefault(candidate.name, len(numbers))) for candidate in candidates
    )


def _write_line(file: BinaryIO, value: object) -> None:
    file.write(json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode() + b"\n")


def _iter_values(file: InputFile) -> Iterator[tuple[Any, str]]:
    for block in iter_blocks(file):
        for number, line in enumerate(block.data.split(b"\n"), block.first_line):
            if line.strip():
                where = f"{file.name}:{number}"
                yield parsed_line(line, where, file.limits), where


def _source(value: object, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _malformed(where)
    return value


def _prediction(value: object, where: str) -> Prediction:
    match value:
        case {"document": str(document_id), "start": int(start), "end": int(end), "answers": list(answers)}:
            return Prediction(document_id, start, end, tuple(_answer(answer, where) for answer in answers))
    raise _malformed(where)


def _answer(value: object, where: str) -> Answer:
    match value:
        case [ids, int() | float() as score, int(name)] if math.isfinite(score):
            return _ids(ids, where), float(score), name
    raise _malformed(where)


def _ids(value: object, where: str) -> tuple[str, ...]:
    match value:
        case str(concept_id):
            return (concept_id,)
        case [str(), *_] if all(isinstance(concept_id, str) for concept_id in value):
            return tuple(map(str, value))
    raise _malformed(where)


def _malformed(where: str) -> InputError:
    return InputError(
        "predictions-malformed", "a line is not a prediction", where=where, fix="write the file again with onym link"
    )
