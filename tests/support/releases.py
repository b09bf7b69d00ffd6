"""Small made-up releases in the layout of every format, for fuzzing and tests. Imports nothing from the project.

`SAMPLES[format]` holds releases; a release is a mapping from file name to bytes.
"""

# ruff: noqa: E501 - long data rows

from __future__ import annotations

Release = dict[str, bytes]

_UMLS: Release = {
    "META/MRCONSO.RRF": (
        b"C9000001|ENG|P|L9000001|PF|S9000001|Y|A9000001||M1|D900001|MSH|MH|D900001|Glucoquine|0|N|256|\n"
        b'C9000001|ENG|S|L9000002|VO|S9000002|N|A9000002|||| NCI|SY|X1|"Unbalanced quote, acid|0|N||\n'
        b"C9000001|SPA|P|L9000003|PF|S9000003|Y|A9000003||||MSHSPA|MH|D900001|Glucoquina|3|N||\n"
        b"C9000001|ENG|S|L9000004|PF|S9000004|Y|A9000004||||NCI|AB|X2|GQ|0|N||\n"
        b"C9000001|ENG|S|L9000005|PF|S9000005|Y|A9000005||||SNOMEDCT_US|OAP|9|Glucoquine (obsolete)|9|O||\n"
        b"C9000002|ENG|P|L9000006|PF|S9000006|Y|A9000006||||RXNORM|BN|9|Brandoquin|0|N||\n"
    ),
    "META/MRSTY.RRF": b"C9000001|T121|A1.4.1.1.1|Pharmacologic Substance|AT90000001|256|\nC9000001|T109|A1.4.1.2.1|Organic Chemical|AT90000002||\n",
    "META/MRDEF.RRF": b'C9000001|A9000001|AT90000003||MSH|A "made up" substance.|N||\nC9000001|A9000002|AT90000004||NCI|An old text.|O||\n',
    "META/MRREL.RRF": (
        b"C9000002|A9000006|AUI|RN|C9000001|A9000001|AUI|has_tradename|R90000001||RXNORM|RXNORM|||N|4096|\n"
        b"C9000001|A9000001|AUI|RB|C9000002|A9000006|AUI|tradename_of|R90000002||RXNORM|RXNORM|||N|4096|\n"
    ),
    "META/MRCUI.RRF": b"C9000009|2020AA|SY|||C9000001|Y|\nC9000008|2019AB|DEL||||N|\nC9000007|2018AA|RB|||C9000001|Y|\n",
}

