"""Suites that try to break Onym: fuzzing, faults, kills, hostile files, odd surroundings, leaks; and checks of exactness."""
