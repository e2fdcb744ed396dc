"""Fourier transforms."""

import numpy as np
from scipy import fft

import opforge as torch

from . import case, holds, spread

X = spread(-2, 2, 3, 6)
ODD = spread(-2, 2, 2, 5, seed=1)
Z = X + 1j * spread(-2, 2, 3, 6, seed=2)
BOX = spread(-2, 2, 2, 3, 4)
SIGNAL = spread(-2, 2, 2, 40)
WINDOW = np.hanning(9)[:8] + 0.1


def pieces(x, n_fft, hop, length, window, center=True, pad_mode="reflect", normalized=False, onesided=None, return_complex=True):
    """The transforms of windows, by their definition."""
    if center:
        x = np.pad(x, [(0, 0), (n_fft // 2, n_fft // 2)], mode=pad_mode)
    window = np.pad(np.ones(length) if window is None else window, ((n_fft - length) // 2, n_fft - length - (n_fft - length) // 2))
    starts = range(0, x.shape[1] - n_fft + 1, hop)
    windows = np.stack([x[:, start : start + n_fft] * window for start in starts], -1)
    found = np.fft.fft(windows, axis=1, norm="ortho" if normalized else None)
    found = found if onesided is False else found[:, : n_fft // 2 + 1]
    return found if return_complex else np.stack([found.real, found.imag], -1)


def one(name, x, *args, **options):
    return case(name, lambda x, *args, **options: getattr(fft, name)(x, *args, **options), x, *args, half=False, **options)


def several(name, x, *args, **options):
    """numpy calls the dimensions axes."""

    def reference(x, s=None, dim=None, norm=None):
        axes = {"axes": dim} if dim is not None else {}
        return getattr(fft, name)(x, s, norm=norm, **axes)

    return case(name, reference, x, *args, half=False, **options)


def pairs(x, inverse, factor):
    """Transforms of complex numbers that are pairs of their parts."""
    z = x[..., 0] + 1j * x[..., 1]
    found = factor * (fft.ifft(z, norm="forward") if inverse else fft.fft(z))
    return np.stack([found.real, found.imag], -1)


CASES = [
    *(one(name, x) for name in ("fft", "ifft", "irfft", "hfft") for x in (Z, X, ODD)),
    *(one(name, x) for name in ("rfft", "ihfft") for x in (X, ODD)),
    *(one(name, Z, n, 0, norm) for name in ("fft", "ifft") for n, norm in ((2, "ortho"), (5, "forward"), (None, "backward"))),
    *(one(name, Z, n, 0, norm) for name in ("irfft", "hfft") for n, norm in ((2, "ortho"), (7, "forward"), (None, "backward"))),
    *(one(name, X, n, 0, norm) for name in ("rfft", "ihfft") for n, norm in ((2, "ortho"), (5, "forward"), (1, "backward"))),
    *(several(name, x) for name in ("fft2", "ifft2", "irfft2", "hfft2", "fftn", "ifftn", "irfftn", "hfftn") for x in (Z, BOX)),
    *(several(name, x) for name in ("rfft2", "ihfft2", "rfftn", "ihfftn") for x in (X, BOX)),
    *(several(name, BOX, (2, 5), (0, 2), "ortho") for name in ("fftn", "ifftn", "rfftn", "irfftn", "hfftn", "ihfftn", "fft2", "irfft2")),
    *(several(name, BOX, (3, 5)) for name in ("fftn", "rfftn", "irfftn")),
    case("fftfreq", lambda n, d=1.0, **_: np.fft.fftfreq(n, d), 6, dtype=torch.float64),
    case("fftfreq", lambda n, d=1.0, **_: np.fft.fftfreq(n, d), 5, 0.25, dtype=torch.float64),
    case("rfftfreq", lambda n, d=1.0, **_: np.fft.rfftfreq(n, d), 6, 0.5, dtype=torch.float64),
    *(case(name, getattr(np.fft, name), x) for name in ("fftshift", "ifftshift") for x in (X, ODD)),
    *(case(name, lambda x, dim, name=name: getattr(np.fft, name)(x, dim), ODD, dim) for name in ("fftshift", "ifftshift") for dim in ((1,), (0, 1))),
    case("stft", pieces, SIGNAL, 8, 3, 8, WINDOW, half=False, return_complex=True),
    case("stft", pieces, SIGNAL, 8, 2, 5, WINDOW[:5], False, normalized=True, return_complex=False, half=False),
    case("stft", pieces, SIGNAL, 7, 4, 7, None, onesided=False, return_complex=True, half=False),
    holds("istft", lambda x: np.testing.assert_allclose(x, SIGNAL[:, :39], atol=1e-6), pieces(SIGNAL, 8, 3, 8, WINDOW), 8, 3, 8, WINDOW),
    holds("istft", lambda x: np.testing.assert_allclose(x, SIGNAL[:, :30], atol=1e-6), pieces(SIGNAL, 7, 2, 7, None), 7, 2, length=30),
    case("dft", pairs, np.stack([X, X * 0.5], -1), False, 2.0, half=False),
    case("dft", pairs, np.stack([X, X * 0.5], -1), True, 0.5, half=False),
]
