"""Text from models of Llama's kind: `python -m decoder --help`."""
