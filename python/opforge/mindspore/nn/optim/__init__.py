"""Optimizers: called with the gradients of their parameters, they change these."""

from .kinds import SGD as SGD
from .kinds import Adagrad as Adagrad
from .kinds import Adam as Adam
from .kinds import AdamWeightDecay as AdamWeightDecay
from .kinds import Momentum as Momentum
from .kinds import RMSProp as RMSProp
from .optimizer import Optimizer as Optimizer

__all__ = ["Adagrad", "Adam", "AdamWeightDecay", "Momentum", "Optimizer", "RMSProp", "SGD"]
