from __future__ import annotations

import time
from pathlib import Path

import pytest
from benchmarks.accuracy.abbreviations import SETS, f1, iter_gold
from hypothesis import example, given
from hypothesis import strategies as st

from onym.text._long_forms import (
    STRATEGIES,
    Layout,
    Word,
    Words,
    anywhere,
    beginning,
    initial,
    match_scattered,
    parts,
    rotate_at_breaks,
    rotate_letters,
    without_digits,
)
from onym.text.abbreviations import Abbreviation, Abbreviations, find_abbreviations, may_be_short, plain_schwartz_hearst


def words_of(text: str) -> list[Word]:
    words = Words(text)
    return [words[number] for number in range(len(words))]


def pairs(found: list[Abbreviation]) -> list[tuple[str, str]]:
    return [(one.short, one.long) for one in found]


def pairs_in(text: str) -> list[tuple[str, str]]:
    return pairs(find_abbreviations(text))


# At least one text for each rule: (text, short form, long form, rule).
RULES = [
    ("Scans by magnetic resonance imaging (MRI) were made.", "MRI", "magnetic resonance imaging", "first-letters"),
    ("A two-dimensional (2D) gel was run.", "2D", "two-dimensional", "first-letters"),
    ("Serum \u03b1-globulin fraction (AGF) was kept.", "AGF", "\u03b1-globulin fraction", "first-letters"),
    ("Many proton pump inhibitors (PPIs) were sold.", "PPIs", "proton pump inhibitors", "first-letters"),
    ("An over-the-counter (OTC) drug.", "OTC", "over-the-counter", "first-letters"),
    ("The shortness of breath (SB) went.", "SB", "shortness of breath", "first-letters-over-stop-words"),
    ("Tumour growth factor \u03b2 (TGF-beta) rose.", "TGF-beta", "Tumour growth factor \u03b2", "word-beginnings"),
    ("The electroencephalogram (EEG) was normal.", "EEG", "electroencephalogram", "word-parts"),
    ("Levels of interferon gamma (IFN-gamma) rose.", "IFN-gamma", "interferon gamma", "letters-of-words"),
    ("Infants with bronchiolitis (BRT) were seen.", "BRT", "bronchiolitis", "letters-of-words"),
    ("A rapid plasma card reagin (RPR) test.", "RPR", "rapid plasma card reagin", "first-letters-skip"),
    ("The cardiomyopathy clinic score (CMS) rose.", "CMS", "cardiomyopathy clinic score", "word-parts-skip"),
    ("A selective serotonin inhibitor drug (SSI) helps.", "SSI", "selective serotonin inhibitor drug", "first-letters-tail"),
    ("One tumor suppressor gene map unit (TSG) is large.", "TSG", "tumor suppressor gene map unit", "first-letters-long-tail"),
    ("The neurohypophysis tissue (NH) was cut.", "NH", "neurohypophysis tissue", "word-parts-tail"),
    ("Patients with myotonic dystrophy (DM) were asked.", "DM", "myotonic dystrophy", "turned"),
    ("Loss of tidal volume (V(T)) was seen.", "V(T)", "tidal volume", "turned"),
    ("The 12-item General Questionnaire (GQ-12) helps.", "GQ-12", "12-item General Questionnaire", "rotated"),
    ("Free calcium concentration ([Ca]f) fell.", "[Ca]f", "Free calcium concentration", "rotated"),
    ("We saw type 2 nitric synthase (NS-2) there.", "NS-2", "type 2 nitric synthase", "turned"),
    ("A heat shock protein (HSP70) was seen.", "HSP70", "heat shock protein", "without-digits"),
    ("Its large red cell total width (LRW) is noted.", "LRW", "large red cell total width", "first-letters-skip-two"),
    ("One electron spin echo micrograph (EESM) came.", "EESM", "electron spin echo micrograph", "letters-of-words-skip-two"),
    ("The bronchiolitis test panel (BRL) came.", "BRL", "bronchiolitis test panel", "letters-of-words-tail"),
    ("The paired box (PAX) family is old.", "PAX", "paired box", "letters-in-order"),
    ("Soil phosphorus (P) was low.", "P", "phosphorus", "one-letter"),
    ("Yields (E, n = 12) of ethanolamine (E, 3 g) fell.", "E", "ethanolamine", "one-letter"),
]


