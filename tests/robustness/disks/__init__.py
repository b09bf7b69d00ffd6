"""Disks that fail, flip bits or lose power, and builds that are killed."""
