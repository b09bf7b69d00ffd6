"""Read and write gene models: trees for species, trees for genes, a calibration, and the memory of annotated mentions.

FOLDER/gene-trees/      the trees and the calibration
FOLDER/memory/          how often a key of a gene name was annotated with each gene
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from onym.calibrate import Isotonic
from onym.errors import IntegrityError
from onym.methods.genes.features import GENE_NAMES
from onym.methods.genes.names import tight_key
from onym.methods.genes.species import SPECIES_NAMES
from onym.methods.trees.memory import Counts, Memory, open_memory
from onym.methods.trees.trees import Calibrated, Trees, read_calibration, read_trees, write_calibration, write_trees
from onym.store.artefact import Artefact
from onym.store.cache import Verify
from onym.store.stage import Record, staging
from onym.text.analysis import analysis_of
from onym.types import Document

KIND, FORMAT = "gene-trees", 1
TREES, MEMORY, RECORD = "gene-trees", "memory", "training.json"


class GeneOrigin(BaseModel):
    """What a gene model expects: the features of both sets of trees, in column order; and the digest of its knowledge base."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    species_features: tuple[str, ...] = SPECIES_NAMES
    gene_features: tuple[str, ...] = GENE_NAMES
    kb: str = ""


@dataclass(frozen=True)
class GeneModel(Calibrated):
    """An opened gene model; the calibration is None if it was not fitted."""

    origin: GeneOrigin
    species: Trees
    genes: Trees
    calibration: Isotonic | None
    memory: Memory
    digest: str = ""


def count_keys(documents: Iterable[Document]) -> Counts:
    """Count the concepts of each key in annotated documents, under the key of the surface and that of the long form.

    >>> from onym.types import Mention
    >>> doc = Document("1", "TNF-alpha", (Mention(0, 9, "TNF-alpha", ("ncbigene:7124",), "Gene"),))
    >>> dict(count_keys([doc]))
    {('tnfa', 'ncbigene:7124', 'Gene'): 1}
    """
    counts: Counts = Counts()
    for doc in documents:
        known = analysis_of(doc).abbreviations
        for mention in doc.mentions:
            if len(set(mention.concept_ids)) == 1:
                keys = dict.fromkeys((tight_key(mention.surface), tight_key(known.expand(mention.surface) or "")))
                counts.update((key, mention.concept_ids[0], mention.type) for key in keys if key)
    return counts


def write_gene_trees(
    dest: Path, trees: tuple[Trees, Trees], calibration: Isotonic | None, kb: str, record: Mapping[str, Any]
) -> None:
    """Write the trees of a gene model, of species and of genes, to the folder `dest`; its memory is written separately."""
    with staging(dest / TREES) as stage:
        for prefix, each in zip(("species.", "genes."), trees, strict=True):
            write_trees(stage, each, prefix)
        write_calibration(stage, calibration)
        stage.write_json(RECORD, dict(record))
        counts = {"trees": sum(len(each.roots) for each in trees), "nodes": sum(len(each.feature) for each in trees)}
        stage.publish(dest / TREES, KIND, FORMAT, Record(GeneOrigin(kb=kb).model_dump(mode="json"), [], counts))


def open_gene_model(folder: Path | str, *, verify: Verify = "once") -> GeneModel:
    """Open a gene model; the trees are checked every time."""
    folder = Path(folder)
    artefact = Artefact.open(folder / TREES, KIND, FORMAT, verify)
    origin = _origin(artefact)
    species = read_trees(artefact, len(SPECIES_NAMES), "species.")
    genes = read_trees(artefact, len(GENE_NAMES), "genes.")
    calibration = read_calibration(artefact)
    artefact.remember()
    memory = open_memory(folder / MEMORY, verify=verify)
    return GeneModel(origin, species, genes, calibration, memory, artefact.digest)


def _origin(artefact: Artefact) -> GeneOrigin:
    where, fix = str(artefact.location), "train the model again with onym train genes"
    try:
        origin = GeneOrigin.model_validate_json(json.dumps(artefact.manifest.config), strict=True)
    except ValidationError as e:
        what = "the configuration in the manifest of the gene model is invalid"
        raise IntegrityError("artefact-corrupt", what, where=where, fix=fix) from e
    if (origin.species_features, origin.gene_features) != (SPECIES_NAMES, GENE_NAMES):
        what = "the gene model was trained with the features of another version of Onym"
        raise IntegrityError("artefact-corrupt", what, where=where, fix=fix)
    return origin
