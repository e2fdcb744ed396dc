"""Networks: `Cell`, layers, losses, optimizers, and cells around a network."""

from .cell import Cell as Cell
from .cell import GraphCell as GraphCell
from .layer import *  # noqa: F403
from .loss import *  # noqa: F403
from .optim import *  # noqa: F403
from .wrap import *  # noqa: F403
