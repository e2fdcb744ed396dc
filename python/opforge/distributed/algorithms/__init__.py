"""Ways of exchanging gradients."""