@pytest.mark.parametrize(("text", "short", "long", "rule"), RULES)
def test_each_rule_finds_its_definition(text: str, short: str, long: str, rule: str) -> None:
    found = {one.short: one for one in find_abbreviations(text)}
    assert list(found) == [short]
    assert (found[short].long, found[short].strategy) == (long, rule)


def test_each_rule_is_tested() -> None:
    assert {strategy.name for strategy in STRATEGIES} | {"one-letter"} == {rule for *_, rule in RULES}


# Definitions at different positions in a text: (text, all pairs found in it).
SPANS = [
    ("The odds ratio [OR] was 2.", [("OR", "odds ratio")]),
    ("Low intake [odds ratio (OR): 0.3] helps.", [("OR", "odds ratio")]),
    ("The prostaglandin E(2) (PGE(2)) level.", [("PGE(2)", "prostaglandin E(2)")]),
    ("The ubiquitin(Ub) chain.", [("Ub", "ubiquitin")]),
    ("The body mass index (BMI, kg/m2) rose.", [("BMI", "body mass index")]),
    ("The body mass index (BMI; n = 3) rose.", [("BMI", "body mass index")]),
    ("Glutathione peroxidase (EC 1.11.1.9; GP) fell.", [("GP", "Glutathione peroxidase")]),
    ("The body mass index (or BMI) rose.", [("BMI", "body mass index")]),
    ("The body mass index (abbreviated as BMI) rose.", [("BMI", "body mass index")]),
    ('The "body mass index" ("BMI") rose.', [("BMI", "body mass index")]),
    ("BMI (body mass index) rose.", [("BMI", "body mass index")]),
    ("BMI (for body mass index) rose.", [("BMI", "body mass index")]),
    ("SPAR (secreted protein, acidic and rich) binds.", [("SPAR", "secreted protein, acidic and rich")]),
    ("Weight (body mass index, BMI) rose.", [("BMI", "body mass index")]),
    ("Weight (BMI, body mass index) rose.", [("BMI", "body mass index")]),
    ("(AI = artificial insemination) was tried.", [("AI", "artificial insemination")]),
    ("(artificial insemination = AI) was tried.", [("AI", "artificial insemination")]),
    ("The polymerase chain reaction, abbreviated as PCR, works.", [("PCR", "polymerase chain reaction")]),
    ("We call interleukin-2 (abbreviated IL-2) a cytokine.", [("IL-2", "interleukin-2")]),
    ("A map array (MA)-protein kit (MAPK).", [("MA", "map array"), ("MAPK", "map array (MA)-protein kit")]),
    ("Non-high-density lipoprotein (HDL) fell.", [("HDL", "high-density lipoprotein")]),
    ("It binds Pelle/protein kinase N (PKN) well.", [("PKN", "protein kinase N")]),
    ("Two forms--persistent truncus arteriosus (PTA) and others.", [("PTA", "persistent truncus arteriosus")]),
    ("The chelator 1,10-phenanthroline (PHE) binds.", [("PHE", "1,10-phenanthroline")]),
    ("A gene of S. aureus protein A (SAPA) was cut.", [("SAPA", "S. aureus protein A")]),
    ("Yes. Body mass index (BMI) is.\nBody mass\nindex (BMI).", [("BMI", "Body mass index"), ("BMI", "Body mass\nindex")]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), SPANS)
def test_finds_definitions_at_any_position(text: str, expected: list[tuple[str, str]]) -> None:
    assert pairs_in(text) == expected


