"""The catalogue of datasets that Onym can prepare: their files, readers, intended knowledge bases and dropped mentions.

BC5CDR is read as in GenBioEL: a composite mention with a column of fragments is split if the fragments, joined by spaces, equal
the mention, or if there are two fragments and the mention contains " and " or " or "; each piece gets the id at its position.
Other composites with fragments are dropped. A mention with several ids but no fragments keeps all ids.

Every phrase of AskAPatient is one document. The dictionary of a fold has the concept labels and its training phrases.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache

from onym.corpora.base import Item, documents_of
from onym.corpora.formats import askapatient, cometa, hpo_gsc, pubtator
from onym.corpora.ids import format_ids, parse_ids
from onym.datasets.base import NO_ID, SPLITS, Dataset, DatasetFiles, Dictionary, DropCounts, Reader, RequiredFile, members
from onym.datasets.biosyn import biosyn_dictionary, biosyn_reader, genbioel_reader
from onym.errors import ConfigError
from onym.kb.recipe import Recipe, SourceConfig
from onym.store.files.lines import iter_lines
from onym.store.files.source import InputFile, Source
from onym.types import Document, Mention, NameKind, Problem

DUPLICATE = "duplicate document"
COMPOSITE = "a composite that cannot be cut"
WHOLE = "composite"
"""Note of a piece of a composite: the offsets of the whole composite."""
_FRAGMENTS = "parts"  # key of the note in which the PubTator reader stores the seventh column
_JOINTS = (" and ", " or ")
NO_SPLIT = "the document is in no list"
_ASKAPATIENT_WORDS = {"train": "train", "dev": "validation", "test": "test"}
_ASKAPATIENT_TABLE = "names.tsv"


def pubtator_reader(files: Mapping[str, str], *, dev: int = 0) -> Reader:
    """Return a reader of one PubTator file per split. If `dev` > 0, the last `dev` documents of train become the dev split."""

    def read(inputs: DatasetFiles, drops: DropCounts) -> Iterator[tuple[str, Document]]:
        for split, path in files.items():
            found = list(pubtator.read(inputs.source(path)))
            count = sum(isinstance(item, Document) for item in found)
            for number, doc in enumerate(drops.iter_documents(split, found)):
                own = "dev" if dev and split == "train" and number >= count - dev else split
                yield own, drops.with_ids(own, doc)

    return read


def unique_pubtator_reader(files: Mapping[str, str]) -> Reader:
    """Return a reader that drops duplicate documents of a file, because NCBI's training set has PMID 8528200 twice."""

    def read(inputs: DatasetFiles, drops: DropCounts) -> Iterator[tuple[str, Document]]:
        seen: set[tuple[str, str]] = set()
        for split, doc in pubtator_reader(files)(inputs, drops):
            if (split, doc.id) in seen:
                drops.drop(split, DUPLICATE, len(doc.mentions))
            else:
                seen.add((split, doc.id))
                yield split, doc

    return read


def bc5cdr_reader(files: Mapping[str, str]) -> Reader:
    """Return a reader of one BC5CDR file per split."""

    def read(inputs: DatasetFiles, drops: DropCounts) -> Iterator[tuple[str, Document]]:
        for split, path in files.items():
            for doc in drops.iter_documents(split, pubtator.read(inputs.source(path))):
                yield split, replace(doc, mentions=tuple(_select_mentions(doc, split, drops)))

    return read


def _select_mentions(doc: Document, split: str, drops: DropCounts) -> Iterator[Mention]:
    for mention in doc.mentions:
        pieces = cut(mention)
        if not pieces:
            drops.drop(split, COMPOSITE)
        for piece in pieces:
            if piece.concept_ids:
                yield piece
            else:
                drops.drop(split, NO_ID)


def cut(mention: Mention) -> list[Mention]:
    """Split a composite into pieces with one id each. Return [] if it cannot be split, or [mention] if it is no composite.

    >>> notes = (("parts", "renal failure|liver failure"),)
    >>> whole = Mention(4, 27, "renal and liver failure", ("mesh:D051437", "mesh:D017093"), "Disease", notes=notes)
    >>> [(piece.start, piece.end, piece.concept_ids) for piece in cut(whole)]
    [(4, 9, ('mesh:D051437',)), (14, 27, ('mesh:D017093',))]
    """
    ids, fragments = format_ids(mention).split("|"), dict(mention.notes).get(_FRAGMENTS)
    if len(ids) == 1 or fragments is None:
        return [mention]
    joint = _joint(mention.surface, fragments.split("|"))
    texts = fragments.split("|") if joint == " " else mention.surface.split(joint) if joint else []
    if not all(texts):
        return []
    pieces, start = [], mention.start
    for text, concept_id in zip(texts, ids, strict=False):  # as in GenBioEL, a text without an id is dropped
        end = start + len(text)
        notes = ((WHOLE, f"{mention.start}|{mention.end}"),)
        pieces.append(Mention(start, end, text, parse_ids(concept_id, mention.type), mention.type, notes=notes))
        start = end + len(joint)
    return pieces


