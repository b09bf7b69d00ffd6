from __future__ import annotations

import pytest

from onym.train.samples.clauses import DEFINED, SINGLE, SYNONYMS, clause_of, templates_for

TABLE_10 = {
    DEFINED: ["M is defined as C", "M is described as C", "C are the definitions of M", "C describe M", "C define M"],
    SYNONYMS: [
        "C are the synonyms of M",
        "C indicate the same concept as M",
        "M has synonyms such as C",
        "M refers to the same concepts as C",
    ],
    SINGLE: ["C is M", "C is the same as M", "M is C", "M is the same as C"],
}


@pytest.mark.parametrize("templates", TABLE_10)
def test_the_templates_are_those_of_the_paper(templates: tuple[str, ...]) -> None:
    assert [clause_of(template, "M", "C").text for template in templates] == TABLE_10[templates]


@pytest.mark.parametrize("template", [*DEFINED, *SYNONYMS, *SINGLE])
@pytest.mark.parametrize("context", ["a {mention} of {context} {} {0}", "heart {context}, heart {context}", ""])
def test_the_mention_is_where_the_clause_says(template: str, context: str) -> None:
    clause = clause_of(template, "heart {context}", context)
    assert clause.text[clause.start : clause.end] == "heart {context}"
    if template.startswith("{mention}"):
        assert clause.start == 0
        assert clause.text.endswith(f" {context}")
    else:
        assert clause.end == len(clause.text)
        assert clause.text.startswith(f"{context} ")


def test_what_a_concept_has_decides() -> None:
    assert templates_for(1, 1) == templates_for(3, 9) == DEFINED
    assert templates_for(0, 2) == templates_for(0, 9) == SYNONYMS
    assert templates_for(0, 1) == SINGLE
