"""Small models with random weights, tokenizers of their own and labelled sentences, for trying the other programs: `python -m small --help`."""