# Texts that look like a definition, but are not.
REFUSED = [
    "The cohort of men (n = 12) was seen.",
    "The mean age (range, 12 to 60 years) was 40.",
    "Rates rose in the second group (group 2).",
    "It fell at phosphate buffer height (pH 7.5).",
    "The aims were to (a) assess, (b) build, and (ii) inspect items.",
    "Two clones (C, D) were cut.",
    "The product was made (i.e. procured).",
    "Insulin was given (see Iverson).",
    "It is a domain of Notch (NotchIC) there.",
    "The limits (limit) are set.",
    "HIV infection in HIV (HIV) patients.",
    "Finger arterial pressure was monitored throughout (Fapmont).",
    "The forces were measured by the brain (BB) group.",
    "A level of P(ves1) and a coupling of J(eff) held.",
    "Partial least squares (PLS-1 and PLS-2) were fitted.",
    "The rate was 12.5 mg (12 mg/mL) there.",
    "Nothing (XYZ) fits here.",
    "Empty () [] {} brackets ) ( ] [ and (   ) more.",
    "Apples are red. Bananas (AB) are not.",
    "It was reported before [1, 2] and (Smith, 1998).",
]


@pytest.mark.parametrize("text", REFUSED)
def test_rejects_texts_that_are_no_definitions(text: str) -> None:
    assert pairs_in(text) == []


def test_offsets_count_code_points() -> None:
    text = "\U0001f9ec\u0301 na\u00efve T cells; \u03b2-cell mass (BCM) fell."
    (found,) = find_abbreviations(text)
    assert (found.short, found.long) == ("BCM", "\u03b2-cell mass")
    assert text[found.short_start : found.short_end] == "BCM"
    assert text[found.long_start : found.long_end] == "\u03b2-cell mass"


SHAPES = st.sampled_from(
    [
        *(
            "(",
            ")",
            "[",
            "]",
            " (",
            ") ",
            " ",
            ", ",
            "; ",
            ". ",
            "=",
            "-",
            "/",
            "'s",
            '"',
            "\n",
            "AB",
            "PPIs",
            "E2",
            "(a)",
            "x",
            "T",
            "3",
        ),
        *(
            "alpha",
            "beta",
            "body mass index",
            "of",
            "type 2",
            "abbreviated as ",
            "\u03b1",
            "\u0130",
            "\u00df",
            "\ufb01",
            "\u00b5",
        ),
    ]
)
TEXTS = st.one_of(st.text(max_size=200), st.lists(SHAPES, max_size=40).map("".join))


@given(TEXTS)
@example("\u0130nter \u0130eukin (\u0130\u0130) \u0130 (\u0130)")
@example("(((AB) AB(AB))) AB = (AB = AB)")
def test_offsets_match_the_text(text: str) -> None:
    for find in (find_abbreviations, plain_schwartz_hearst):
        found = find(text)
        assert found == find(text)
        assert [one.short_start for one in found] == sorted(one.short_start for one in found)
        for one in found:
            assert 0 <= one.short_start < one.short_end <= len(text)
            assert 0 <= one.long_start < one.long_end <= len(text)
            assert text[one.short_start : one.short_end] == one.short
            assert text[one.long_start : one.long_end] == one.long
            assert len(one.long) >= len(one.short)
            assert one.long_end <= one.short_start or one.short_end <= one.long_start


LETTERS = st.text("bcdfghjklmnpqrstvwyz", min_size=3, max_size=6)


@given(LETTERS, st.data())
def test_first_letters_are_always_found(letters: str, data: st.DataObject) -> None:
    words = [letter + data.draw(st.text("aeou", min_size=3, max_size=6)) for letter in letters]
    text = f"The {' '.join(words)} ({letters.upper()}) was seen."
    assert pairs_in(text) == [(letters.upper(), " ".join(words))]


def test_repr_holds_no_text() -> None:
    assert "index" not in repr(find_abbreviations("The body mass index (BMI) rose."))


HOSTILE = {
    "opening": "(",
    "pairs": "()",
    "mixed": "([{)]}",
    "spaces": " ",
    "lines": "\n",
    "one word": "a",
    "hyphens": "a-",
    "stops": "ab. ",
    "same": "ab (ab) ",
    "letters": "a (A) ",
    "attached": "(ab)(ab)",
    "items": "(a, b, c, d) ",
    "unclosed": "word (",
    "deep": "((((((((a b))))))))",
    "near misses": "abcdef fedcba abcdef fedcba abcdef (cfafbd) ",
    "asides": "(b) ",
    "announced": "abbreviated as ",
    "colons": ": (AB",
}


