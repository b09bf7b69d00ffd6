"""Words that are names of concepts, and mentions only in some contexts. The filter of names uses them without a classifier."""

from __future__ import annotations


def _words(words: str) -> frozenset[str]:
    return frozenset(words.split())


GENERAL_WORDS = _words(
    "abnormalities abnormality acid acids agent agents anomalies anomaly antigen antigens base bases "
    "cell cells chemical chemicals complex compound compounds condition conditions defect defects "
    "deficiencies deficiency disease diseases disorder disorders drug drugs enzyme enzymes ester esters factor "
    "factors finding findings gene genes illness illnesses ion ions lesion lesions "
    "medication medications medicine medicines metabolism molecule molecules organ organs "
    "peptide peptides pharmaceuticals poison product products protein proteins "
    "receptor receptors salt salts sickness sign signs solution solutions solvent solvents substance substances "
    "symptom symptoms syndrome syndromes system therapeutic therapeutics tissue tissues treatment vaccine vaccines "
    "virus viruses"
)
"""Words that are too general to name a concept alone."""

ORDINARY_WORDS = _words(
    "acute affect age aged aging aim all alpha aspect associated bar beta blood call can chance change charge "
    "chronic clear clinical common congenital contact control course crisis cut delta diet distal early end "
    "episodic event exercise exposure face fall familial family feeling fit focal form frequent gamma gap general "
    "generalized genetic gold grade growth hard heat hereditary ice impact inheritance juvenile late lead length "
    "level light localized lung mean middle mild minor mixed moderate mutation negative nerve normal "
    "ocular onset open oral pair partial persistent plan position positive power pressure prevalence primary profound "
    "progress progressive proximal pure rare recurrent region renal response rest right risk role secondary severe "
    "severity silent sleep slow smell smoke soap soft speed sporadic stable stage static strain strength "
    "stress study sudden tail target taste thin thing tin trait transient trigger type unilateral variable "
    "variant vertical vision water weight white whole work"
)
"""Ordinary English words that are names by accident."""
