"""Functions that are composed of operators in Python, a file a subject; the package shows them under `opforge`, and imports each file when one of
its names is first used."""
