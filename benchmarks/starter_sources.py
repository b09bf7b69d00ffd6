"""Sources of the starter's knowledge base that are parts of other files, and names that no source has.

    python -m benchmarks.starter_sources

finds MeSH's supplementary chemicals that people write about and writes their ids to `recipes/starter-supplement.txt.gz`, in
four minutes. These are the records that are mapped to a descriptor of branch D (chemicals and drugs), and

- have a name in a title or abstract of the two files of `benchmarks.batch.real_files`. Names are compared in normal form;
  names of up to four letters have to occur as they are written; or
- are drugs by their name: an international nonproprietary name in ChEBI, or a word with a stem of such names: *-mab*, *-tinib*.

`recipes/starter-names.tsv` is written by hand: drugs of which MeSH's table has the salt only, brand names, common
abbreviations, and everyday words.
"""

from __future__ import annotations

import gzip
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from benchmarks.batch import real_files
from benchmarks.report import data_folder
from onym.corpora import documents_of, read_corpus
from onym.store.files.source import InputFile, Source
from onym.text.normal import normal_name

_RECIPES = Path(__file__).parent / "recipes"
IDS, NAMES = _RECIPES / "starter-supplement.txt.gz", _RECIPES / "starter-names.tsv"
SUPPLEMENT = "mesh/mesh_supp_id_label_mappings.tsv.gz"
CHEBI = "ontologies/chebi.obo.gz"
_DESCRIPTORS = "mesh/mesh_id_label_mappings.tsv.gz"
_MAX_SHORT, _MAX_WORDS = 4, 12
_DRUG_LINE = re.compile(r'\n|\[|(?:format-version|id|is_obsolete|name):|synonym: ".*" RELATED (?:INN|BRAND_NAME) ')
_WORD = re.compile(r"\w+")
_NONPROPRIETARY = re.compile(r'synonym: "(.*)" RELATED INN ')
_STEM = re.compile(r"[a-z]{3,}(?:ciclib|cept|gliflozin|gliptin|mab|parib|tide|tinib|vir|xaban|zomib)")
"""Stems of nonproprietary names of recent drugs, which ChEBI's release does not have."""
_BRANCH = re.compile(r"(?:^|\|)D\d\d")


def open_sources(supplement: Iterable[str] | None = None) -> dict[str, Source]:
    """Return the sources of the recipe that are not whole files of the data folder, by their path in the recipe.

    `supplement` are the ids of the supplementary records to keep, by default those of the stored list.
    """
    ids = gzip.decompress(IDS.read_bytes()).decode().split() if supplement is None else supplement
    return {SUPPLEMENT: _open_supplement(ids), CHEBI: _open_drug_names(), NAMES.name: Source.open(NAMES)}


def _open_supplement(ids: Iterable[str]) -> Source:
    """Return the table of supplementary records, reduced to these ids."""
    kept = {each.encode() for each in ids}
    with gzip.open(data_folder() / SUPPLEMENT) as file:
        data = b"".join(line for line in file if line.partition(b"\t")[0] in kept)
    name = Path(SUPPLEMENT).name.removesuffix(".gz")
    return Source.of_files(name, [InputFile.from_bytes(name, data)])


def _open_drug_names() -> Source:
    """Return ChEBI reduced to the name, the international nonproprietary names and the brand names of each term."""
    with gzip.open(data_folder() / CHEBI, "rt", encoding="utf-8") as file:
        data = "".join(line for line in file if _DRUG_LINE.match(line))
    name = Path(CHEBI).name.removesuffix(".gz")
    return Source.of_files(name, [InputFile.from_bytes(name, data.encode())])


def chemical_ids() -> list[str]:
    """Return the ids of all supplementary chemicals."""
    return [each for each, _ in _records()]


def find_ids(texts: Iterable[str]) -> list[str]:
    """Return the sorted ids of the supplementary chemicals that are drugs, or have a name in one of the texts."""
    names, short = _names()
    found = set(drug_ids())
    for text in texts:
        words = normal_name(text).split(" ")
        for start in range(len(words)):
            for end in range(start + 1, min(start + _MAX_WORDS, len(words)) + 1):
                found.update(names.get(" ".join(words[start:end]), ()))
        for word in _WORD.findall(text):
            found.update(short.get(word, ()))
    return sorted(found)


def drug_ids() -> Iterator[str]:
    """Yield the ids of the supplementary chemicals whose preferred name is that of a drug."""
    with gzip.open(data_folder() / CHEBI, "rt", encoding="utf-8") as file:
        known = {normal_name(match[1]) for match in map(_NONPROPRIETARY.match, file) if match}
    for record, written in _records():
        if _STEM.fullmatch(written[0]) or normal_name(written[0]) in known:
            yield record


def _names() -> tuple[Mapping[str, list[str]], Mapping[str, list[str]]]:
    """Return the ids of each name: longer names in normal form, and short ones as they are written."""
    names: dict[str, list[str]] = defaultdict(list)
    short: dict[str, list[str]] = defaultdict(list)
    for record, written in _records():
        for name in written:
            if len(name) <= _MAX_SHORT:
                short[name].append(record)
            else:
                names[normal_name(name)].append(record)
    return names, short


def _records() -> Iterator[tuple[str, list[str]]]:
    """Yield the id and the names of each supplementary chemical."""
    headings = {fields[0] for fields in _rows(_DESCRIPTORS) if _BRANCH.search(fields[3])}
    for fields in _rows(SUPPLEMENT):
        if headings & set(re.findall(r"D\d+", fields[3])):
            yield fields[0], [name for name in (fields[1], *fields[2].split("|")) if name]


def _rows(path: str) -> Iterator[list[str]]:
    with gzip.open(data_folder() / path, "rt", encoding="utf-8") as file:
        for line in file:
            yield [field.strip('"') for field in line.rstrip("\n").split("\t")]


def main() -> None:
    texts = (document.text for path in real_files() for document in documents_of(read_corpus(path)))
    IDS.write_bytes(gzip.compress("\n".join(find_ids(texts)).encode() + b"\n", mtime=0))


if __name__ == "__main__":
    main()
