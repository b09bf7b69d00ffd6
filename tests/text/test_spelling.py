"""Tests of other forms of names: British and American spelling, singular and plural."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onym.text.spelling import other_forms, other_spellings, respellings

PAIRS = (
    "leukaemia leukemia|anaemic anemic|oesophageal esophageal|apnoea apnea|tumour tumor|haemorrhage hemorrhage|"
    "paediatric pediatric|diarrhoea diarrhea|oedema edema|lymphoedema lymphedema|foetal fetal|anaesthesia anesthesia|"
    "coeliac celiac|gynaecomastia gynecomastia|sulphate sulfate|oestrogen estrogen|goitre goiter|fibre fiber|"
    "behavioural behavioral|generalised generalized|faecal fecal|naevus nevus|aetiology etiology|leucocyte leukocyte"
)


@pytest.mark.parametrize("pair", PAIRS.split("|"))
def test_british_and_american_spelling_are_forms_of_each_other(pair: str) -> None:
    british, american = pair.split()
    assert respellings(british) == (american,)
    assert respellings(american) == (british,)
    assert f"acute {american}" in other_forms(f"acute {british}")
    assert f"{american} attack" in other_spellings(f"{british} attack")


@pytest.mark.parametrize("word", ["haemophilus influenzae", "tumours", "leukaemias"])
def test_number_and_spelling_together(word: str) -> None:
    assert all(word in other_forms(form) for form in other_forms(word))


@pytest.mark.parametrize("word", ["fever", "doctor", "gas", "toes", "il2", "heart"])
def test_other_words_have_one_spelling(word: str) -> None:
    assert respellings(word) == ()


WORDS = st.sampled_from(
    ["oedema", "tumor", "tumours", "haemo", "anaemia", "of", "the", "cyst", "cysts", "sulphur", "foetus", "nevi", "as", "b12"]
)


@given(st.lists(WORDS, min_size=1, max_size=6).map(" ".join))
def test_forms_are_symmetric(name: str) -> None:
    for form in other_forms(name):
        assert form != name
        assert name in other_forms(form)


def test_names_with_very_many_spellings_change_the_last_word_only() -> None:
    name = " ".join(["oedema"] * 5)
    assert all(form.startswith("oedema oedema oedema oedema ") for form in other_forms(name))
