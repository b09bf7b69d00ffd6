"""Print one benchmark's figures as one line of JSON: `python -m benchmarks NAME [options]`.

Without options a benchmark runs at full size; `--quick` is for every change. Each is a module of `benchmarks.commands` with
`run(options) -> figures` and, where it has options of its own, `add_options(parser)`. A module may have
`UPPER_BOUNDS` of its figures, and `LOWER_BOUNDS`: where one is more, or less, the benchmark fails, after it has printed them.
`FULL_BOUNDS` are upper bounds too, and `FULL_LOWER_BOUNDS` lower ones, of times, which `--quick` beside other work on any
machine cannot judge.
"""

from __future__ import annotations

import argparse
import json
import sys
from importlib import import_module

from benchmarks.report import machine, versions

NAMES = (
    "import",
    "kb-open",
    "joins",
    "types",
    "kb-hpo",
    "kb-umls",
    "kb-kill",
    "batch-kill",
    "batch-faults",
    "batch-speed",
    "serve-speed",
    "serve-faults",
    "serve-overload",
    "reconcile",
    "serve-hostile-browser",
    "surface-cache",
    "own-corpus",
    "kb-hostile",
    "kb-fuzz",
    "corpus-fuzz",
    "artefact-rot",
    "decoded-bombs",
    "faults",
    "crash-states",
    "abbreviations",
    "assertion",
    "round-trips",
    "pubmed-read",
    "pubmed",
    "offsets",
    "corpora-counts",
    "inputs-accounted",
    "lexical",
    "rescore",
    "ties",
    "trie-size",
    "trie-memory",
    "decode-parity",
    "decode-exact",
    "decode-sound",
    "decode-speed",
    "generative-results",
    "dense-results",
    "kb-samples",
    "miner",
    "dense-speed",
    "index-size",
    "index-hostile",
    "model-hostile",
    "train-tiny",
    "preset-steps",
    "pipeline-hostile-text",
    "privacy",
    "pathological-text",
    "link-speed",
    "unchanged",
    "spacy",
    "e2e-results",
    "detector-results",
    "detector-speed",
    "collective-speed",
    "cascade",
    "rerank-results",
    "rerank-speed",
    "confidence",
    "consistency",
    "starter",
    "pack",
    "flat-output",
    "exports",
    "first-minutes",
    "explain",
    "get",
    "house",
    "cli-environments",
)
_MODULES = {"import": "import_"}


def main(arguments: list[str]) -> int:
    if not arguments or arguments[0] not in NAMES:
        print(f"python -m benchmarks NAME [options]; NAME is one of {', '.join(NAMES)}", file=sys.stderr)
        return 0 if arguments[:1] == ["--help"] else 2
    name = arguments[0]
    module = import_module(f"benchmarks.commands.{_MODULES.get(name, name.replace('-', '_'))}")
    parser = argparse.ArgumentParser(prog=f"python -m benchmarks {name}", description=module.__doc__)
    parser.add_argument("--quick", action="store_true", help="a small size, for every change")
    getattr(module, "add_options", lambda _: None)(parser)
    options = parser.parse_args(arguments[1:])
    figures = module.run(options)
    print(json.dumps({"benchmark": name, "figures": figures, "machine": machine(), "versions": versions()}))
    lower, upper = dict(getattr(module, "LOWER_BOUNDS", {})), dict(getattr(module, "UPPER_BOUNDS", {}))
    if not options.quick:
        upper |= getattr(module, "FULL_BOUNDS", {})
        lower |= getattr(module, "FULL_LOWER_BOUNDS", {})
    missed = [f"{key} is over {bound}" for key, bound in upper.items() if figures.get(key, 0) > bound]
    missed += [f"{key} is under {bound}" for key, bound in lower.items() if figures.get(key, bound) < bound]
    print("".join(f"{each}\n" for each in missed), end="", file=sys.stderr)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
