"""rotary-embedding-torch: rotations of queries and keys by their positions."""

import models
from rotary_embedding_torch import RotaryEmbedding, apply_rotary_emb, broadcat

PACKAGE = "rotary-embedding-torch"


def _rotated(**options):
    def run():
        rotary = RotaryEmbedding(dim=8, **options)
        query = models.normal(2, 3, 6, 16).requires_grad_()
        turned = rotary.rotate_queries_or_keys(query)
        (turned * models.uniform(*turned.shape)).sum().backward()
        return models.arrays([turned, query.grad, rotary.freqs])

    return run


def _scaled():
    rotary = RotaryEmbedding(dim=8, use_xpos=True)
    return models.arrays(rotary.rotate_queries_and_keys(models.normal(2, 3, 6, 8), models.normal(2, 3, 6, 8, name="keys")))


def _cached():
    rotary = RotaryEmbedding(dim=8)
    return models.arrays(rotary.rotate_queries_with_cached_keys(models.normal(1, 2, 1, 8), models.normal(1, 2, 5, 8, name="keys")))


def _axial():
    rotary = RotaryEmbedding(dim=8, freqs_for="pixel", max_freq=10)
    frequencies = rotary.get_axial_freqs(4, 5)
    return models.arrays(
        [frequencies, apply_rotary_emb(frequencies, models.normal(2, 4, 5, 16)), broadcat([models.normal(4, 1, 3), models.normal(1, 5, 3)])]
    )


def _learned():
    rotary = RotaryEmbedding(dim=8, learned_freq=True)
    turned = rotary.rotate_queries_or_keys(models.normal(2, 3, 6, 8))
    (turned * models.uniform(*turned.shape)).sum().backward()
    return models.arrays([turned, rotary.freqs.grad])


CASES = {
    "language": _rotated(),
    "interpolated": _rotated(interpolate_factor=2.0),
    "of longer contexts": _rotated(theta_rescale_factor=4.0),
    "xPos": _scaled,
    "cached keys": _cached,
    "axial": _axial,
    "learned": _learned,
}
