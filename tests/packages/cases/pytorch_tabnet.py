"""pytorch-tabnet: attentive networks of tables."""

import models
import numpy
import torch
from pytorch_tabnet import multitask, sparsemax, tab_model, tab_network

PACKAGE = "pytorch-tabnet"


def _network(**options):
    def run():
        network = tab_network.TabNet(6, 3, n_d=4, n_a=4, n_steps=2, group_attention_matrix=torch.eye(6), **options)
        return models.passes(network, models.normal(8, 6))

    return run


def _mapped(function):
    def run():
        x = models.normal(4, 6).requires_grad_()
        y = function(x)
        (y * models.uniform(4, 6)).sum().backward()
        return models.arrays([y, x.grad])

    return run


def _fitted(build, y):
    """A model that is fitted; what it predicts depends on its first weights, so its shapes are compared."""

    def run():
        model = build(n_d=4, n_a=4, n_steps=2, verbose=0, device_name="cpu", seed=1)
        x = models.normal(32, 6).numpy()
        model.fit(x, y, max_epochs=2, batch_size=16, virtual_batch_size=8, num_workers=0, drop_last=False)
        return models.arrays(
            [
                torch.tensor(numpy.shape(model.predict(x))),
                torch.tensor(len(model.feature_importances_)),
                torch.tensor(model.history["loss"]).isfinite(),
            ]
        )

    return run


CASES = {
    "TabNet": _network(),
    "TabNet, entmax": _network(mask_type="entmax"),
    "sparsemax": _mapped(lambda x: sparsemax.sparsemax(x, -1)),
    "entmax15": _mapped(lambda x: sparsemax.entmax15(x, -1)),
    "classifier": _fitted(tab_model.TabNetClassifier, models.integers(3, 32).numpy()),
    "regressor": _fitted(tab_model.TabNetRegressor, models.normal(32, 1).numpy()),
    "tasks": _fitted(multitask.TabNetMultiTaskClassifier, models.integers(3, 32, 2).numpy()),
}