_SNOMED_FOLDER = "SnomedCT_Made_20260101/Snapshot/"
_SNOMED: Release = {
    _SNOMED_FOLDER + "Terminology/sct2_Concept_Snapshot_INT_20260101.txt": (
        b"id\teffectiveTime\tactive\tmoduleId\tdefinitionStatusId\r\n"
        b"900100001\t20260101\t1\t900000000000207008\t900000000000074008\r\n"
        b"900200005\t20260101\t0\t900000000000207008\t900000000000074008\r\n"
        b"900300008\t20260101\t0\t900000000000207008\t900000000000074008\r\n"
    ),
    _SNOMED_FOLDER + "Terminology/sct2_Description_Snapshot-en_INT_20260101.txt": (
        b"id\teffectiveTime\tactive\tmoduleId\tconceptId\tlanguageCode\ttypeId\tterm\tcaseSignificanceId\r\n"
        b"9101\t20260101\t1\t900000000000207008\t900100001\ten\t900000000000003001\tMade-up fever (disorder)\t900000000000448009\r\n"
        b'9102\t20260101\t1\t900000000000207008\t900100001\ten\t900000000000013009\t"Made-up" fever\t900000000000448009\r\n'
        b'9103\t20260101\t1\t900000000000207008\t900100001\ten\t900000000000013009\tFever, 5" made up\t900000000000448009\r\n'
        b"9104\t20260101\t0\t900000000000207008\t900100001\ten\t900000000000013009\tWithdrawn fever\t900000000000448009\r\n"
        b"9105\t20260101\t1\t900000000000207008\t900200005\ten\t900000000000013009\tName of an inactive one\t900000000000448009\r\n"
    ),
    _SNOMED_FOLDER + "Terminology/sct2_TextDefinition_Snapshot-en_INT_20260101.txt": (
        b"id\teffectiveTime\tactive\tmoduleId\tconceptId\tlanguageCode\ttypeId\tterm\tcaseSignificanceId\r\n"
        b"9201\t20260101\t1\t900000000000207008\t900100001\ten\t900000000000550004\tA rise that nobody has.\t900000000000448009\r\n"
    ),
    _SNOMED_FOLDER + "Refset/Language/der2_cRefset_LanguageSnapshot-en_INT_20260101.txt": (
        b"id\teffectiveTime\tactive\tmoduleId\trefsetId\treferencedComponentId\tacceptabilityId\r\n"
        b"a1\t20260101\t1\t900000000000207008\t900000000000509007\t9102\t900000000000548007\r\n"
        b"a2\t20260101\t1\t900000000000207008\t900000000000509007\t9103\t900000000000549004\r\n"
    ),
    _SNOMED_FOLDER + "Refset/Content/der2_cRefset_AssociationSnapshot_INT_20260101.txt": (
        b"id\teffectiveTime\tactive\tmoduleId\trefsetId\treferencedComponentId\ttargetComponentId\r\n"
        b"b1\t20260101\t1\t900000000000207008\t900000000000526001\t900200005\t900100001\r\n"
        b"b2\t20260101\t1\t900000000000207008\t900000000000524003\t900300008\t370137002\r\n"
    ),
}

_MESH_DESC: Release = {
    "desc2026.xml": b"""<?xml version="1.0"?>
<!DOCTYPE DescriptorRecordSet SYSTEM "https://www.nlm.nih.gov/databases/dtd/nlmdescriptorrecordset_20260101.dtd">
<DescriptorRecordSet LanguageCode = "eng">
<DescriptorRecord DescriptorClass = "1">
 <DescriptorUI>D900001</DescriptorUI>
 <DescriptorName><String>Made-up Fever</String></DescriptorName>
 <TreeNumberList><TreeNumber>C23.888.119</TreeNumber><TreeNumber>C01.100</TreeNumber></TreeNumberList>
 <ConceptList>
  <Concept PreferredConceptYN="Y"><ConceptUI>M9000001</ConceptUI>
   <ConceptName><String>Made-up Fever</String></ConceptName>
   <ScopeNote>A rise of temperature &amp; of doubt.
    </ScopeNote>
   <SemanticTypeList><SemanticType><SemanticTypeUI>T184</SemanticTypeUI></SemanticType></SemanticTypeList>
   <TermList>
    <Term ConceptPreferredTermYN="Y" IsPermutedTermYN="N" LexicalTag="NON" RecordPreferredTermYN="Y">
     <TermUI>T900001</TermUI><String>Made-up Fever</String></Term>
    <Term ConceptPreferredTermYN="N" IsPermutedTermYN="N" LexicalTag="ABB" RecordPreferredTermYN="N">
     <TermUI>T900002</TermUI><String>MUF</String></Term>
   </TermList>
  </Concept>
 </ConceptList>
</DescriptorRecord>
</DescriptorRecordSet>
"""
}

