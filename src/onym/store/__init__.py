"""The only door to disk and network.

Reads hostile files within limits, publishes artefacts whole or not at all, maps them into memory. May import: errors.
Always true here: nothing is unpickled, nothing is fetched unless asked, no half-written file ever has a final name.
"""
