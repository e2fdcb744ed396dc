# Written by `make generate` from the declared functions; do not edit.
# mypy: disable-error-code="overload-overlap, overload-cannot-match, misc"
from typing import Any
from ._core.linalg import cholesky as cholesky
from ._core.linalg import cross as cross
from ._core.linalg import det as det
from ._core.linalg import inv as inv
from ._core.linalg import matmul as matmul
from ._core.linalg import matrix_norm as matrix_norm
from ._core.linalg import matrix_power as matrix_power
from ._core.linalg import multi_dot as multi_dot
from ._core.linalg import norm as norm
from ._core.linalg import slogdet as slogdet
from ._core.linalg import solve as solve
from ._core.linalg import vecdot as vecdot
from ._core.linalg import vector_norm as vector_norm

