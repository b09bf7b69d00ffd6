"""The names of some concepts as points in a plane, as an encoder sees them (after SapBERT's figure 1).

choice     which concepts, and which of their names
nearness   how well the names of a concept cluster, and the points
labels     positions of labels that do not cover each other
plot       the drawing, by matplotlib (`onym[report]`)
picture    all of it: from a knowledge base and encoders to a file
"""
