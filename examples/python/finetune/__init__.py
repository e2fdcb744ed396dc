"""Lines sorted into classes by a head on an embeddings model: `python -m finetune --help`."""
