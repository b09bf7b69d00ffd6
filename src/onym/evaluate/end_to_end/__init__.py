"""End-to-end evaluation: the system finds the mentions itself and links them.

protocols    precision, recall and F1 by a named rule
intervals    their 95 % confidence intervals, bootstrap over documents
mistakes     missed, spurious and wrongly linked mentions, the most frequent first
evaluation   all of it, for predictions on a split of a dataset
"""

from onym.evaluate.end_to_end.evaluation import EndToEndEvaluation, evaluate_end_to_end
from onym.evaluate.end_to_end.protocols import END_TO_END, EndToEndScores, score_end_to_end

__all__ = ["END_TO_END", "EndToEndEvaluation", "EndToEndScores", "evaluate_end_to_end", "score_end_to_end"]