def seconds(find: object, text: str) -> float:
    assert callable(find)
    best = float("inf")
    for _ in range(3):
        begin = time.process_time()
        find(text)
        best = min(best, time.process_time() - begin)
    return best


@pytest.mark.parametrize("unit", HOSTILE.values(), ids=HOSTILE.keys())
@pytest.mark.parametrize("find", [find_abbreviations, plain_schwartz_hearst])
def test_run_time_is_linear(find: object, unit: str) -> None:
    # Run time is linear: a text four times as long takes about four times as long (sixteen times if it were quadratic).
    small, large = (seconds(find, (unit * size)[:size]) for size in (4_000, 16_000))
    assert large < 10 * small + 0.05


def test_long_tokens_and_deep_nesting_are_fast() -> None:
    texts = [
        "(" * 50_000 + ")" * 50_000,
        "a" * 100_000 + " (ab)" * 50,
        "word" + " " * 100_000 + "(WO)",
        "a/" * 50_000 + "b (AB)",
    ]
    begin = time.process_time()
    for text in texts:
        find_abbreviations(text)
        plain_schwartz_hearst(text)
    assert time.process_time() - begin < 5


def test_plain_algorithm() -> None:
    text = "The heat shock protein (HSP), a kinase, and TNF (tumor necrosis factor) were seen in 12 men (n = 12)."
    assert pairs(plain_schwartz_hearst(text)) == [("HSP", "heat shock protein"), ("TNF", "tumor necrosis factor")]
    # The shortest match of the letters is taken, although matching only first letters of words would give a longer form.
    text = "The International Index of Erectile Function (IIEF) was used."
    assert pairs(plain_schwartz_hearst(text)) == [("IIEF", "Index of Erectile Function")]
    assert pairs_in(text) == [("IIEF", "International Index of Erectile Function")]


@pytest.mark.parametrize(
    "text",
    [
        "Nothing.",
        "It was (AB",
        "A (B) was.",
        "many words between them and the letters of it all then here (mb).",
        "See it (12).",
        "x (AB)",
    ],
)
def test_plain_algorithm_rejects(text: str) -> None:
    assert plain_schwartz_hearst(text) == []


def test_plain_algorithm_reads_nested_brackets_and_lines() -> None:
    text = "In this, prostaglandin\nE two (PGE(2), a lipid) was high."
    assert pairs(plain_schwartz_hearst(text)) == []
    assert pairs(plain_schwartz_hearst("Some prostaglandin\nE 2 (PGE(2)) was high.")) == [("PGE(2)", "prostaglandin\nE 2")]


def test_expand() -> None:
    known = Abbreviations.from_text(
        "Acute lymphoblastic leukemia (ALL) and proton pump inhibitors (PPIs); interleukin 2 (IL-2), antibodies (Abs), "
        "magnetic resonance imaging (MRI). The mean residual intensity (MRI) was another."
    )
    assert known.expand("ALL") == "Acute lymphoblastic leukemia"
    assert known.expand("PPIs") == known.expand("PPI") == "proton pump inhibitors"
    assert known.expand("ALLs") == "Acute lymphoblastic leukemia"
    assert known.expand("Il-2") == "interleukin 2"
    assert known.expand("ABs") == "antibodies"
    assert known.expand("MRI") == "magnetic resonance imaging", "the first definition counts"
    assert [known.expand(word) for word in ("all", "All", "s", "", "IL", "ppis")] == [None] * 6
    assert [one.short for one in known.definitions] == ["ALL", "PPIs", "IL-2", "Abs", "MRI", "MRI"]


def test_exact_case_comes_first() -> None:
    known = Abbreviations([Abbreviation("SPA", "one", 0, 3, 5, 8, "demo"), Abbreviation("SpA", "two", 9, 12, 14, 17, "demo")])
    assert [known.expand(surface) for surface in ("SPA", "SpA", "SpAs", "sPA")] == ["one", "two", "two", "one"]


