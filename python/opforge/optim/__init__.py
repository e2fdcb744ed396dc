"""Optimizers: they update parameters by their gradients."""

from __future__ import annotations

from .adadelta import Adadelta
from .adafactor import Adafactor
from .adagrad import Adagrad
from .adam import Adam
from .adamax import Adamax
from .adamw import AdamW
from .asgd import ASGD
from .lbfgs import LBFGS
from .muon import Muon
from .nadam import NAdam
from .optimizer import Optimizer
from .radam import RAdam
from .rmsprop import RMSprop
from .rprop import Rprop
from .sgd import SGD
from .sparse_adam import SparseAdam
from .swapping import swap_in_optimizer_params_and_state

__all__ = [
    "ASGD", "Adadelta", "Adafactor", "Adagrad", "Adam", "AdamW", "Adamax", "LBFGS", "Muon", "NAdam", "Optimizer", "RAdam", "RMSprop", "Rprop",
    "SGD", "SparseAdam", "lr_scheduler", "swa_utils", "swap_in_optimizer_params_and_state",
]  # fmt: skip


def __getattr__(name):
    # Loaded when they are first asked for, which keeps the import of the whole short.
    if name in ("lr_scheduler", "swa_utils"):
        import importlib

        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
