"""The layout of a KnowledgeBase artefact: which columns there are and what points where.

concepts        the ids, sorted                     concept.terms     where a concept's terms begin
names           the normalised names, sorted        name.concepts     name -> concepts
term.name       term -> name                        term.form         as the source wrote it
term.kind       NameKind                            term.language     -> languages
term.sources    term -> sources                     concept.types     concept -> types
concept.definitions, concept.xrefs                  aliases           other ids, sorted
alias.concept   alias -> concept, or NO_CONCEPT     alias.kind        AliasKind
concept.aliases concept -> aliases

Only if the recipe asks for them:

concept.groups  concept -> groups                   alias.rule        JoinRule, or NO_RULE where nothing was joined
term.lent       1: a name of joined concepts of other vocabularies alone
"""

KIND = "onym-kb"
FORMAT = 1
NO_CONCEPT = 0xFFFFFFFF
NO_RULE = 0xFF