_MESH_SUPP: Release = {
    "supp2026.xml": b"""<?xml version="1.0" encoding="UTF-8"?>
<SupplementalRecordSet LanguageCode = "eng">
<SupplementalRecord SCRClass = "1">
 <SupplementalRecordUI>C900001</SupplementalRecordUI>
 <SupplementalRecordName><String>glucoquine</String></SupplementalRecordName>
 <Note>made-up substance; structure given</Note>
 <HeadingMappedToList><HeadingMappedTo><DescriptorReferredTo><DescriptorUI>*D900001</DescriptorUI>
  <DescriptorName><String>Made-up Fever</String></DescriptorName></DescriptorReferredTo></HeadingMappedTo></HeadingMappedToList>
 <ConceptList><Concept PreferredConceptYN="Y"><ConceptUI>M9000002</ConceptUI><ConceptName><String>glucoquine</String></ConceptName>
  <TermList><Term LexicalTag="NON" RecordPreferredTermYN="Y"><TermUI>T1</TermUI><String>glucoquine</String></Term>
   <Term LexicalTag="TRD" RecordPreferredTermYN="N"><TermUI>T2</TermUI><String>Brandoquin</String></Term></TermList></Concept></ConceptList>
</SupplementalRecord>
</SupplementalRecordSet>
"""
}

_MESH_ASCII: Release = {
    "d2026.bin": (
        b"*NEWRECORD\r\nRECTYPE = D\r\nMH = Made-up Fever\r\nAQ = BL CF\r\n"
        b"PRINT ENTRY = Doubtful Fever|T184|NON|EQV|NLM (1998)|970109|abcdef\r\n"
        b"ENTRY = MUF|T184|ABB|EQV|NLM (1998)|970109|abcdef\r\nENTRY = Fever, Made-up\r\n"
        b"MN = C23.888.119\r\nMN = C01.100\r\nST = T184\r\nMS = A rise of temperature = doubt.\r\nUI = D900001\r\n\r\n"
        b"*NEWRECORD\r\nRECTYPE = D\r\nMH = Other\r\nUI = D900002\r\n"
    )
}
_MESH_ASCII_SUPP: Release = {
    "c2026.bin": b"*NEWRECORD\nRECTYPE = C\nNM = glucoquine\nRN = 0\nSY = Brandoquin|T109|T121|TRD|NRW|NLM (1990)|900101|abbcdef\n"
    b"HM = *Made-up Fever\nNO = made-up substance\nST = T109\nUI = C900001\n"
}

_CTD: Release = {
    "CTD_diseases.tsv": (
        b"# The Comparative Toxicogenomics Database (CTD) - http://ctdbase.org/\n# Fields:\n"
        b"# DiseaseName\tDiseaseID\tAltDiseaseIDs\tDefinition\tParentIDs\tTreeNumbers\tParentTreeNumbers\tSynonyms\tSlimMappings\n#\n"
        b'Made-up Fever\tMESH:D900001\tDO:DOID:900001|OMIM:900100\tA rise "of doubt".\tMESH:D900002\tC23.888.119|C01.100/D900001\tC23.888'
        b"\tDoubtful Fever|Fever, Made-up\tSigns and symptoms\n"
        b"Other\tOMIM:900200\t\t\t\t\t\t\t\n"
    )
}
_MEDIC: Release = {
    "medic_made_up.txt": b"D900001|900100||Made-up Fever|Doubtful Fever|MUF\nC900001||Glucoquine Poisoning\r\n900200|D900003||Other\n"
}

_GENE_HEADER = (
    b"#tax_id\tGeneID\tSymbol\tLocusTag\tSynonyms\tdbXrefs\tchromosome\tmap_location\tdescription\ttype_of_gene\t"
    b"Symbol_from_nomenclature_authority\tFull_name_from_nomenclature_authority\tNomenclature_status\tOther_designations\t"
    b"Modification_date\tFeature_type\n"
)
_GENE_INFO: Release = {
    "gene_info": (
        _GENE_HEADER
        + b"9606\t900001\tMUG1\t-\tGQR|p90\tMIM:900100|HGNC:HGNC:90001|AllianceGenome:HGNC:90001\t19\t19q13\tmade up gene 1\tprotein-coding"
        b"\tMT-MUG1\tmade-up gene 1\tO\tglucoquine receptor|hypothetical protein\t20260101\t-\n"
        b"10090\t900002\tMug1\tMU_0001\t-\t-\t1\t-\t-\tncRNA\t-\t-\t-\t-\t20260101\t-\n"
        b"9606\t900003\tNEWENTRY\t-\t-\t-\t-\t-\tRecord to support submission of GeneRIFs\tother\t-\t-\t-\t-\t20260101\t-\n"
    ),
    "gene_history": (
        b"#tax_id\tGeneID\tDiscontinued_GeneID\tDiscontinued_Symbol\tDiscontinue_Date\n"
        b"9606\t900001\t900008\tMUGX\t20250508\n10090\t-\t900009\tMugy\t20240101\n"
    ),
}
_GENE_SYNONYMS: Release = {"10090.txt": b"900002|Mug1|GQR|p90\n900004|Mug2\n"}

