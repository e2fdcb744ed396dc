"""Small packages of signals: auraloss, asteroid_filterbanks, torch_dct, pytorch_tcn."""

import asteroid_filterbanks as banks
import auraloss
import models
import pytorch_tcn
import torch
import torch_dct

PACKAGE = "auraloss"


def _loss(build):
    def run():
        x, y = models.normal(2, 1, 8000).requires_grad_(), models.normal(2, 1, 8000, name="other")
        found = build()(x, y)
        found.backward()
        return models.arrays([found.detach(), x.grad])

    return run


def _cosine(name, back, *shape):
    def run():
        x = models.normal(*shape).requires_grad_()
        found = getattr(torch_dct, name)(x)
        again = getattr(torch_dct, back)(found)
        (found.square().sum() + again.sum()).backward()
        return models.arrays([found.detach(), again.detach(), x.grad])

    return run


def _coded(bank, **options):
    def run():
        encoder = banks.Encoder(bank(16, 32, stride=8, **options))
        decoder = banks.Decoder(bank(16, 32, stride=8, **options))
        return models.passes(torch.nn.Sequential(encoder, decoder), models.normal(2, 1, 200))

    return run


CASES = {
    "STFTLoss": _loss(lambda: auraloss.freq.STFTLoss()),
    "MultiResolutionSTFTLoss": _loss(lambda: auraloss.freq.MultiResolutionSTFTLoss(w_log_mag=0.0, w_lin_mag=1.0)),
    "MelSTFTLoss": _loss(lambda: auraloss.freq.MelSTFTLoss(16000, n_mels=32)),
    "SISDRLoss": _loss(lambda: auraloss.time.SISDRLoss()),
    "ESRLoss": _loss(lambda: auraloss.time.ESRLoss()),
    "LogCoshLoss": _loss(lambda: auraloss.time.LogCoshLoss()),
    "DCLoss": _loss(lambda: auraloss.time.DCLoss()),
    "free filters": _coded(banks.FreeFB),
    "sinc filters": _coded(banks.ParamSincFB, sample_rate=8000),
    "DCT": _cosine("dct", "idct", 3, 16),
    "DCT, first kind": _cosine("dct1", "idct1", 3, 16),
    "DCT, two dimensions": _cosine("dct_2d", "idct_2d", 3, 8, 6),
    "DCT, three dimensions": _cosine("dct_3d", "idct_3d", 3, 4, 5, 6),
    "TCN": lambda: models.passes(pytorch_tcn.TCN(4, [6, 6], kernel_size=3, dropout=0.0), models.normal(2, 4, 30)),
    "TCN, gated, not causal": lambda: models.passes(
        pytorch_tcn.TCN(4, [6, 6], kernel_size=3, dropout=0.0, causal=False, use_gate=True, use_norm="layer_norm", use_skip_connections=True),
        models.normal(2, 4, 30),
    ),
}
