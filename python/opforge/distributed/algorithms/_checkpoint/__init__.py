"""`distributed.algorithms._checkpoint`."""