_TAXDUMP: Release = {
    "names.dmp": (
        b"1\t|\troot\t|\t\t|\tscientific name\t|\n"
        b"90001\t|\tHomo doubtful\t|\t\t|\tscientific name\t|\n"
        b"90001\t|\tdoubter | man\t|\tdoubter <primate>\t|\tgenbank common name\t|\n"
        b"90001\t|\tHomo doubtful Linnaeus, 1758\t|\t\t|\tauthority\t|\n"
        b'90001\t|\t"Homo dubious"\t|\t\t|\tsynonym\t|\n'
        b"90001\t|\tHD\t|\t\t|\tacronym\t|\n"
        b"90001\t|\tprimates\t|\t\t|\tblast name\t|\n"
    ),
    "nodes.dmp": (
        b"1\t|\t1\t|\tno rank\t|\t\t|\t8\t|\t0\t|\t1\t|\t0\t|\t0\t|\t0\t|\t0\t|\t0\t|\t\t|\n"
        b"90001\t|\t1\t|\tspecies\t|\tHD\t|\t5\t|\t1\t|\t1\t|\t1\t|\t2\t|\t1\t|\t1\t|\t0\t|\t\t|\n"
    ),
    "merged.dmp": b"90008\t|\t90001\t|\n",
    "delnodes.dmp": b"90009\t|\n",
}

_CELLOSAURUS: Release = {
    "cellosaurus.txt": b"""----------------------------------------------------------------------------
 Description: Cellosaurus: a knowledge resource on cell lines
 Version: 90.0
____________________________________________________________________________
ID   MadeUp-9
AC   CVCL_9001
AS   CVCL_9008; CVCL_9009
SY   MADEUP9; Made Up 9
DR   BTO; BTO:0009001
DR   CLO; CLO_0009001
DR   ATCC; MUL-9
CC   Doubling time: 90 hours.
DI   NCIt; C900001; Made-up carcinoma
OX   NCBI_TaxID=9606; ! Homo sapiens (Human)
OX   NCBI_TaxID=10090; ! Mus musculus (Mouse)
HI   CVCL_9002 ! MadeUp
SX   Female
CA   Hybrid cell line
DT   Created: 04-04-12; Last updated: 02-05-26; Version: 9
//
ID   MadeUp
AC   CVCL_9002
OX   NCBI_TaxID=9606; ! Homo sapiens
CA   Cancer cell line
//
""",
    "cellosaurus_deleted_ACs.txt": b""" Description: Cellosaurus: deleted accession numbers

CVCL_9006  Was never publicly available
CVCL_9007  Deleted in release 20; not a real cell line (MU)
""",
}
_CELLOSAURUS_OBO: Release = {
    "cellosaurus.obo": b"""format-version: 1.2
default-namespace: cellosaurus
ontology: Cellosaurus

[Term]
id: CVCL_9001
name: MadeUp-9
synonym: "MADEUP9" RELATED []
subset: Hybrid_cell_line
xref: ATCC:MUL-9
xref: NCBI_TaxID:9606 ! Homo sapiens (Human)
relationship: derived_from CVCL_9002 ! MadeUp
relationship: originate_from_same_individual_as CVCL_9003 ! Other
"""
}

