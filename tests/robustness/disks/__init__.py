"""Suites of storage: failing disks, flipped bits, power cuts and killed builds."""
