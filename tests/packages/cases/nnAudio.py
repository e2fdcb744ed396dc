"""nnAudio: spectrograms that are layers, with trained kernels."""

import models
import nnAudio.features as features

PACKAGE = "nnAudio"


def _layer(build, length=4000):
    return lambda: models.arrays(_given(build(), models.normal(2, length)))


def _given(layer, x):
    x.requires_grad_()
    found = layer(x)
    (found**2).mean().backward()
    return {"output": found, "x": x.grad, **{name: p.grad for name, p in layer.named_parameters() if p.grad is not None}}


CASES = {
    "STFT": _layer(lambda: features.STFT(n_fft=256, hop_length=64, sr=8000, output_format="Complex", verbose=False)),
    "STFT, trained": _layer(lambda: features.STFT(n_fft=128, hop_length=64, sr=8000, trainable=True, output_format="Magnitude", verbose=False)),
    "STFT, phase": _layer(lambda: features.STFT(n_fft=128, hop_length=64, sr=8000, output_format="Phase", verbose=False)),
    "MelSpectrogram": _layer(lambda: features.MelSpectrogram(sr=8000, n_fft=256, n_mels=20, hop_length=64, trainable_mel=True, verbose=False)),
    "MFCC": _layer(lambda: features.MFCC(sr=8000, n_mfcc=8, n_fft=256, n_mels=20, hop_length=64, verbose=False)),
    "CQT": _layer(lambda: features.CQT1992v2(sr=8000, hop_length=128, fmin=220, n_bins=24, verbose=False)),
    "CQT, downsampled": _layer(lambda: features.CQT2010v2(sr=8000, hop_length=128, fmin=220, n_bins=24, verbose=False)),
    "VQT": _layer(lambda: features.VQT(sr=8000, hop_length=128, fmin=220, n_bins=24, gamma=5, verbose=False)),
    "Gammatonegram": _layer(lambda: features.Gammatonegram(sr=8000, n_fft=256, n_bins=16, hop_length=64)),
}
