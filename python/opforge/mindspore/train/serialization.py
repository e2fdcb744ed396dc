"""Files of parameters, by the name of MindSpore's module."""

from ..checkpoint import load_checkpoint as load_checkpoint
from ..checkpoint import load_param_into_net as load_param_into_net
from ..checkpoint import save_checkpoint as save_checkpoint
