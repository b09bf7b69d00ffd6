"""Checks of untrusted files by format, whoever reads them: Parquet, msgpack, deflate streams, tokenizer.json."""
