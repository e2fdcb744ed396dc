"""diffusers: networks of small sizes, and schedulers."""

import diffusers
import models
import torch

PACKAGE = "diffusers"
_SMALL = {"block_out_channels": (8, 16), "layers_per_block": 1, "norm_num_groups": 4}


def _unet():
    network = diffusers.UNet2DModel(
        sample_size=16, in_channels=3, out_channels=3, down_block_types=("DownBlock2D", "AttnDownBlock2D"),
        up_block_types=("AttnUpBlock2D", "UpBlock2D"), attention_head_dim=4, **_SMALL,
    )  # fmt: skip
    return models.passes(network, models.normal(models.BATCH, 3, 16, 16), torch.tensor([3, 70]))


def _conditional():
    network = diffusers.UNet2DConditionModel(
        sample_size=16, in_channels=4, out_channels=4, down_block_types=("CrossAttnDownBlock2D", "DownBlock2D"),
        up_block_types=("UpBlock2D", "CrossAttnUpBlock2D"), cross_attention_dim=12, attention_head_dim=4, **_SMALL,
    )  # fmt: skip
    return models.passes(network, models.normal(models.BATCH, 4, 16, 16), torch.tensor([3, 70]), models.normal(models.BATCH, 5, 12, name="text"))


def _autoencoder():
    network = diffusers.AutoencoderKL(
        down_block_types=("DownEncoderBlock2D",) * 2, up_block_types=("UpDecoderBlock2D",) * 2, latent_channels=4, **_SMALL
    )
    return models.passes(network, models.normal(models.BATCH, 3, 16, 16))


def _transformer():
    network = diffusers.DiTTransformer2DModel(
        num_attention_heads=2, attention_head_dim=8, in_channels=4, out_channels=4, num_layers=2, sample_size=8, patch_size=2, norm_num_groups=4
    )
    return models.passes(network, models.normal(models.BATCH, 4, 8, 8), timestep=torch.tensor([3, 70]), class_labels=torch.tensor([1, 2]))


def _scheduled(kind, **options):
    """Ten steps of a scheduler with a stand-in for the network."""
    scheduler = kind(num_train_timesteps=100, **options)
    scheduler.set_timesteps(10)
    sample = models.normal(models.BATCH, 3, 8, 8)
    for t in scheduler.timesteps:
        scaled = scheduler.scale_model_input(sample, t) if hasattr(scheduler, "scale_model_input") else sample
        sample = scheduler.step(0.3 * torch.tanh(scaled), t, sample).prev_sample
    return models.arrays(sample)


CASES = {
    "UNet2D": _unet,
    "UNet2DCondition": _conditional,
    "AutoencoderKL": _autoencoder,
    "DiT": _transformer,
    "DDIM": lambda: _scheduled(diffusers.DDIMScheduler),
    "DPMSolver++": lambda: _scheduled(diffusers.DPMSolverMultistepScheduler),
    "Euler": lambda: _scheduled(diffusers.EulerDiscreteScheduler),
    "PNDM": lambda: _scheduled(diffusers.PNDMScheduler),
    "FlowMatchEuler": lambda: _scheduled(diffusers.FlowMatchEulerDiscreteScheduler),
}
