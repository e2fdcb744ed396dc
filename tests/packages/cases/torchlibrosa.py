"""torchlibrosa: spectrograms as convolutions, features, augmentation."""

import models
import torchlibrosa as tl

PACKAGE = "torchlibrosa"


def _passed(build, *shape):
    def run():
        x = models.normal(*shape).requires_grad_()
        module = build()
        found = module(x)
        parts = found if isinstance(found, tuple) else (found,)
        sum((part**2).sum() for part in parts).backward()
        return models.arrays([*(part.detach() for part in parts), x.grad])

    return run


CASES = {
    "Spectrogram": _passed(lambda: tl.Spectrogram(n_fft=128, hop_length=32), 2, 1000),
    "STFT": _passed(lambda: tl.STFT(n_fft=128, hop_length=32), 2, 1000),
    "DFT": _passed(lambda: _Transform(), 64),
    "LogmelFilterBank": _passed(lambda: tl.LogmelFilterBank(sr=8000, n_fft=128, n_mels=16, fmin=50, fmax=3500), 2, 1, 10, 65),
    "Enframe": _passed(lambda: tl.Enframe(frame_length=64, hop_length=32), 2, 1000),
}


class _Transform:
    """A discrete Fourier transform and back."""

    def __call__(self, x):
        transform = tl.DFT(n=64, norm=None)
        real, imag = transform.dft(x, x * 0)
        return real, imag, *transform.idft(real, imag)