def _joint(surface: str, fragments: list[str]) -> str:
    if " ".join(fragments) == surface:
        return " "
    return next((joint for joint in _JOINTS if len(fragments) == 2 and joint in surface), "")


def medmentions_reader(corpus: str, lists: Mapping[str, str]) -> Reader:
    """Return a reader of MedMentions. `lists` maps each split to the path of its PMID list."""

    def read(inputs: DatasetFiles, drops: DropCounts) -> Iterator[tuple[str, Document]]:
        split_of = {pmid: split for split, path in lists.items() for pmid in _pmids(inputs, path)}
        documents: dict[str, list[Document]] = {split: [] for split in SPLITS}
        for item in pubtator.read(inputs.source(corpus)):
            split = split_of.get(item.document_id if isinstance(item, Problem) else item.id, "")
            for doc in drops.iter_documents(split or SPLITS[0], [item]):
                if split:
                    documents[split].append(drops.with_ids(split, doc))
                else:
                    drops.drop(SPLITS[0], NO_SPLIT, len(doc.mentions))
        for split, found in documents.items():
            yield from ((split, doc) for doc in found)

    return read


def _pmids(inputs: DatasetFiles, path: str) -> list[str]:
    return [line.text.strip() for file in inputs.source(path).files for line in iter_lines(file) if line.text.strip()]


def hpo_gsc_reader(archive: str, files: Mapping[str, str]) -> Reader:
    """Return a reader of the GSC+ archive. `files` maps each split to a file of the archive."""

    def read(inputs: DatasetFiles, drops: DropCounts) -> Iterator[tuple[str, Document]]:
        for split, name in files.items():
            for doc in drops.iter_documents(split, hpo_gsc.read(members(inputs.source(archive), "", name))):
                yield split, drops.with_ids(split, doc)

    return read


def phrase_reader(parse: Callable[[Source], Iterator[Item]], files: Mapping[str, str]) -> Reader:
    """Return a reader of one file per split in which each phrase is a document; phrases without an id are dropped."""

    def read(inputs: DatasetFiles, drops: DropCounts) -> Iterator[tuple[str, Document]]:
        for split, path in files.items():
            for doc in drops.iter_documents(split, parse(inputs.source(path))):
                if (kept := drops.with_ids(split, doc)).mentions:
                    yield split, kept

    return read


def askapatient_files(fold: int) -> dict[str, str]:
    """Return a dict of the splits of a fold and their files."""
    return {split: f"askapatient/AskAPatient.fold-{fold}.{word}.txt" for split, word in _ASKAPATIENT_WORDS.items()}


def askapatient_dictionary(fold: int) -> Dictionary:
    """Return a function that makes the recipe of a knowledge base from the labels and phrases of a fold's training file."""

    def build(inputs: DatasetFiles) -> tuple[Recipe, dict[str, Source]]:
        rows = [
            row
            for doc in documents_of(askapatient.read(inputs.source(askapatient_files(fold)["train"])))
            for row in dictionary_rows(doc)
        ]
        lines = ["\t".join(map(_quote, row)) for row in dict.fromkeys([("id", "name", "kind"), *rows])]
        table = InputFile.from_bytes(_ASKAPATIENT_TABLE, "".join(f"{line}\n" for line in lines).encode())
        source = SourceConfig(path=_ASKAPATIENT_TABLE, format="table", name="askapatient", prefix="snomedct")
        return Recipe(sources=(source,)), {_ASKAPATIENT_TABLE: Source.of_files(_ASKAPATIENT_TABLE, [table])}

    return build


def dictionary_rows(doc: Document) -> Iterator[tuple[str, str, str]]:
    """Yield (concept id, name, name kind) rows for a phrase: the labels of its concepts, and the phrase itself."""
    for mention in doc.mentions:
        label = dict(mention.notes).get(askapatient.NAME, mention.surface)
        for concept_id in mention.concept_ids:
            yield concept_id, label, NameKind.PREFERRED.label
            if label != mention.surface:
                yield concept_id, mention.surface, NameKind.EXACT.label


def _quote(cell: str) -> str:
    return '"' + cell.replace('"', '""') + '"'


_NCBI = {split: f"ncbi_disease/NCBI{word}set_corpus.txt" for split, word in
         (("train", "train"), ("dev", "develop"), ("test", "test"))}  # fmt: skip
