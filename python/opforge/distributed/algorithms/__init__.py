"""What is done around collective calls: hooks of gradients, averages of models, uneven inputs."""
