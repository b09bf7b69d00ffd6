"""Evaluation: scoring protocols, metrics, subgroups, significance tests and reports; plots of name embeddings.

Every score is reported with the name of its protocol and with the number of mentions that were not scored.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from onym._lazy import lazy

if TYPE_CHECKING:
    from onym.evaluate.cases import Case
    from onym.evaluate.end_to_end import score_end_to_end
    from onym.evaluate.evaluation import Evaluation, evaluate
    from onym.evaluate.metrics import score
    from onym.evaluate.significance import angel_t_test, bootstrap_interval, mcnemar_exact
    from onym.evaluate.task import EvaluationTask
    from onym.evaluate.tuning import tune_threshold

__all__ = [
    "Case",
    "Evaluation",
    "EvaluationTask",
    "angel_t_test",
    "bootstrap_interval",
    "evaluate",
    "mcnemar_exact",
    "score",
    "score_end_to_end",
    "tune_threshold",
]
__getattr__ = lazy(
    __name__,
    {
        "Case": "onym.evaluate.cases",
        "Evaluation": "onym.evaluate.evaluation",
        "EvaluationTask": "onym.evaluate.task",
        "angel_t_test": "onym.evaluate.significance",
        "bootstrap_interval": "onym.evaluate.significance",
        "evaluate": "onym.evaluate.evaluation",
        "mcnemar_exact": "onym.evaluate.significance",
        "score": "onym.evaluate.metrics",
        "score_end_to_end": "onym.evaluate.end_to_end",
        "tune_threshold": "onym.evaluate.tuning",
    },
)
