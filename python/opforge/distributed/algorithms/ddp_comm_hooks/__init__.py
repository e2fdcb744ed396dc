"""What is done with gradients instead of averaging them."""
