"""vector-quantize-pytorch: codebooks, residual and finite scalar quantizers."""

import models
import torch
import vector_quantize_pytorch as vq

PACKAGE = "vector-quantize-pytorch"


def _books(module):
    """The module with codebooks that depend on their names alone."""
    with torch.no_grad():
        for name, buffer in module.named_buffers():
            if name.rsplit(".", 1)[-1] in ("embed", "embed_avg", "frozen_codebook", "rand_quantizers", "rand_projs"):
                buffer.copy_(models.normal(*buffer.shape, name=name))
    return module


def _quantized(build, width=8, train=False, steps=1):
    def run():
        module, x = _books(models.filled(build())).train(train), models.normal(2, 10, width)
        for _ in range(steps - 1):
            module(x)
        x.requires_grad_()
        found = module(x)
        output = found[0] if isinstance(found, tuple) else found
        if output.requires_grad:
            (output * models.uniform(*output.shape)).sum().backward()
        rest = {} if x.grad is None else models.arrays(x.grad, "gradient")
        return models.arrays(found) | rest | models.arrays({name: buffer for name, buffer in module.named_buffers() if "embed" in name}, "state")

    return run


CASES = {
    "VectorQuantize": _quantized(lambda: vq.VectorQuantize(8, 16)),
    "VectorQuantize, training": _quantized(lambda: vq.VectorQuantize(8, 16, decay=0.8, commitment_weight=1.0), train=True, steps=3),
    "VectorQuantize, cosine": _quantized(lambda: vq.VectorQuantize(8, 16, use_cosine_sim=True), train=True, steps=2),
    "VectorQuantize, smaller codes": _quantized(lambda: vq.VectorQuantize(8, 16, codebook_dim=4), train=True),
    "VectorQuantize, heads": _quantized(lambda: vq.VectorQuantize(8, 16, heads=2, codebook_dim=4, separate_codebook_per_head=True), train=True),
    "VectorQuantize, orthogonal": _quantized(lambda: vq.VectorQuantize(8, 16, orthogonal_reg_weight=10.0), train=True),
    "VectorQuantize, rotation": _quantized(lambda: vq.VectorQuantize(8, 16, rotation_trick=True), train=True),
    "ResidualVQ": _quantized(lambda: vq.ResidualVQ(dim=8, codebook_size=16, num_quantizers=3), train=True, steps=2),
    "GroupedResidualVQ": _quantized(lambda: vq.GroupedResidualVQ(dim=8, codebook_size=16, num_quantizers=2, groups=2), train=True),
    "SimVQ": _quantized(lambda: vq.SimVQ(dim=8, codebook_size=16), train=True),
    "FSQ": _quantized(lambda: vq.FSQ([8, 5, 5, 5]), 4, train=True),
    "ResidualFSQ": _quantized(lambda: vq.ResidualFSQ(dim=8, levels=[8, 5, 5], num_quantizers=2), train=True),
    "LFQ": _quantized(lambda: vq.LFQ(codebook_size=16, dim=8, entropy_loss_weight=0.1, diversity_gamma=1.0), train=True),
    "LatentQuantize": _quantized(lambda: vq.LatentQuantize(levels=[5, 5, 8], dim=10), train=True),
    "RandomProjectionQuantizer": _quantized(lambda: vq.RandomProjectionQuantizer(dim=8, num_codebooks=2, codebook_dim=4, codebook_size=16)),
}
