"""Formats that hospitals exchange: FHIR's CodeableConcept and ConceptMap, OMOP's note_nlp and source_to_concept_map."""
