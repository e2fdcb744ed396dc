"""A file for each package: `PACKAGE` is its name on PyPI, `CASES` are functions that give arrays, by their names."""
