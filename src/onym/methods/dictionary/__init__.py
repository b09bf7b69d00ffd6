"""Dictionary: finds the names of the knowledge base in a text.

Text and names are normalised alike, and longer and longer phrases are looked up from each word on; of overlapping names the
longest is kept. Names that are ordinary words (*lead*, *all*) are left out by rules, or, better, by a logistic regression over
the name, its context, and what the knowledge base says of the name. The regression is trained on annotated documents, and its
features do not spell the name, so that it judges names that no corpus has.

| module | has |
|---|---|
| `detector` | the detector `dictionary`: the search, spelling variants, overlaps |
| `names` | names that are left out wherever they occur, and names with their words in another order |
| `classifier`, `facts` | the regression, and its features of names in the knowledge base |

Use it first with any vocabulary: it needs no training and explains each of its answers. `onym.train.dictionary` trains the
classifier (`onym train mentions`).
"""
