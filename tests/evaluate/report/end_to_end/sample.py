"""An end-to-end evaluation with a bit of everything, hostile text too."""

from __future__ import annotations

from onym.evaluate.coverage import Coverage
from onym.evaluate.end_to_end.evaluation import EndToEndEvaluation, TypeScore
from onym.evaluate.end_to_end.intervals import ScoresWithIntervals
from onym.evaluate.end_to_end.mistakes import KINDS, EndToEndMistake, EndToEndMistakes
from onym.evaluate.end_to_end.protocols import END_TO_END, EndToEndScores
from onym.evaluate.mistakes import NamedConcepts


def sample(text: str = "fever", covered: int = 500) -> EndToEndEvaluation:
    """Return an evaluation; `text` is used wherever text comes from outside."""
    concepts = NamedConcepts((text,), (text,))
    results = {
        name: ScoresWithIntervals(EndToEndScores(name, 2000, 1000, 800, 1000), (0.75, 0.85), (0.45, 0.55), (0.6, 0.65))
        for name in END_TO_END
    }
    mistakes = [EndToEndMistake(kind, 1234, text, concepts, text, concepts) for kind in KINDS]
    return EndToEndEvaluation(
        system=text,
        protocol="bhowmik-strict",
        results=results,
        by_type=(TypeScore(text, 1500, 0.6, 0.55, 0.65), TypeScore("", 500, 0.2, 0.1, 0.3)),
        mistakes=EndToEndMistakes(dict.fromkeys(KINDS, 7), tuple(mistakes)),
        documents=500,
        mentions=1900,
        in_kb=1800,
        coverage=Coverage("documents", 500, covered),
        left_out={text: 3},
        manifest={"dataset": {"name": text, "digest": "ab", "split": "test"}, "kb": {"concepts": 9000, "names": 70000}},
    )
