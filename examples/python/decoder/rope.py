"""Rotary position embeddings (Su and others, 2021), and how they are stretched for longer contexts."""

import math

import opforge as torch
from common.command import UserError

ROPE_TYPES = ("default", "linear", "llama3")


def frequencies(width, theta, scaling):
    """Radians a position by which each pair of numbers turns: `theta ** (-2 i / width)`, `[width / 2]`, scaled as `rope_scaling` of config.json says."""
    theta = _number({"rope_theta": theta}, "rope_theta")
    plain = torch.arange(0, width, 2).double().div(width).mul(-math.log(theta)).exp()
    kind = scaling.get("rope_type", scaling.get("type", "default"))
    if kind == "default":
        return plain.float()
    if kind == "linear":
        return (plain / _number(scaling, "factor")).float()
    if kind == "llama3":
        return _llama3(plain, scaling).float()
    raise UserError(f"config.json: the rope type {kind!r} is not known; known are {', '.join(ROPE_TYPES)}")


def _llama3(plain, scaling):
    """Llama 3.1's: what turns slowly is slowed by `factor`, what turns fast is left, and between the two it is interpolated."""
    low, high = _number(scaling, "low_freq_factor"), _number(scaling, "high_freq_factor")
    if high <= low:
        raise UserError(f"config.json: 'high_freq_factor' is {high}, but should be above 'low_freq_factor', {low}")
    turns = _number(scaling, "original_max_position_embeddings") * plain / (2 * math.pi)  # in the context of the first training
    left = ((turns - low) / (high - low)).clamp(0, 1)
    return plain * (left + (1 - left) / _number(scaling, "factor"))


def _number(scaling, name):
    value = scaling.get(name)
    if type(value) not in (int, float) or value <= 0:
        raise UserError(f"config.json: the rope's {name!r} is {value!r}, but should be a positive number")
    return value


def turns(frequencies, start, count, dtype):
    """Cosines and sines `[count, width / 2]` of the positions from `start` on."""
    angles = torch.arange(start, start + count).float()[:, None] * frequencies
    return angles.cos().to(dtype), angles.sin().to(dtype)


def rotate(x, cos, sin):
    """Turns the pairs (x[i], x[i + width / 2]) of `[.., positions, width]`."""
    one, two = x.chunk(2, dim=-1)
    return torch.cat([one * cos - two * sin, two * cos + one * sin], dim=-1)