_CDR = {split: f"bc5cdr/CDR_{word}Set.PubTator.txt" for split, word in
        (("train", "Training"), ("dev", "Development"), ("test", "Test"))}  # fmt: skip
_NCBI_BIOSYN, _CDR_BIOSYN = "biosyn_format/ncbi-disease", "biosyn_format/bc5cdr-disease"
_MEDMENTIONS = {split: f"MedMentions/full/data/corpus_pubtator_pmids_{word}.txt" for split, word in
                (("train", "trng"), ("dev", "dev"), ("test", "test"))}  # fmt: skip
_COMETA = {split: f"cometa/splits/stratified_general/{split}.csv" for split in ("train", "dev", "test")}
_GSC = {"dev": "GSCplus_dev_gold.tsv", "test": "GSCplus_test_gold.tsv"}
_SPECIES_ASSIGNMENT = {split: f"species_assignment/SpeAss_{split.title()}.PubTator" for split in ("train", "test")}
_MEDIC = "BioSyn's dictionary for testing (MEDIC and the mentions of train and dev), built into kb"
_NO_ID = "mentions without an id"
_NLM = "public domain, a work of NLM"
_BIOSYN_LICENCE = "none is stated; derived from the corpus and from CTD's MEDIC: for your own use"
_AIONER = "a work of NLM, passed on under MIT in AIONER"
_NEEDS_UMLS = "UMLS (2017AA for comparable figures); under a licence of your own"


def catalogue() -> tuple[Dataset, ...]:
    """Return all datasets in display order.

    >>> [dataset.name for dataset in catalogue()][:4]
    ['ncbi-disease', 'ncbi-disease-genbioel', 'ncbi-disease-biosyn', 'bc5cdr']
    """
    return tuple(_by_name().values())


def get(name: str) -> Dataset:
    """Return the dataset with this name."""
    if name not in _by_name():
        fix = f"use one of {', '.join(_by_name())}"
        raise ConfigError("dataset-unknown", f"no dataset is named {name!r}", fix=fix)
    return _by_name()[name]


@lru_cache(maxsize=1)
def _by_name() -> dict[str, Dataset]:
    found = (*_diseases(), *_chemicals_and_diseases(), *_folds(), *_pubtator(), _gsc(), *_medmentions(), _cometa())
    return {dataset.name: dataset for dataset in found}


def _list_required(files: Mapping[str, str]) -> tuple[RequiredFile, ...]:
    return tuple(RequiredFile(path) for path in files.values())


def _diseases() -> tuple[Dataset, ...]:
    return (
        Dataset(
            name="ncbi-disease",
            title="NCBI disease corpus, original abstracts",
            files=_list_required(_NCBI),
            read=unique_pubtator_reader(_NCBI),
            kb="MEDIC, or MeSH and MONDO, joined by cross-references to OMIM",
            protocol="strict; composites keep all their ids",
            dropped="the second copy of PMID 8528200",
            licence=_NLM,
        ),
        Dataset(
            name="ncbi-disease-genbioel",
            title="NCBI disease corpus as GenBioEL and ANGEL use it: dev is part of train",
            files=(RequiredFile(_NCBI_BIOSYN, is_archive=True), *_list_required(_NCBI)),
            read=genbioel_reader(_NCBI_BIOSYN, _NCBI),
            dictionary=biosyn_dictionary(_NCBI_BIOSYN),
            kb=_MEDIC,
            protocol="any-id; the first part of a composite",
            dropped="composites, in train",
            licence=_BIOSYN_LICENCE,
        ),
        _biosyn("ncbi-disease-biosyn", "NCBI disease corpus as BioSyn and SapBERT use it", _NCBI_BIOSYN),
    )


def _chemicals_and_diseases() -> tuple[Dataset, ...]:
    return (
        Dataset(
            name="bc5cdr",
            title="BioCreative V chemicals and diseases, composites cut as by GenBioEL",
            files=_list_required(_CDR),
            read=bc5cdr_reader(_CDR),
            kb="MeSH; with open files, MeSH and MONDO, as in benchmarks/recipes/open-kb.toml",
            protocol="any-id",
            dropped=f"{_NO_ID}, composites that cannot be cut",
            licence=_NLM,
        ),
        _biosyn("bc5cdr-disease-biosyn", "The diseases of BioCreative V as BioSyn and SapBERT use them", _CDR_BIOSYN),
    )


