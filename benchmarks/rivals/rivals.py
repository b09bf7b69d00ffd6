"""Compare Onym with other entity linkers on one knowledge base: accuracy, speed and memory.

The tasks are described in `benchmarks.rivals.tasks`, the systems in `benchmarks.rivals.systems`. Each run of a system in some
settings is stored below `rivals` in the cache directory and computed once; `--only` limits the systems, and `--summary` runs
nothing. The rows are written to results/rivals/comparison.json, unless `--quick` or `--only` is given.

rows         one for each system, settings, task and dataset: strict_f1 (task text) or strict_r1, its 95 % interval, documents
             per core-second, CPU seconds until the first answer (with the start of the interpreter), peak memory
systems_run  systems with at least one row
cells        pairs of task and dataset, with and without training, in which Onym and a rival were run, each in the settings
             that are best on dev
first        those in which the best of Onym is better than all rivals by the paired test (p < 0.05)
degraded     the same, but a part of the best rival had to be replaced, so it does not count as beaten
tied         those in which the best rival does not differ from it significantly
behind       those in which a rival is better; `places` has their names
throughput   documents per core-second on PubMed abstracts, by system
failed       systems that could not be installed or run, with the error
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from hashlib import sha256
from typing import Any

import numpy as np

from benchmarks.report import machine
from benchmarks.rivals.adapters.serving import Answer, Request
from benchmarks.rivals.environments import (
    ROOT,
    RivalError,
    export_base,
    rivals_folder,
    run_system,
    version_of,
)
from benchmarks.rivals.systems import SYSTEMS, System
from benchmarks.rivals.tasks import (
    DATASETS,
    GSC,
    PREFER,
    BaseName,
    Judge,
    Judgement,
    TaskName,
    base_folder,
    base_of,
    judgement_of_counts,
    open_abstracts,
    open_base,
    open_task,
    p_value,
)
from benchmarks.rivals.texts import write_texts
from onym.evaluate.end_to_end import shares_of_counts
from onym.store.output import whole_file

RESULTS = ROOT / "results" / "rivals" / "comparison.json"
FULL_LOWER_BOUNDS = {"systems_run": 7}
_DEV = 100  # documents of a dev split on which settings are compared
_QUICK = 10
_ABSTRACTS = 1_000
_SECONDS = 30.0  # CPU time for the abstracts; a slow system processes fewer of them
_PUBMED = "text/pubmed/speed"
_DEFAULT = "default"
_CROSS_VALIDATED = "cross-validated"
_FOLDS = 5


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--only", default="", help="keys of systems, separated by commas")
    parser.add_argument("--summary", action="store_true", help="use stored results only")


@dataclass(frozen=True, slots=True)
class Part:
    """A split of a dataset as a task; `limit` is the maximum number of documents."""

    task: TaskName
    dataset: str
    split: str
    limit: int | None = None

    @property
    def name(self) -> str:
        return f"{self.task}/{self.dataset}/{self.split}"

    @cache  # noqa: B019 - a process has few parts
    def judge(self) -> Judge:
        """Return the judge of answers, which has the documents."""
        return Judge(open_task(self.task, self.dataset, self.split, self.limit))


@dataclass(frozen=True, slots=True)
class StoredRun:
    """The answers of a system in some settings by part and document, and its figures."""

    answers: dict[str, dict[str, list[Answer]]]
    figures: dict[str, Any]


def run(options: argparse.Namespace) -> dict[str, object]:
    chosen = set(filter(None, options.only.split(",")))
    if unknown := chosen - {each.key for each in SYSTEMS}:
        sys.exit(f"no system is named {', '.join(sorted(unknown))}; use some of {', '.join(each.key for each in SYSTEMS)}")
    runner = Runner(is_quick=options.quick, may_run=not options.summary)
    for system in SYSTEMS:
        if not chosen or system.key in chosen:
            runner.add(system)
    rows = list(runner.rows())
    figures = {**runner.compare(), "failed": runner.failed, "rows": rows}
    systems = len({row["system"] for row in rows})
    figures = {"systems_chosen" if chosen else "systems_run": systems, **figures}
    if not options.quick and not chosen:
        RESULTS.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(RESULTS, force=True) as file:
            file.write(json.dumps({"machine": machine(), **figures}, indent=1, ensure_ascii=False).encode() + b"\n")
    return figures


class Runner:
    """Runs systems, or reads their stored results."""

    def __init__(self, *, is_quick: bool, may_run: bool) -> None:
        self._is_quick, self._may_run = is_quick, may_run
        self._judged: dict[Part, dict[tuple[System, str], Judgement]] = {}
        self._chosen: dict[Part, dict[tuple[System, str], Judgement]] = {}
        self._figures: dict[tuple[System, str, BaseName], dict[str, Any]] = {}
        self.failed: dict[str, str] = {}

    def add(self, system: System) -> None:
        """Run a system in all settings, and judge the default settings and those that are best on dev; collect its errors."""
        try:
            for base in system.bases:
                runs = {settings: self._open_run(system, settings, base) for settings in system.settings_for(base)}
                self._judge(
                    system,
                    base,
                    {settings: found for settings, found in runs.items() if found},
                )
        except RivalError as error:
            self.failed[system.key] = str(error)
            print(f"{system.key}: {error}", file=sys.stderr)

    def _parts(self, system: System, base: BaseName) -> list[Part]:
        limit, dev = (_QUICK, _QUICK) if self._is_quick else (None, _DEV)
        if base == "hpo":
            return [Part("text", GSC, "test", limit)] if "text" in system.tasks else []
        pairs = [(task, dataset) for task in system.tasks for dataset in DATASETS]
        splits = (("dev", dev), ("test", limit)) if len(system.settings_for(base)) > 1 else (("test", limit),)
        return [Part(task, dataset, split, size) for task, dataset in pairs for split, size in splits]

    def _open_run(self, system: System, settings: str, base: BaseName) -> StoredRun | None:
        """Return the stored run of a system; run it if there is none. None if it may not be run."""
        parts = self._parts(system, base)
        asked = [system.settings[settings], open_base(base).digest, self._is_quick]
        digest = sha256(json.dumps(asked).encode()).hexdigest()[:8]
        path = rivals_folder() / "runs" / f"{system.key}.{settings.replace(' ', '-')}.{base}.{digest}.json"
        if path.exists():
            stored = StoredRun(**json.loads(path.read_bytes()))
            if {part.name for part in parts} <= stored.answers.keys():
                return stored
        if not self._may_run:
            return None
        found = self._run(system, settings, base, parts)
        path.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(path, force=True) as file:
            file.write(json.dumps(asdict(found)).encode())
        print(f"{path.name}: {json.dumps(found.figures)}", file=sys.stderr, flush=True)
        return found

    def _run(self, system: System, settings: str, base: BaseName, parts: Sequence[Part]) -> StoredRun:
        requests = [request for part in parts for request in part.judge().task.requests(part.name)]
        if system.detector:
            self._add_spans(system.detector, base, requests)
        elif base == "starter" and "text" in system.tasks:
            requests += open_abstracts(_PUBMED, _QUICK if self._is_quick else _ABSTRACTS)
        kb, chosen = export_base(base_folder(base), system), system.settings[settings]
        write_texts(kb, system.files)
        answers, figures = run_system(
            system,
            chosen,
            kb,
            requests,
            prefer=PREFER[base],
            seconds={_PUBMED: _SECONDS},
        )
        answers.pop(_PUBMED, None)
        return StoredRun(answers, figures)

    def _add_spans(self, detector: str, base: BaseName, requests: Sequence[Request]) -> None:
        """Set the mentions of raw text to those that another system found with its default settings."""
        own = next(each for each in SYSTEMS if each.key == detector)
        found = self._open_run(own, _DEFAULT, base)
        for each in requests:
            if found and each["task"] == "text":
                each["spans"] = [[start, end] for start, end, _ in found.answers[each["part"]][each["id"]]]

    def _judge(self, system: System, base: BaseName, runs: Mapping[str, StoredRun]) -> None:
        for settings, found in runs.items():
            self._figures[system, settings, base] = found.figures
        for part in self._parts(system, base):
            if part.split != "test" or not runs:
                continue
            own, chosen = self._judged.setdefault(part, {}), self._chosen.setdefault(part, {})
            if part.dataset == GSC and len(runs) > 1:
                all_settings = {settings: _judge_run(part, found) for settings, found in runs.items()}
                if _DEFAULT in runs:
                    own[system, _DEFAULT] = all_settings[_DEFAULT]
                best = _CROSS_VALIDATED
                usual, own[system, best] = cross_validate(all_settings)
                self._figures[system, best, base] = runs[usual].figures
            else:
                best = _choose(part, runs)
                for settings in dict.fromkeys((_DEFAULT, best)):
                    if settings in runs:
                        own[system, settings] = _judge_run(part, runs[settings])
            if (system, best) in own:
                chosen[system, best] = own[system, best]

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield a row for each system, settings and part."""
        for part, judged in self._judged.items():
            for (system, settings), found in judged.items():
                score = "strict_f1" if part.task == "text" else "strict_r1"
                figures = self._figures[system, settings, base_of(part.dataset)]
                yield {
                    "system": system.title,
                    "version": _version_of(system),
                    "settings": settings,
                    "is_trained": system.is_trained,
                    "task": part.task,
                    "dataset": part.dataset,
                    score: _percent(found.score),
                    "low": _percent(found.low),
                    "high": _percent(found.high),
                    **_speed(figures, part.name),
                    "degraded": system.degraded,
                }

    def compare(self) -> dict[str, object]:
        """Return the cells in which Onym is first, tied or behind, with and without training, and the throughput."""
        places: dict[str, list[dict[str, Any]]] = {
            "first": [],
            "degraded": [],
            "tied": [],
            "behind": [],
        }
        for part, judged in self._chosen.items():
            for is_trained in (False, True):
                shown = {key: each for key, each in judged.items() if is_trained or not key[0].is_trained}
                own = {key: each for key, each in shown.items() if key[0].is_own}
                others = {key: each for key, each in shown.items() if not key[0].is_own}
                if own and others:
                    place, row = _compare(part.task, own, others)
                    places[place].append(
                        {
                            "task": part.task,
                            "dataset": part.dataset,
                            "with_training": is_trained,
                            **row,
                        }
                    )
        counts = {place: len(found) for place, found in places.items()}
        speeds = {
            f"{system.title} ({settings})": _speed(figures, _PUBMED)
            for (system, settings, _), figures in self._figures.items()
            if _PUBMED in figures["parts"]
        }
        return {
            "cells": sum(counts.values()),
            **counts,
            "places": places,
            "throughput": speeds,
        }


