"""The table of official addresses."""

from __future__ import annotations

from onym.kb.releases import RELEASES


def test_each_release_has_a_licence_and_either_addresses_or_advice() -> None:
    for name, release in RELEASES.items():
        assert name == release.name
        assert release.licence
        assert bool(release.urls) != bool(release.how)
        assert all(url.startswith("https://") for url in release.urls)
