"""skorch: networks as estimators of scikit-learn."""

import models
import numpy
import skorch
import torch
from skorch import callbacks
from torch import nn

PACKAGE = "skorch"


class _Network(nn.Module):
    def __init__(self, width=6, outputs=3, ends=True):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(5, width), nn.Tanh(), nn.Linear(width, outputs))
        self.ends = ends
        models.filled(self)

    def forward(self, x):
        y = self.layers(x)
        return y.softmax(1) if self.ends else y


def _classified(**options):
    def run():
        x, y = models.normal(20, 5).numpy(), models.integers(3, 20).numpy()
        net = skorch.NeuralNetClassifier(_Network, max_epochs=3, lr=0.1, verbose=0, train_split=None, **options).fit(x, y)
        return models.arrays([net.predict_proba(x), net.predict(x), numpy.array(net.history[:, "train_loss"]), net.score(x, y)])

    return run


def _regressed():
    x, y = models.normal(20, 5).numpy(), models.normal(20, 1, name="y").numpy()
    net = skorch.NeuralNetRegressor(
        _Network,
        module__outputs=1,
        module__ends=False,
        max_epochs=3,
        lr=0.05,
        verbose=0,
        train_split=skorch.dataset.ValidSplit(4),
        optimizer=torch.optim.Adam,
    )
    net.fit(x, y)
    return models.arrays([net.predict(x), numpy.array(net.history[:, "valid_loss"])])


def _searched():
    from sklearn.model_selection import GridSearchCV

    net = skorch.NeuralNetClassifier(_Network, max_epochs=2, verbose=0, train_split=None)
    found = GridSearchCV(net, {"lr": [0.01, 0.5], "module__width": [4, 6]}, cv=2, refit=False, scoring="neg_log_loss")
    found.fit(models.normal(20, 5).numpy(), models.integers(3, 20).numpy() % 3)
    return models.arrays(found.cv_results_["mean_test_score"])


def _kept():
    import io

    x, y = models.normal(20, 5).numpy(), models.integers(3, 20).numpy()
    net = skorch.NeuralNetClassifier(_Network, max_epochs=2, verbose=0, train_split=None).fit(x, y)
    file = io.BytesIO()
    net.save_params(f_params=file)
    file.seek(0)
    again = skorch.NeuralNetClassifier(_Network, verbose=0).initialize()
    again.load_params(f_params=file)
    return models.arrays(again.predict_proba(x))


def _copied():
    import copy
    import pickle

    x, y = models.normal(20, 5).numpy(), models.integers(3, 20).numpy()
    net = skorch.NeuralNetClassifier(_Network, max_epochs=2, verbose=0, train_split=None).fit(x, y)
    return models.arrays([copy.deepcopy(net).predict_proba(x), pickle.loads(pickle.dumps(net)).predict_proba(x)])


CASES = {
    "classifier": _classified(),
    "classifier, Adam, batches": _classified(optimizer=torch.optim.Adam, batch_size=8),
    "classifier, scheduled, clipped": _classified(callbacks=[callbacks.LRScheduler("StepLR", step_size=1), callbacks.GradientNormClipping(0.5)]),
    "classifier, frozen": _classified(callbacks=[callbacks.Freezer("layers.0*")]),
    "regressor": _regressed,
    "grid search": _searched,
    "save_params": _kept,
    "copies": _copied,
}
