"""Train the reranker without each group of features in turn, and store the dev figures.

    python -m benchmarks.results.rerank_ablation --kb KB

Candidates and features are computed once; the trees are fitted again for each group. results/rerank/ablation.json has the
strict recall@1 on dev mentions whose gold ids are in the knowledge base. The test split is not used.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from benchmarks.report import data_folder
from benchmarks.results.rerank_rows import KEPT, PRESET
from onym.methods.reranker.features import FEATURES
from onym.store.output import whole_file
from onym.train.configs import RerankTrainingConfig
from onym.train.reranker.trainer import RerankContext, figures_of, fit_trees, outcomes_of, pairs_of, training_pairs
from onym.train.stages import read_values

FILE = KEPT / "ablation.json"
WHOLE = "nothing"


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.results.rerank_ablation", description=__doc__.splitlines()[0])
    parser.add_argument("--kb", type=Path, required=True, help="folder of the open, joined knowledge base")
    options = parser.parse_args(arguments)
    config = RerankTrainingConfig.of(read_values("rerank", None, PRESET, [f"data.kb={options.kb}"]))
    context = RerankContext(config, data_folder())
    training = training_pairs(context)
    dev = {
        each.name: pairs_of(context, context.of_types(each.documents("dev")), is_training=False) for each in context.datasets
    }
    groups = {each.name: each.group for each in FEATURES}
    rows: dict[str, dict[str, dict[str, float]]] = {}
    for without in (WHOLE, *dict.fromkeys(each.group for each in FEATURES)):
        columns = tuple(name for name in context.columns if groups[name] != without)
        trees = fit_trees(training, columns, config.trees)
        rows[without] = {name: figures_of(pairs, outcomes_of(trees, columns, pairs)) for name, pairs in dev.items()}
        print(json.dumps({"without": without, "dev": rows[without]}), flush=True)
        with whole_file(FILE, force=True) as file:
            file.write(json.dumps({"kb": context.kb.digest, "without": rows}, indent=1).encode() + b"\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