def _judge_run(part: Part, found: StoredRun) -> Judgement:
    return part.judge().judge(found.answers.get(part.name, {}))


def cross_validate(judged: Mapping[str, Judgement]) -> tuple[str, Judgement]:
    """Return the settings chosen most often, and the judgement of each fold in the settings that are best on the others."""
    folds = np.arange(len(next(iter(judged.values())).rows)) % _FOLDS
    rows, chosen = np.zeros_like(next(iter(judged.values())).rows), Counter[str]()
    for fold in range(_FOLDS):
        scores = {settings: shares_of_counts(each.rows[folds != fold].sum(axis=0))[2] for settings, each in judged.items()}
        best = max(scores, key=lambda settings: scores[settings])
        chosen[best] += 1
        rows[folds == fold] = judged[best].rows[folds == fold]
    return chosen.most_common(1)[0][0], judgement_of_counts(rows)


def _choose(part: Part, runs: Mapping[str, StoredRun]) -> str:
    """Return the settings with the best score on the dev split; those that come first win ties."""
    if len(runs) < 2:
        return _DEFAULT
    dev = replace(part, split="dev", limit=part.limit or _DEV)
    scores = {settings: dev.judge().judge(found.answers.get(dev.name, {})).score for settings, found in runs.items()}
    return max(scores, key=lambda settings: scores[settings])


