"""Layers of networks, by MindSpore's modules."""

from . import activation, basic, container, conv, normalization, pooling
from .activation import *  # noqa: F403
from .basic import *  # noqa: F403
from .container import *  # noqa: F403
from .conv import *  # noqa: F403
from .normalization import *  # noqa: F403
from .pooling import *  # noqa: F403

_MODULES = (activation, basic, container, conv, normalization, pooling)
__all__ = [name for module in _MODULES for name in module.__all__]
