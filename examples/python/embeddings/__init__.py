"""Sentence embeddings with models of MiniLM's kind: `python -m embeddings --help`."""
