"""Checks of untrusted files by format: Parquet, msgpack, deflate streams, tokenizer.json."""
