"""pytorch-forecasting: losses of distributions and quantiles, networks that read series."""

import models
from pytorch_forecasting import metrics
from pytorch_forecasting.models.nbeats.sub_modules import NBEATSGenericBlock, NBEATSSeasonalBlock, NBEATSTrendBlock
from pytorch_forecasting.models.temporal_fusion_transformer.sub_modules import (
    GatedResidualNetwork,
    InterpretableMultiHeadAttention,
    VariableSelectionNetwork,
)

PACKAGE = "pytorch-forecasting"


def _loss(build, *shape, target=lambda: models.uniform(3, 5, name="target") + 0.5):
    def run():
        predicted = models.normal(*shape).requires_grad_()
        loss = build()(predicted, target())
        loss.backward()
        return models.arrays([loss, predicted.grad])

    return run


def _attended():
    attention = InterpretableMultiHeadAttention(2, 8, 0.0)
    return models.passes(attention, *[models.normal(3, 5, 8, name=name) for name in "qkv"])


def _selected():
    network = VariableSelectionNetwork({"a": 4, "b": 4}, 6, {"a": 4, "b": 4}, dropout=0.0, prescalers={})
    return models.passes(network, {"a": models.normal(3, 5, 4), "b": models.normal(3, 5, 4, name="b")})


CASES = {
    "QuantileLoss": _loss(metrics.QuantileLoss, 3, 5, 7),
    "SMAPE": _loss(metrics.SMAPE, 3, 5),
    "MAPE": _loss(metrics.MAPE, 3, 5),
    "MAE": _loss(metrics.MAE, 3, 5),
    "RMSE": _loss(metrics.RMSE, 3, 5),
    "PoissonLoss": _loss(metrics.PoissonLoss, 3, 5),
    "TweedieLoss": _loss(metrics.TweedieLoss, 3, 5),
    "GatedResidualNetwork": lambda: models.passes(GatedResidualNetwork(6, 8, 5, dropout=0.0), models.normal(3, 4, 6)),
    "InterpretableMultiHeadAttention": _attended,
    "VariableSelectionNetwork": _selected,
    "NBEATSGenericBlock": lambda: models.passes(NBEATSGenericBlock(8, 4, 2, 10, 5), models.normal(3, 10)),
    "NBEATSSeasonalBlock": lambda: models.passes(NBEATSSeasonalBlock(8, None, 2, 10, 5), models.normal(3, 10)),
    "NBEATSTrendBlock": lambda: models.passes(NBEATSTrendBlock(8, 3, 2, 10, 5), models.normal(3, 10)),
}
