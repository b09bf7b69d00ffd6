"""What every fuzzer shares: ways to damage files, and processes that read the damaged ones."""
