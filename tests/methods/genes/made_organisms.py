"""Makes a small knowledge base of species and cell lines, and documents about them."""

from __future__ import annotations

from pathlib import Path

from onym.kb import Recipe, build_kb
from onym.kb.recipe import SourceConfig

TAXA = (  # taxon, rank, scientific name, other names
    (9606, "species", "Homo sapiens", ("human",)),
    (10090, "species", "Mus musculus", ("mouse",)),
    (562, "species", "Escherichia coli", ("Bacterium coli",)),
    (5762, "species", "Entamoeba coli", ()),
    (561, "genus", "Escherichia", ()),
    (4565, "species", "Triticum aestivum", ("bread wheat", "wheat")),
)
CELLS = (("CVCL_0030", "HeLa"), ("CVCL_0045", "HEK-293"), ("CVCL_0022", "U-87MG ATCC"), ("CVCL_0594", "NIH 3T3"))


def build_organisms(folder: Path) -> Path:
    """Build the knowledge base, and return its folder."""
    names = [(taxon, name, "scientific name") for taxon, _, name, _ in TAXA]
    names += [(taxon, other, "common name") for taxon, _, _, others in TAXA for other in others]
    (folder / "taxdump").mkdir()
    (folder / "taxdump" / "names.dmp").write_text(
        "".join(f"{taxon}\t|\t{name}\t|\t\t|\t{kind}\t|\n" for taxon, name, kind in names)
    )
    (folder / "taxdump" / "nodes.dmp").write_text("".join(f"{taxon}\t|\t1\t|\t{rank}\t|\n" for taxon, rank, _, _ in TAXA))
    entries = (
        f"ID   {name}\nAC   {accession}\nOX   NCBI_TaxID={_species(name)}; ! x\nCA   Cell line\n//\n"
        for accession, name in CELLS
    )
    (folder / "cellosaurus.txt").write_text("".join(entries))
    sources = (SourceConfig(path="taxdump"), SourceConfig(path="cellosaurus.txt"))
    build_kb(Recipe(sources=sources, groups=True), folder / "kb", root=folder)
    return folder / "kb"


def _species(cell: str) -> int:
    return 10090 if cell == "NIH 3T3" else 9606


def write_organism_corpus(path: Path, count: int = 20) -> Path:
    """Write documents with the species of *wheat* and *E. coli*, and with cell lines."""
    rows = (
        ("E. coli", "Species", "562"),
        ("wheat", "Species", "4565"),
        ("HeLa", "CellLine", "CVCL_0030"),
        ("HEK293", "CellLine", "CVCL_0045"),
    )
    blocks = []
    for number in range(count):
        for row, (surface, kind, concept) in enumerate(rows):
            title, name = f"Growth, case {number}.", f"{row}x{number}"
            text = f"{title} We grew {surface} here."
            start = text.index(surface)
            line = f"{name}\t{start}\t{start + len(surface)}\t{surface}\t{kind}\t{concept}\n"
            blocks.append(f"{name}|t|{title}\n{name}|a|{text[len(title) + 1 :]}\n{line}\n")
    path.write_text("".join(blocks))
    return path
