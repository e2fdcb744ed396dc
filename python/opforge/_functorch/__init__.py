"""The few names of PyTorch's transforms that packages take from its insides. `opforge.func` has the transforms."""
