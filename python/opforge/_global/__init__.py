"""Global tensors: tensors of all ranks of a program, of which each has a part."""
