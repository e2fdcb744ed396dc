"""The name of MindSpore's `train`: files of parameters are there; loops over data sets are not, and a call says so."""

from ..absent import Model as Model
from ..absent import absent_module
from ..checkpoint import load_checkpoint as load_checkpoint
from ..checkpoint import load_param_into_net as load_param_into_net
from ..checkpoint import save_checkpoint as save_checkpoint
from . import serialization as serialization

__getattr__ = absent_module("mindspore.train", "loops over data sets are not there; see nn.TrainOneStepCell, or value_and_grad and an optimizer")