_OBO: Release = {
    "made.obo": rb"""format-version: 1.2
data-version: made/2026-01-01
synonymtypedef: abbreviation "abbreviation"

[Term]
id: MADE:0000001 ! the first
name: Made-up fever, 5\" \{high\} {source="MADE:x"} ! a comment
alt_id: MADE:0000009
def: "A rise [of \"doubt\"]\, see\n[1]." [MADE:curators "a [b] c", PMID:1] {source="x"}
synonym: "Doubtful fever [old]" EXACT []
synonym: "MUF" EXACT abbreviation [MADE:1, MADE:2] {source="x"} ! said
synonym: "Rise" BROAD
synonym: "C6H6" RELATED FORMULA [KEGG COMPOUND:]
exact_synonym: "Old form" []
xref: UMLS:C9000001 {source="MADE:equivalentTo"}
xref: KEGG COMPOUND:C00001 "KEGG COMPOUND"
xref: http://en.wikipedia.org/wiki/Made_up
is_a: MADE:0000002 ! Other

[Term]
id: MADE:0000003
name: obsolete Old fever
is_obsolete: true
replaced_by: MADE:0000001 ! Made-up fever

[Typedef]
id: part_of
name: part of
"""
}

_OBOGRAPH: Release = {
    "made.json": b"""{"graphs": [{"id": "http://purl.obolibrary.org/obo/made.owl", "meta": {"version": "2026"}, "nodes": [
 {"id": "http://purl.obolibrary.org/obo/MADE_0000001", "lbl": "Made-up fever", "type": "CLASS", "meta": {
  "definition": {"val": "A rise of doubt.", "xrefs": ["PMID:1"]},
  "synonyms": [{"pred": "hasExactSynonym", "val": "Doubtful fever", "xrefs": []},
   {"pred": "hasExactSynonym", "val": "MUF", "synonymType": "http://purl.obolibrary.org/obo/OMO_0003000"}],
  "xrefs": [{"val": "UMLS:C9000001"}],
  "basicPropertyValues": [{"pred": "http://www.geneontology.org/formats/oboInOwl#hasAlternativeId", "val": "MADE:0000009"}]}},
 {"id": "http://purl.obolibrary.org/obo/MADE_0000003", "lbl": "obsolete Old fever", "type": "CLASS", "meta": {"deprecated": true,
  "basicPropertyValues": [{"pred": "http://purl.obolibrary.org/obo/IAO_0100001", "val": "http://purl.obolibrary.org/obo/MADE_0000001"}]}},
 {"id": "http://purl.obolibrary.org/obo/BFO_0000050", "lbl": "part of", "type": "PROPERTY"}],
 "edges": [{"sub": "a", "pred": "is_a", "obj": "b"}]}]}"""
}

_ENTITY_LINES: Release = {
    "kb.jsonl": b"""{"concept_id": "C9000001", "aliases": ["GQ", "Glucoquine \\u00e4"], "types": ["T121"], "canonical_name": "Glucoquine", "definition": "Made up."}
{"concept_id": "MESH:D900001", "aliases": [], "types": [], "canonical_name": "Made-up Fever"}
"""
}
_ENTITY_LIST: Release = {
    "kb.json": b'[{"concept_id": "C9000001", "aliases": ["GQ"], "types": ["T121"], "canonical_name": "Glucoquine", "xrefs": ["MESH:D900001"]}]'
}

_KEYED: Release = {
    "MADE-ontology-v1.json": b"""{"MADE:0000001": {"ancestors": {"MADE:0000002": 1}, "label": "Made-up fever", "description": "A rise.",
 "synonyms": ["Doubtful fever"], "deprecated": false}, "MADE:0000003": {"ancestors": {}, "label": "", "deprecated": true,
 "replaced_by": "MADE:0000001"}, "CVCL_9001": {"label": "Line"}}"""
}
_LISTED: Release = {
    "made.json": b"""[{"id": "0000001", "name": "Made-up fever", "namespace": "made", "synonyms": ["Doubtful fever"],
 "xrefs": [{"id": "C9000001", "namespace": "UMLS"}, {"id": "HP:1", "namespace": "HP"}], "alt_ids": ["0000009"]}]"""
}

