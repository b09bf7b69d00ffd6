"""Attacks by the small files beside data: plans, configurations and records that nest deeply, or have endless numbers."""

from __future__ import annotations

import json

from onym.evaluate.types import TRAINING_REQUEST
from tests.batch.runs import finish_run
from tests.robustness.attacks.rows import Place, attack

_DIGITS, _LEVELS = "9" * 5_000, 30_000
_JSON = ("", "null", "[]", "5", "{", "\0", f'{{"a": {_DIGITS}}}', "[" * _LEVELS, '{"a":' * _LEVELS, '{"a": NaN}', "{}")
_TOML = (f"a = {_DIGITS}", f"a = {'[' * _LEVELS}", f"a = {'{b=' * _LEVELS}", "a = 1e999", "a\0 = 1", f"{'a.' * _LEVELS}b = 1")


@attack("the plan of a run, or a record of a quarantined shard, nests 30,000 levels or is no JSON object: onym batch")
def broken_plans_of_runs(place: Place) -> None:
    finish_run(place.kb_path, place.folder)
    plan, record = place.folder / "out" / "plan.json", place.folder / "out" / "quarantine" / "000000.json"
    for text in _JSON:
        record.parent.mkdir(exist_ok=True)
        record.write_text(text)
        place.onym("batch", "status", "out").require_told()
    whole, formats = json.loads(plan.read_text()), ("null", "[]", str(2**70), '"1"')
    for text in (*_JSON, *(json.dumps(whole | {"format": json.loads(value)}) for value in formats)):
        plan.write_text(text)
        place.onym("batch", "status", "out").require_refused()
        place.onym("batch", "export", "out", "-o", "links.jsonl").require_refused()


@attack("a configuration in TOML nests 30,000 levels or has an integer of 5,000 digits: kb build, train, prepare")
def broken_configurations(place: Place) -> None:
    for number, text in enumerate(_TOML):
        path = place.folder / f"{number}.toml"
        path.write_text(f"{text}\n")
        place.onym("kb", "build", path, "-o", f"kb{number}").require_refused()
        place.onym("train", "generative", path, "-o", f"model{number}").require_refused()


@attack("the training configuration in the folder of a pipeline is no JSON object, or names no datasets: onym evaluate")
def broken_training_requests(place: Place) -> None:
    mention = {"start": 0, "end": 5, "surface": "Fever", "concept_ids": ["mesh:D005334"], "type": "Disease"}
    notes = [json.dumps({"id": str(number), "text": f"Fever {number}", "mentions": [mention]}) for number in range(20)]
    (place.folder / "mine.jsonl").write_text("\n".join(notes))
    for command in (
        ("dataset", "prepare", "--name", "mine", "mine.jsonl", "--kb", place.kb_path),
        ("pipeline", "build", "--kb", place.kb_path, "-o", "pipeline"),
    ):
        assert place.onym(*command).status == 0, command
    more = ('{"datasets": 5}', '{"datasets": [null]}', '{"datasets": ["\\u0000"]}', '{"types": 5, "datasets": []}')
    for text in (*_JSON, *more):
        (place.folder / "pipeline" / TRAINING_REQUEST).write_text(text)
        place.onym("evaluate", "--pipeline", "pipeline", "--dataset", "mine", "--split", "train").require_told()
