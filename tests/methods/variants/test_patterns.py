"""Tests of the patterns of variants: what is found, what is not, its form, and that the time is linear."""

from __future__ import annotations

import time

import pytest

from onym.methods.variants.forms import SequenceVariant, from_tmvar
from onym.methods.variants.patterns import find_variants, patterns, read_variant

FORMS = {
    "c.1799T>A": "c.1799T>A",
    "c. 263 G>C": "c.263G>C",
    "c.592C-->T": "c.592C>T",
    "c.1706-2 A>T": "c.1706-2A>T",
    "c.G1714A": "c.1714G>A",
    "c.399_402delAGAG": "c.399_402delAGAG",
    "c.370-371insA": "c.370_371insA",
    "c.681dupA": "c.681dupA",
    "c.112_117delinsTG": "c.112_117delinsTG",
    "g.10435_10809del": "g.10435_10809del",
    "m.8344A>G": "m.8344A>G",
    "p.Val600Glu": "p.V600E",
    "p.V600E": "p.V600E",
    "p.(Val600Glu)": "p.V600E",
    "p.Arg153X": "p.R153*",
    "p.Pro246HisfsX13": "p.P246Hfs*13",
    "p.Arg58fs": "p.R58fs",
    "p.Lys100_Leu102del": "p.K100_L102del",
    "Val600Glu": "p.V600E",
    "Arg 3500 Gln": "p.R3500Q",
    "Glu29 to Lys": "p.E29K",
    "Arg213Ter": "p.R213*",
    "V600E": "p.V600E",
    "R1858X": "p.R1858*",
    "E873stop": "p.E873*",
    "A1166C": "c.1166A>C",
    "G-308A": "c.-308G>A",
    "-308G>A": "c.-308G>A",
    "\u22121082(G/A)": "c.-1082G>A",
    "677C>T": "c.677C>T",
    "-13,910 C/T": "c.-13910C>T",
    "1782-83delAG": "c.1782_1783delAG",
    "1494del6": "c.1494del6",
    "5382insC": "c.5382insC",
    "del 329C": "c.329delC",
    "IVS3 + 18C > T": "c.IVS3+18C>T",
    "IVSII-1 (G > A)": "c.IVS2-1G>A",
    "\u0394F508": "p.F508del",
    "Val624-Val625del": "p.V624_V625del",
    "C105Vfs114X": "p.C105Vfs*114",
    "G to A at position 123": "c.123G>A",
    "A-to-G transition at nucleotide 276": "c.276A>G",
    "cytosine to adenine at position 264": "c.264C>A",
    "valine-to-methionine at codon 44": "p.V44M",
    "codon 12 glycine to valine": "p.G12V",
    "codon 358, tyrosine to histidine": "p.Y358H",
    "codon 26, GAG-->GCG": "p.E26A",
    "CAC(3543)TAC": "p.H3543Y",
    "arginine 150 proline": "p.R150P",
    "arginine84 to glutamine": "p.R84Q",
    "valine (Val) to alanine (Ala) substitution at amino acid 16": "p.V16A",
    "stop codon for glutamine at codon 298": "p.Q298*",
    "tryptophan to arginine substitution at amino acid 10": "p.W10R",
    "deletion of C at nucleotide 888": "c.888delC",
    "T insertion at 7916 and 7917": "c.7916_7917insT",
    "adenine deletion at nucleotide 202": "c.202delA",
}  # fmt: skip
NO_FORM = ("rs113488022", "C>T", "Arg-->Leu", "32-bp deletion", "-308A", "IVS9 + 217T", "A deletion in codon 242", "dup24bp")


@pytest.mark.parametrize(("text", "form"), FORMS.items())
def test_reads_a_variant(text: str, form: str) -> None:
    [found] = find_variants(f"It is {text}, as said.")
    assert found.variant.hgvs == form
    assert read_variant(text) == found.variant


@pytest.mark.parametrize("text", [*FORMS, *NO_FORM])
def test_the_offsets_are_those_of_the_mention(text: str) -> None:
    before = "Patients had "
    [found] = find_variants(f"{before}{text} here.")
    assert (found.start, found.end) == (len(before), len(before) + len(text))


@pytest.mark.parametrize("text", NO_FORM)
def test_variants_without_a_form(text: str) -> None:
    variant = read_variant(text)
    assert variant is not None
    assert not variant.hgvs