_GENBIOEL: Release = {
    "target_kb.json": b'{"D900001": ["made up fever", "muf"], "C9000001": ["glucoquine"], "900100": ["other"]}'
}

_MESH_TABLE: Release = {
    "mesh_id_label_mappings.tsv": (
        b'D900001\tMade-up Fever\t"Doubtful ""old"" Fever|Fever, Made-up"\tC23.888.119|C01.100\t\nD900002\tOther\t\tC01\t9606\n'
    )
}
_MESH_TABLE_SUPP: Release = {
    "mesh_supp_id_label_mappings.tsv": b"C900001\tglucoquine\tBrandoquin|GQ\tD900001\nC900002\tother\t\t\n"
}

_MESH_MAPPINGS: Release = {
    "mesh_mappings.tsv": (
        b"MESH\tC900001\tglucoquine\tCHEBI\tCHEBI:900001\tglucoquine\nMESH\tC900003\tMUP1 protein, human\tUP\tP90001\tMUP1\n"
    )
}
_MESH_CAS: Release = {"mesh_cas_mappings.tsv": b"C900001\t900-01-6\nC900003\t9000-02-1\n"}

_BIOSYN: Release = {
    "train_dictionary.txt": b"D900001||made up fever\nD900001|900100||doubtful fever\nD900001+D900002||fever and other\nC900001|D900003|D900001+D900002||mix\n"
}

_TABLE: Release = {
    "made.tsv": (
        b"id\tname\tsynonyms\tdefinition\ttypes\txrefs\tlanguage\tsource\tkind\treplaced_by\n"
        b'MADE:1\t"Made-up ""high"" fever"\tDoubtful fever|MUF\t"A rise\nof doubt."\tC23|C01\tUMLS:C9000001|mesh:D900001\ten\tmade\tpreferred\t\n'
        b"MADE:3\tOld fever\t\t\t\t\ten\tmade\tretired\tMADE:1\n"
    )
}
_CSV: Release = {
    "made.csv": b'code,label,aliases\r\n1,"Fever, made up",MUF|Doubt\r\nhttps://id.nlm.nih.gov/mesh/D900001,"Line\nbreak",\r\n'
}

_HGNC: Release = {
    "hgnc_complete_set.txt": (
        b"hgnc_id\tsymbol\tname\tlocus_group\tstatus\talias_symbol\talias_name\tprev_symbol\tprev_name\tentrez_id\tensembl_gene_id\tomim_id\n"
        b'HGNC:900001\tMUG1\tmade-up gene 1\tprotein-coding gene\tApproved\t"GQR|p90"\t\tOLD1\t"old gene, 1"\t900002\tENSG1\t"900100|900101"\n'
        b"HGNC:900002\tMUG2\tmade-up gene 2\tpseudogene\tEntry Withdrawn\t\t\t\t\t\t\t\n"
    )
}

