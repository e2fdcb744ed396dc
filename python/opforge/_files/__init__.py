"""What files hold: containers of tensors, in safetensors and in PyTorch's format."""
