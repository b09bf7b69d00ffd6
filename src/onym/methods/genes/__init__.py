"""Genes and organisms: links gene names to genes of the right species, and names of species and cell lines to their ids.

One gene name stands for many genes, one or more in each species. Trees first give each species a probability, by what the text
around the mention says; other trees then choose among the genes of that name, with the species as one feature. Species and cell
lines themselves are chosen by one set of trees.

| module | has |
|---|---|
| `linker`, `organism_linker` | the linkers `genes` and `organisms` |
| `names`, `keys`, `index` | keys of names (punctuation, Greek letters), and the names of the knowledge base by key |
| `organisms`, `organisms.toml` | organisms, strains and cell lines in texts |
| `reading`, `species`, `features` | what a document says of a gene mention; features of species and of genes |
| `taxa`, `taxon_features` | what a mention of a species or cell line may mean; its features |
| `model`, `taxon_model` | the folders of trained models |

Use them through `by_type`, for texts with genes. `onym.train.genes` trains both (`onym train genes`, `organisms`).
"""