@pytest.mark.parametrize(
    "text",
    [
        "lamin A/C", "the S100A protein", "T47D cells", "M6P/IGF2R", "E2F1 and H1N1", "C57BL/6", "Figure 1A", "p. 12",
        "10-12 kb", "IL-6", "the genotypes A/A and G/G", "12/24", "pH 7.4 to 8", "Gly and Ala", "persons 12", "S-100",
        "glycine 100 mM",
        "vitamin B12", "CD4/CD8", "G0/G1", "X1", "1 to 2",
    ],
)  # fmt: skip
def test_finds_nothing_else(text: str) -> None:
    assert find_variants(text) == []


def test_prefers_the_longest_of_overlapping_patterns() -> None:
    text = "a G to A transition at nucleotide 276 (c.276G>A, p.R92H)"
    assert [text[each.start : each.end] for each in find_variants(text)] == [
        "G to A transition at nucleotide 276", "c.276G>A", "p.R92H",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "alleles"),
    [
        ("1858C>T; 1858T, 1858 CC, T1858, 1858A, 858T", ["1858T", "1858 CC", "T1858"]),
        ("Ile105Val; 105Val, Val-105, I105, Gly105", ["105Val", "Val-105", "I105"]),
        ("-511C>T; -511CC, IL1B-511TT", ["-511CC", "-511TT"]),
        ("32-bp deletion; 32A", []),
    ],
)
def test_residues_at_the_position_of_a_variant_are_alleles(text: str, alleles: list[str]) -> None:
    found = find_variants(text)[1:]
    assert [text[each.start : each.end] for each in found] == alleles
    assert {each.variant.kind for each in found} <= {"allele"}


@pytest.mark.parametrize("text", ["KrasG12D", "JAK2V617F", "rtM204V"])
def test_finds_a_substitution_after_the_name_of_a_gene(text: str) -> None:
    [found] = find_variants(f"in {text} mice")
    assert found.end == len(f"in {text}")
    assert found.variant.kind == "sub"


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("p|SUB|V|600|E", "p.V600E"), ("p|SUB|R|153|X", "p.R153*"), ("c|DEL|1782_1783|AG;Gene:55806", "c.1782_1783delAG"),
        ("c|INS|3020|C", "c.3020insC"), ("c|DUP|1308_1316|9|", "c.1308_1316dup9"), ("p|FS|C|105|V|114", "p.C105Vfs*114"),
        ("c|INDEL|46_48|TG", "c.46_48delinsTG"), ("c|SUB|G|IVSI-1|A", "c.IVS1-1G>A"), ("c|Allele|A|-308", ""),
        ("c|SUB|G||A", ""),
    ],
)  # fmt: skip
def test_reads_tmvar_notation(text: str, form: str) -> None:
    variant = from_tmvar(text)
    assert variant is not None
    assert variant.hgvs == form


@pytest.mark.parametrize("text", ["", "rs123", "c|SUB", "p|ODD|1|2", "|DEL|5504|A", "D003924"])
def test_other_notation_is_no_variant(text: str) -> None:
    assert from_tmvar(text) in (None, SequenceVariant("c", "sub"))


HOSTILE = (
    "1", "-", "- ", "(", "A", "ACGT", "V600E", "V600E/", "A>", "->", "--", "c.", "p.", "p.V", "IVS", "IVS1-", "rs", "rs1",
    "1,", "1-", "1+1", "to ", "A to ", "valine to ", "valine ", "codon ", "at position ", " in the exon 1 (at",
    "deletion of ", "of the ",
    "1-bp deletion ", "del", "delA", "ins", "\u0394", "\u2192", "premature ", "valine (", "A (A", "Val-", "Val1 ",
    "fs", "p.V1fs", "\u0130",
)  # fmt: skip


@pytest.mark.parametrize("unit", HOSTILE)
def test_the_time_is_linear(unit: str) -> None:
    def seconds(length: int) -> float:
        text = (unit * length)[:length]
        before = time.process_time()
        find_variants(text)
        return time.process_time() - before

    patterns()
    assert seconds(5_000) < 1.0
    assert min(seconds(10_000) for _ in range(3)) < 4 * max(0.03, min(seconds(5_000) for _ in range(3)))
