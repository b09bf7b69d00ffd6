"""Every dataset that can be prepared: the files it is made of, the knowledge base it is meant for, what is left out."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from onym.datasets.base import SPLITS, Dataset, RequiredFile
from onym.datasets.biosyn import biosyn_dictionary, biosyn_reader, genbioel_reader
from onym.datasets.readers import (
    askapatient_dictionary,
    askapatient_files,
    askapatient_reader,
    bc5cdr_reader,
    cometa_reader,
    hpo_gsc_reader,
    medmentions_reader,
    pubtator_reader,
    unique_pubtator_reader,
)
from onym.errors import ConfigError

_NCBI = {split: f"ncbi_disease/NCBI{word}set_corpus.txt" for split, word in
         (("train", "train"), ("dev", "develop"), ("test", "test"))}  # fmt: skip
_CDR = {split: f"bc5cdr/CDR_{word}Set.PubTator.txt" for split, word in
        (("train", "Training"), ("dev", "Development"), ("test", "Test"))}  # fmt: skip
_NCBI_BIOSYN, _CDR_BIOSYN = "biosyn_format/ncbi-disease", "biosyn_format/bc5cdr-disease"
_MEDMENTIONS = {split: f"MedMentions/full/data/corpus_pubtator_pmids_{word}.txt" for split, word in
                (("train", "trng"), ("dev", "dev"), ("test", "test"))}  # fmt: skip
_COMETA = {split: f"cometa/splits/stratified_general/{split}.csv" for split in ("train", "dev", "test")}
_GSC = {"dev": "GSCplus_dev_gold.tsv", "test": "GSCplus_test_gold.tsv"}
_MEDIC = "BioSyn's dictionary for testing (MEDIC and the mentions of train and dev), built into kb"
_NO_ID = "mentions without an id"
_NLM = "public domain, a work of NLM"
_BIOSYN_LICENCE = "none is stated; derived from the corpus and from CTD's MEDIC: for your own use"
_AIONER = "a work of NLM, passed on under MIT in AIONER"
_NEEDS_UMLS = "UMLS (2017AA for comparable figures); under a licence of your own"


def catalogue() -> tuple[Dataset, ...]:
    """Return all datasets, in order.

    >>> [dataset.name for dataset in catalogue()][:4]
    ['ncbi-disease', 'ncbi-disease-genbioel', 'ncbi-disease-biosyn', 'bc5cdr']
    """
    return tuple(_by_name().values())


def get(name: str) -> Dataset:
    """Return the dataset of that name."""
    if name not in _by_name():
        fix = f"known are {', '.join(_by_name())}"
        raise ConfigError("dataset-unknown", f"no dataset is named {name!r}", fix=fix)
    return _by_name()[name]


@lru_cache(maxsize=1)
def _by_name() -> dict[str, Dataset]:
    found = (*_diseases(), *_chemicals_and_diseases(), *_folds(), *_pubtator(), _gsc(), *_medmentions(), _cometa())
    return {dataset.name: dataset for dataset in found}


def _required(files: Mapping[str, str]) -> tuple[RequiredFile, ...]:
    return tuple(RequiredFile(path) for path in files.values())


def _diseases() -> tuple[Dataset, ...]:
    return (
        Dataset(
            name="ncbi-disease",
            title="NCBI disease corpus, original abstracts",
            files=_required(_NCBI),
            read=unique_pubtator_reader(_NCBI),
            kb="MEDIC, or MeSH and MONDO, joined by cross-references to OMIM",
            protocol="strict; composites keep all their ids",
            dropped="the second copy of PMID 8528200",
            licence=_NLM,
        ),
        Dataset(
            name="ncbi-disease-genbioel",
            title="NCBI disease corpus as GenBioEL and ANGEL use it: dev is part of train",
            files=(RequiredFile(_NCBI_BIOSYN, is_archive=True), *_required(_NCBI)),
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
            files=_required(_CDR),
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
            files=_required(askapatient_files(fold)),
            read=askapatient_reader(fold),
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
    )


def _files(name: str, train: str = "Train", test: str = "Test") -> dict[str, str]:
    return {split: f"pubtator/{name}_{word}.PubTator" for split, word in (("train", train), ("test", test)) if word}


def _corpus(name: str, title: str, files: dict[str, str], kb: str, licence: str, *, dev: int = 0) -> Dataset:
    return Dataset(
        name=name,
        title=title,
        splits=SPLITS if dev else tuple(files),
        files=_required(files),
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
            files=(RequiredFile(f"MedMentions/{folder}/data/corpus_pubtator.txt", min_parts=3), *_required(_MEDMENTIONS)),
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
        files=_required(_COMETA),
        read=cometa_reader(_COMETA),
        kb="SNOMED CT; under a licence of your own",
        protocol="any-id",
        dropped=_NO_ID,
        licence="on request from its authors",
    )
