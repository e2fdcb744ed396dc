"""What tensors have that is written in Python."""