def _compare(
    task: TaskName,
    own: Mapping[tuple[System, str], Judgement],
    others: Mapping[tuple[System, str], Judgement],
) -> tuple[str, dict[str, Any]]:
    """Compare the best of Onym with the best rival."""
    (best, settings), found = max(own.items(), key=lambda each: each[1].score)
    (rival, rival_settings), other = max(others.items(), key=lambda each: each[1].score)
    p = p_value(task, found, other)
    ahead = "degraded" if rival.degraded else "first"
    place = "tied" if p >= 0.05 else ahead if found.score > other.score else "behind"
    row = {
        "onym": f"{best.title} ({settings})",
        "onym_score": _percent(found.score),
        "rival": f"{rival.title} ({rival_settings})",
        "rival_score": _percent(other.score),
        "p": float(f"{p:.2g}"),
    }
    return place, row


def _speed(figures: Mapping[str, Any], part: str) -> dict[str, float]:
    found = figures["parts"].get(part, {"documents": 0, "seconds": 0.0})
    return {
        "documents": found["documents"],
        "documents_per_core_s": round(found["documents"] / max(found["seconds"], 1e-3), 1),
        "first_answer_s": round(figures["first_s"], 2),
        "memory_gb": round(figures["memory_gb"], 2),
    }


@cache
def _version_of(system: System) -> str:
    return version_of(system)


def _percent(share: float) -> float:
    return round(100 * share, 1)
