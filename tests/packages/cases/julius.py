"""julius: filters and resampling of signals."""

import julius
import models

PACKAGE = "julius"


def _filtered(function, length=200):
    def run():
        x = models.normal(2, length).requires_grad_()
        y = function(x)
        (y * models.uniform(*y.shape)).sum().backward()
        return models.arrays([y, x.grad])

    return run


CASES = {
    "resample_frac": _filtered(lambda x: julius.resample_frac(x, 4, 5)),
    "resample_frac, longer": _filtered(lambda x: julius.resample_frac(x, 3, 2, output_length=100, full=False)),
    "lowpass_filter": _filtered(lambda x: julius.lowpass_filter(x, 0.1)),
    "lowpass_filter by FFT": _filtered(lambda x: julius.lowpass_filter(x, 0.02, fft=True)),
    "highpass_filter": _filtered(lambda x: julius.highpass_filter(x, 0.2)),
    "bandpass_filter": _filtered(lambda x: julius.bandpass_filter(x, 0.1, 0.3)),
    "split_bands": _filtered(lambda x: julius.split_bands(x, 1, 4)),
    "fft_conv1d": _filtered(lambda x: julius.fft_conv1d(x[:, None], models.normal(3, 1, 50), stride=2, padding=3)),
}
