"""What judges exports: fhir.resources for FHIR, pyomop's tables for OMOP, and broken files that both must refuse."""
