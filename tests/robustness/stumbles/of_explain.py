"""Explanations: what was once left unsaid."""

from __future__ import annotations

import json

from tests.robustness.stumbles.rows import Scene, stumble


@stumble('onym explain "He had HTN and MI and leukemia."')
def explain_gives_a_reason_for_each_name_that_is_not_a_mention(scene: Scene) -> str:
    done = scene.onym("explain", "He had HTN and MI and leukemia.", "--json")
    rows = {row["text"]: row["rejected"] for row in map(json.loads, done.stdout.splitlines())}
    assert rows["MI"] == "too-short", rows
    assert rows["leukemia"] == "too-general", rows
    shown = scene.onym("explain", "He had HTN and MI and leukemia.").stdout
    assert "not a mention: too general" in shown, shown
    return f"MI: {rows['MI']}, leukemia: {rows['leukemia']}"


@stumble('onym explain "fever"')
def explain_says_that_a_text_has_no_name(scene: Scene) -> str:
    (line,) = scene.onym("explain", "fever").stdout.splitlines()
    assert line.endswith("no name of the knowledge base occurs in this text"), line
    return line
