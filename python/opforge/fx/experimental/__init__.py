"""Names of PyTorch's tracers of operators. opforge's is `opforge.graph`."""
