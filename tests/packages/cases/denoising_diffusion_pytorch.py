"""denoising-diffusion-pytorch: networks and processes of diffusion."""

import models
import torch
from denoising_diffusion_pytorch import GaussianDiffusion, GaussianDiffusion1D, KarrasUnet, Unet, Unet1D

PACKAGE = "denoising-diffusion-pytorch"


def _network():
    return Unet(dim=8, dim_mults=(1, 2), flash_attn=False)


def _denoised():
    """Steps back from noise, without new noise."""
    diffusion = GaussianDiffusion(models.filled(_network()), image_size=16, timesteps=10, sampling_timesteps=3, ddim_sampling_eta=0.0)
    x = models.normal(1, 3, 16, 16)
    with torch.no_grad():
        found = [diffusion.model_predictions(x, torch.tensor([step])) for step in (9, 4)]
        mean = diffusion.p_mean_variance(x, torch.tensor([3]), clip_denoised=True)
    return models.arrays([found, list(mean)])


def _loss(**options):
    def run():
        diffusion = GaussianDiffusion(models.filled(_network()), image_size=16, timesteps=10, **options)
        loss = diffusion.p_losses(models.uniform(2, 3, 16, 16), torch.tensor([2, 7]), noise=models.normal(2, 3, 16, 16, name="noise"))
        loss.backward()
        return models.arrays([loss]) | models.arrays({name: p.grad for name, p in diffusion.named_parameters() if p.grad is not None}, "gradient")

    return run


def _of_series():
    diffusion = GaussianDiffusion1D(models.filled(Unet1D(dim=8, dim_mults=(1, 2), channels=2)), seq_length=16, timesteps=10, objective="pred_v")
    loss = diffusion.p_losses(models.uniform(2, 2, 16), torch.tensor([2, 7]), noise=models.normal(2, 2, 16, name="noise"))
    loss.backward()
    return models.arrays([loss]) | models.arrays({name: p.grad for name, p in diffusion.named_parameters() if p.grad is not None}, "gradient")


CASES = {
    "Unet": lambda: models.passes(_network(), models.normal(2, 3, 16, 16), torch.tensor([1, 5])),
    "Unet1D": lambda: models.passes(Unet1D(dim=8, dim_mults=(1, 2), channels=2), models.normal(2, 2, 16), torch.tensor([1, 5])),
    "KarrasUnet": lambda: models.passes(
        KarrasUnet(image_size=16, dim=8, dim_max=16, num_downsamples=1, num_blocks_per_stage=1, attn_res=(8,)),
        models.normal(2, 4, 16, 16),
        torch.tensor([0.1, 0.5]),
    ),
    "loss": _loss(),
    "loss, velocity": _loss(objective="pred_v", beta_schedule="cosine", min_snr_loss_weight=True),
    "steps back": _denoised,
    "of series": _of_series,
}
