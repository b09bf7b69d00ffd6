"""Where terminologies are published. These addresses cannot be reached from the machines that run the tests.

The download itself is tested against a local server; that an address still answers is for its user to see.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Release:
    """What can be downloaded, from where, and under which terms. `urls` may be empty: then `how` says what to do."""

    name: str
    title: str
    licence: str
    urls: tuple[str, ...] = ()
    how: str = ""


_MESH = "https://nlmpubs.nlm.nih.gov/projects/mesh/MESH_FILES/xmlmesh"

RELEASES = {
    release.name: release
    for release in (
        Release(
            "mesh",
            "Medical Subject Headings, descriptors and supplementary records",
            "US National Library of Medicine: free to use; name NLM as the source, the year, and that you modified it.",
            (f"{_MESH}/desc2026.gz", f"{_MESH}/supp2026.gz"),
        ),
        Release(
            "mondo",
            "Mondo Disease Ontology",
            "CC BY 4.0",
            ("https://github.com/monarch-initiative/mondo/releases/latest/download/mondo.obo",),
        ),
        Release(
            "hpo",
            "Human Phenotype Ontology",
            "HPO licence: free; cite it, show its version, do not alter its content.",
            ("https://github.com/obophenotype/human-phenotype-ontology/releases/latest/download/hp.obo",),
        ),
        Release(
            "umls",
            "UMLS Metathesaurus",
            "UMLS Metathesaurus License: personal, free, by application.",
            how="Apply for a licence at https://uts.nlm.nih.gov, sign in, download 'UMLS Metathesaurus Full Subset' (or run "
            "MetamorphoSys), then: onym kb build umls-YYYYAA-metathesaurus-full.zip -o umls-kb",
        ),
        Release(
            "snomed",
            "SNOMED CT",
            "SNOMED CT Affiliate Licence: free in member countries, through the national release centre.",
            how="Ask your national release centre (list: https://www.snomed.org/members; in the US https://uts.nlm.nih.gov) "
            "for the RF2 release, then: onym kb build SnomedCT_InternationalRF2_PRODUCTION_....zip -o snomed-kb",
        ),
    )
}
