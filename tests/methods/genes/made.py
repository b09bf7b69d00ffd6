"""Makes a small knowledge base of genes of four species, and documents about them."""

from __future__ import annotations

from pathlib import Path

from onym.kb import Recipe, build_kb
from onym.kb.recipe import SourceConfig

HEADER = (
    "#tax_id\tGeneID\tSymbol\tLocusTag\tSynonyms\tdbXrefs\tchromosome\tmap_location\tdescription\ttype_of_gene\t"
    "Symbol_from_nomenclature_authority\tFull_name_from_nomenclature_authority\tNomenclature_status\tOther_designations\t"
    "Modification_date\tFeature_type\n"
)
GENES = (  # taxon, id, symbol, synonyms, description, other designations
    (9606, 7124, "TNF", "TNFA|TNF-alpha", "tumor necrosis factor", "cachectin"),
    (10090, 21926, "Tnf", "TNF-alpha|Tnfa", "tumor necrosis factor", "-"),
    (10116, 24835, "Tnf", "-", "-", "-"),
    (9606, 7157, "TP53", "P53|LFS1", "tumor protein p53", "-"),
    (10090, 22059, "Trp53", "p53", "transformation related protein 53", "-"),
    (9606, 3565, "IL4", "IL-4|BSF1", "interleukin 4", "-"),
    (10090, 16189, "Il4", "Il-4", "interleukin 4", "-"),
    (9606, 50489, "CD207", "CLEC4K", "CD207 molecule", "CD207 molecule, langerin"),
    (7227, 31293, "Notch", "N", "-", "-"),
    (9606, 4851, "NOTCH1", "TAN1", "notch receptor 1", "-"),
)


def gene_info() -> str:
    """Return a table in the format of gene_info."""
    rows = (
        f"{taxon}\t{number}\t{symbol}\t-\t{synonyms}\t-\t1\t-\t{name}\tprotein-coding\t-\t-\tO\t{others}\t20260101\t-\n"
        for taxon, number, symbol, synonyms, name, others in GENES
    )
    return HEADER + "".join(rows)


def build_genes(folder: Path) -> Path:
    """Build the knowledge base, and return its folder."""
    (folder / "gene_info").write_text(gene_info())
    build_kb(Recipe(sources=(SourceConfig(path="gene_info"),)), folder / "kb", root=folder)
    return folder / "kb"


def write_corpus(path: Path, count: int = 24) -> Path:
    """Write documents in which TNF and IL4 are genes of the species that the sentence names."""
    numbers = {("TNF", "human"): 7124, ("TNF", "mouse"): 21926, ("IL4", "human"): 3565, ("IL4", "mouse"): 16189}
    blocks = []
    for number in range(count):
        for (symbol, species), gene in numbers.items():
            title = f"Growth of cells, case {number}."
            text = f"{title} We studied {symbol} in {species} cells."
            start = text.index(symbol)
            name = f"{species}{symbol}{number}"
            mention = f"{name}\t{start}\t{start + len(symbol)}\t{symbol}\tGene\t{gene}\n"
            blocks.append(f"{name}|t|{title}\n{name}|a|{text[len(title) + 1 :]}\n{mention}\n")
    path.write_text("".join(blocks))
    return path