_ICD10CM: Release = {
    "icd10cm_tabular_2026.xml": b"""<?xml version="1.0" encoding="utf-8"?>
<ICD10CM.tabular>
 <version>2026</version>
 <introduction><introSection type="title"><title>TABULAR LIST</title></introSection></introduction>
 <chapter>
  <name>1</name>
  <desc>Made-up diseases (A00-B99)</desc>
  <sectionIndex><sectionRef first="A00" last="A09" id="A00-A09">Fevers</sectionRef></sectionIndex>
  <section id="A00-A09">
   <desc>Fevers (A00-A09)</desc>
   <diag><name>A00</name><desc>Made-up fever</desc>
    <inclusionTerm><note>MUF</note><note>Fever, made-up</note></inclusionTerm>
    <excludes1><note>real fever (R50.9)</note></excludes1>
    <sevenChrDef><extension char="A">initial encounter</extension></sevenChrDef>
    <diag><name>A00.0</name><desc>Made-up fever of the &lt;first&gt; kind</desc></diag>
    <diag><name>A00.8</name><desc>Other made-up fever</desc><inclusionTerm><note>Fever of paper</note></inclusionTerm></diag>
   </diag>
  </section>
  <section id="A00-A03">
   <desc>Some fevers (A00-A03)</desc>
   <diag placeholder="true"><name>A03</name><desc>Fever of ink</desc></diag>
  </section>
 </chapter>
</ICD10CM.tabular>
"""
}
_RXNORM: Release = {
    "rrf/RXNCONSO.RRF": (
        b"900001|ENG||||||9000001|9000001|900001||RXNORM|IN|900001|glucoquine||N|4096|\n"
        b"900002|ENG||||||9000002|9000002|900002||RXNORM|BN|900002|Brandoquin||N|4096|\n"
        b"900003|ENG||||||9000003|9000003|900003||RXNORM|SCD|900003|glucoquine 5 MG Oral Tablet||N|4096|\n"
        b"900003|ENG||||||9000004|9000004|900003||RXNORM|PSN|900003|glucoquine 5 mg tablet||N|4096|\n"
        b'900003|ENG||||||9000005|9000005|||MTHSPL|DP|1-2|GLUCOQUINE "5"|9|N||\n'
        b"900003|ENG||||||9000006|9000006|||VANDF|AB|4|GQ 5MG TAB|0|O||\n"
        b"900004|ENG||||||9000007|9000007|900004||RXNORM|SCDF|900004|glucoquine Oral Tablet||N|4096|\n"
    ),
    "rrf/RXNSTY.RRF": b"900001|T121|A1.4.1.1.1|Pharmacologic Substance|AT9||\n",
    "rrf/RXNREL.RRF": (
        b"900002||CUI|RN|900001||CUI|has_tradename|1||RXNORM|||||4096|\n"
        b"900001||CUI|RB|900002||CUI|tradename_of|2||RXNORM|||||4096|\n"
        b"900004||CUI|RN|900003||CUI|isa|3||RXNORM|||||4096|\n"
        b"900003||CUI|RB|900004||CUI|inverse_isa|4||RXNORM|||||4096|\n"
        b"|9000001|AUI|RO||9000002|AUI|isa|5||MTHSPL|||||4096|\n"
    ),
}

SAMPLES: dict[str, tuple[Release, ...]] = {
    "umls": (_UMLS,),
    "rxnorm": (_RXNORM,),
    "icd10cm": (_ICD10CM,),
    "snomed": (_SNOMED,),
    "mesh_xml": (_MESH_DESC, _MESH_SUPP),
    "mesh_ascii": (_MESH_ASCII, _MESH_ASCII_SUPP),
    "ctd": (_CTD, _MEDIC),
    "ncbi_gene": (_GENE_INFO,),
    "hgnc": (_HGNC,),
    "gene_synonyms": (_GENE_SYNONYMS,),
    "taxdump": (_TAXDUMP,),
    "cellosaurus": (_CELLOSAURUS,),
    "obo": (_OBO, _CELLOSAURUS_OBO),
    "obograph": (_OBOGRAPH,),
    "entity_jsonl": (_ENTITY_LINES, _ENTITY_LIST),
    "ontology_json": (_KEYED, _LISTED),
    "genbioel": (_GENBIOEL,),
    "mesh_table": (_MESH_TABLE, _MESH_TABLE_SUPP),
    "mesh_mappings": (_MESH_MAPPINGS, _MESH_CAS),
    "biosyn": (_BIOSYN,),
    "table": (_TABLE, _CSV),
}