def _biosyn(name: str, title: str, archive: str) -> Dataset:
    return Dataset(
        name=name,
        title=f"{title}: mentions without their text",
        files=(RequiredFile(archive, is_archive=True),),
        read=biosyn_reader(archive),
        dictionary=biosyn_dictionary(archive),
        kb=_MEDIC,
        protocol="biosyn: every part of a composite",
        dropped=_NO_ID,
        licence=_BIOSYN_LICENCE,
    )


def _folds() -> tuple[Dataset, ...]:
    return tuple(
        Dataset(
            name=f"askapatient-fold{fold}",
            title=f"AskAPatient, fold {fold} of 10: phrases of patients",
            files=_list_required(askapatient_files(fold)),
            read=phrase_reader(askapatient.read, askapatient_files(fold)),
            dictionary=askapatient_dictionary(fold),
            kb="the labels of its SNOMED CT and AMT concepts and the fold's training phrases, built into kb",
            protocol="any-id; the mean of ten folds",
            dropped=_NO_ID,
            licence="CC BY 4.0; the labels are SNOMED CT's",
        )
        for fold in range(10)
    )


def _pubtator() -> tuple[Dataset, ...]:
    genes, taxa, cells = "NCBI Gene", "NCBI Taxonomy", "Cellosaurus"
    mixed = "MeSH, NCBI Gene, NCBI Taxonomy, OMIM, dbSNP and Cellosaurus"
    return (
        _corpus("biored", "BioRED: six types of mentions", _files("BioRED", "TrainDev", "Test"), mixed, _AIONER, dev=100),
        _corpus("nlm-chem", "NLM-Chem: chemicals in full texts, test alone", _files("NLMchem", "", "Test"), "MeSH", "CC0"),
        _corpus("nlm-gene", "NLM-Gene: genes of many species", _files("NLMgene"), genes, "CC0"),
        _corpus("gnormplus", "GNormPlus: genes", _files("GNormPlus"), genes, _AIONER),
        _corpus("linnaeus", "Linnaeus: species in full texts", _files("Linnaeus"), taxa, "CC BY 4.0"),
        _corpus("s800", "Species-800: species", _files("SPECIES"), taxa, "not stated"),
        _corpus(
            "bioid", "Bio-ID: cell lines in captions", _files("BioID", "Train_revision", "Test_revision"), cells, "not stated"
        ),
        _corpus("tmvar", "tmVar 3: variants, with genes, diseases, species", _files("tmVar3"), mixed, _AIONER),
        _corpus("species-assignment", "Species of genes: genes with their species", _SPECIES_ASSIGNMENT, genes, "Apache-2.0"),
    )


def _files(name: str, train: str = "Train", test: str = "Test") -> dict[str, str]:
    return {split: f"pubtator/{name}_{word}.PubTator" for split, word in (("train", train), ("test", test)) if word}


def _corpus(name: str, title: str, files: dict[str, str], kb: str, licence: str, *, dev: int = 0) -> Dataset:
    return Dataset(
        name=name,
        title=title,
        splits=SPLITS if dev else tuple(files),
        files=_list_required(files),
        read=pubtator_reader(files, dev=dev),
        kb=kb,
        protocol="strict",
        dropped=_NO_ID,
        licence=licence,
    )


def _gsc() -> Dataset:
    return Dataset(
        name="hpo-gsc",
        title="GSC+: phenotypes of the Human Phenotype Ontology, dev and test",
        splits=tuple(_GSC),
        files=(RequiredFile("hpo_gsc/corpus", is_archive=True),),
        read=hpo_gsc_reader("hpo_gsc/corpus", _GSC),
        kb="HPO",
        protocol="strict",
        dropped=_NO_ID,
        licence="not stated",
    )


def _medmentions() -> tuple[Dataset, ...]:
    return tuple(
        Dataset(
            name=name,
            title=title,
            files=(RequiredFile(f"MedMentions/{folder}/data/corpus_pubtator.txt", min_parts=3), *_list_required(_MEDMENTIONS)),
            read=medmentions_reader(f"MedMentions/{folder}/data/corpus_pubtator.txt", _MEDMENTIONS),
            kb=_NEEDS_UMLS,
            protocol="strict",
            dropped=f"{_NO_ID}, documents in no list",
            licence="CC0",
        )
        for name, title, folder in (
            ("medmentions", "MedMentions, all concepts", "full"),
            ("medmentions-st21pv", "MedMentions, 21 semantic types of 18 vocabularies", "st21pv"),
        )
    )


def _cometa() -> Dataset:
    return Dataset(
        name="cometa",
        title="COMETA, stratified, general: posts of lay people",
        files=_list_required(_COMETA),
        read=phrase_reader(cometa.read, _COMETA),
        kb="SNOMED CT; under a licence of your own",
        protocol="any-id",
        dropped=_NO_ID,
        licence="on request from its authors",
    )