def test_no_definitions() -> None:
    known = Abbreviations([])
    assert known.definitions == ()
    assert known.expand("HIV") is None


@pytest.mark.parametrize("text", ["HIV", "IL-2", "PS beta G", "[Ca2+]i", "ED 16", "PI 3-kinase", "5-HT", "V(T)", "P"])
def test_accepts_short_forms(text: str) -> None:
    assert may_be_short(text)


NO_SHORT_FORMS = [
    "",
    "12",
    "12 mg",
    "n = 3",
    "50%",
    "b(0",
    "three words here",
    "ABCDEFGHIJK",
    "A" * 30,
    "the",
    "ii",
    "group 2",
    "pH 7.4",
    ".5",
]


@pytest.mark.parametrize("text", NO_SHORT_FORMS)
def test_rejects_short_forms(text: str) -> None:
    assert not may_be_short(text)


def test_spelling() -> None:
    (word,) = words_of("Phosphotransferase")
    assert [initial(word, letters) for letters in ("p", "ph", "x")] == [True, False, False]
    assert [beginning(word, letters) for letters in ("pho", "pt")] == [True, False]
    assert [parts(word, letters) for letters in ("pt", "pf")] == [True, False]
    assert [match_scattered(word, letters) for letters in ("pf", "sf")] == [True, False]
    assert [anywhere(word, letters) for letters in ("sf", "fs", "fp")] == [True, True, False]
    digits = {letter: [word.raw for word in words_of("second III dim tri 2") if initial(word, letter)] for letter in "23"}
    assert digits == {"2": ["second", "2"], "3": ["III", "tri"]}
    assert [initial(word, "x") for word in words_of("exchange transport crossed next")] == [True, True, True, False]


def test_readings() -> None:
    assert list(without_digits("PTS1")) == ["pts"]
    assert list(without_digits("PTS")) == []
    assert list(rotate_at_breaks("TAS-20")) == ["20tas"]
    assert list(rotate_at_breaks("DM")) == []
    assert list(rotate_letters("DMA")) == ["mad", "adm"]
    assert list(rotate_letters("Dma")) == []


def test_layout() -> None:
    text = "One two. Three (four) five, six (seven [eight] nine)."
    layout = Layout(text)
    assert [text[bracket.start : bracket.end + 1] for bracket in layout.brackets] == [
        "(four)",
        "(seven [eight] nine)",
        "[eight]",
    ]
    end = text.index("(seven")
    region = layout.region(layout.sentence_start(end), end, 10)
    assert [word.raw for word in region.words] == ["Three", "five", "six"]
    assert region.near == 1
    assert [word.raw for word in layout.region(0, end, 2).words] == ["five", "six"]


@pytest.mark.real_data
def test_quality_on_gold_corpora(real_data: Path) -> None:
    figures = {}
    for name, archive in SETS.items():
        docs = list(iter_gold(real_data / "abbreviations" / f"{archive}.tar.gz"))
        figures[name] = (f1(docs, find_abbreviations), f1(docs, plain_schwartz_hearst))
    assert figures["ab3p"][0] >= 0.89
    assert all(ours > plain for ours, plain in figures.values()), figures
    # The baseline, plain Schwartz-Hearst, must reproduce its published quality.
    assert all(
        figures[name][1] >= low for name, low in {"ab3p": 0.84, "bioadi": 0.83, "medstract": 0.92, "sh": 0.83}.items()
    ), figures


def test_finds_definition_after_many_brackets() -> None:
    text = "(MI) " * 500 + "Myocardial infarction (MI) is common. " + "'" * 5_000 + "AB (acid of beta)"
    assert [(found.short, found.long) for found in find_abbreviations(text)][:1] == [("MI", "Myocardial infarction")]


def test_letters_are_not_turned_over_a_preposition() -> None:
    found = Abbreviations.from_text("A man with type 2 diabetes (T2DM) was seen.")
    assert found.expand("T2DM") is None, "man is no part of it"
