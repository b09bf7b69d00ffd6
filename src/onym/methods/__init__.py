"""Methods: how mentions are found and how concepts are ranked for them, one module or folder each.

A method has a linker, a detector, or both. A linker ranks the concepts of one knowledge base for queries (`base`); a detector
finds mentions in texts (`detector`). Either is a module with a `Config`, a function `open(config, kb, context)`, which has
`only=` for a detector, and a class.
Configurations, the command line, `open_linker` and `open_detector` know it by its short name, which `onym.registry` lists.
Reading texts, filters, thresholds and confidence are the same for all methods, and are in `onym.pipeline`.

| folder | linker | detector | trained | when to use it |
|---|---|---|---|---|
| `exact` | `exact` | | no | codes and clean terms: fastest, no answer unless the mention is a name |
| `tfidf` | `tfidf` | | no | spelling variants, no model at hand |
| `dictionary` | | `dictionary` | optional | first detector for any vocabulary; a classifier judges ordinary words |
| `student` | | `student` | yes | nearly as accurate as `tagger`, at the speed of a dictionary, 5 MB |
| `tagger` | | `model` | yes | the most accurate detection, on torch or ONNX Runtime |
| `dense` | `dense` | | optional | synonyms that share no letters with a name; large vocabularies |
| `generative` | `generative` | | yes | the published GenBioEL and ANGEL models; the mention's context matters, time does not |
| `collective` | `collective` | | yes | long documents with many mentions: one pass over each |
| `reranker` | `rerank` | | yes | the most accurate answers where annotated documents exist, with a confidence |
| `genes` | `genes`, `organisms` | | yes | genes of many species; species and cell lines |
| `variants` | `variants` | `variants` | no | genetic variants in HGVS and rs ids |
| `compose` | `cascade`, `by_type` | `several` | | several methods as one |

What several of them share: `trees` (gradient-boosted trees, memory of annotated mentions) and `evidence` (why an answer was
given). Models that more than one method reads are in `onym.models`. What is needed to train a method only is in `onym.train`,
in a folder of the same name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from onym._lazy import lazy

if TYPE_CHECKING:
    from onym.methods.base import Linker, LinkerConfig
    from onym.methods.collective.linker import CollectiveLinker
    from onym.methods.compose.by_type import ByTypeLinker
    from onym.methods.compose.cascade import CascadeLinker
    from onym.methods.compose.several import SeveralDetectorConfig
    from onym.methods.dense.index import build_index, open_derived_index, open_index
    from onym.methods.dense.linker import DenseLinker
    from onym.methods.detector import Detected, Detector, DetectorConfig, Rejection, Span, detect_batches
    from onym.methods.exact import ExactLinker
    from onym.methods.generative.linker import GenerativeLinker
    from onym.methods.generative.trie import build_trie, open_derived_trie, open_trie
    from onym.methods.genes.linker import GenesLinker
    from onym.methods.genes.organism_linker import OrganismsLinker
    from onym.methods.opening import detector_config, linker_config, open_detector, open_linker
    from onym.methods.reranker.linker import RerankLinker
    from onym.methods.tfidf import TfidfLinker
    from onym.methods.variants.linker import VariantsLinker

__all__ = [
    "ByTypeLinker",
    "CascadeLinker",
    "CollectiveLinker",
    "DenseLinker",
    "Detected",
    "Detector",
    "DetectorConfig",
    "ExactLinker",
    "GenerativeLinker",
    "GenesLinker",
    "Linker",
    "LinkerConfig",
    "OrganismsLinker",
    "Rejection",
    "RerankLinker",
    "SeveralDetectorConfig",
    "Span",
    "TfidfLinker",
    "VariantsLinker",
    "build_index",
    "build_trie",
    "detect_batches",
    "detector_config",
    "linker_config",
    "open_derived_index",
    "open_derived_trie",
    "open_detector",
    "open_index",
    "open_linker",
    "open_trie",
]
_MODULES = {
    "base": ("Linker", "LinkerConfig"),
    "collective.linker": ("CollectiveLinker",),
    "compose.by_type": ("ByTypeLinker",),
    "compose.cascade": ("CascadeLinker",),
    "compose.several": ("SeveralDetectorConfig",),
    "dense.index": ("build_index", "open_derived_index", "open_index"),
    "dense.linker": ("DenseLinker",),
    "detector": ("Detected", "Detector", "DetectorConfig", "Rejection", "Span", "detect_batches"),
    "exact": ("ExactLinker",),
    "generative.linker": ("GenerativeLinker",),
    "generative.trie": ("build_trie", "open_derived_trie", "open_trie"),
    "genes.linker": ("GenesLinker",),
    "genes.organism_linker": ("OrganismsLinker",),
    "opening": ("detector_config", "linker_config", "open_detector", "open_linker"),
    "reranker.linker": ("RerankLinker",),
    "tfidf": ("TfidfLinker",),
    "variants.linker": ("VariantsLinker",),
}
__getattr__ = lazy(__name__, {name: f"{__name__}.{module}" for module, names in _MODULES.items() for name in names})
