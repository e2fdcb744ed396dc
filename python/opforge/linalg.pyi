# Written by `make generate` from the declared functions; do not edit.
# mypy: disable-error-code="overload-overlap, overload-cannot-match, misc"
from typing import Any
from ._core import LinAlgError as LinAlgError
from ._core.linalg import cholesky as cholesky
from ._core.linalg import cholesky_ex as cholesky_ex
from ._core.linalg import cond as cond
from ._core.linalg import cross as cross
from ._core.linalg import det as det
from ._core.linalg import diagonal as diagonal
from ._core.linalg import eig as eig
from ._core.linalg import eigh as eigh
from ._core.linalg import eigvals as eigvals
from ._core.linalg import eigvalsh as eigvalsh
from ._core.linalg import householder_product as householder_product
from ._core.linalg import inv as inv
from ._core.linalg import inv_ex as inv_ex
from ._core.linalg import lstsq as lstsq
from ._core.linalg import lu as lu
from ._core.linalg import lu_factor as lu_factor
from ._core.linalg import lu_factor_ex as lu_factor_ex
from ._core.linalg import lu_solve as lu_solve
from ._core.linalg import matmul as matmul
from ._core.linalg import matrix_exp as matrix_exp
from ._core.linalg import matrix_norm as matrix_norm
from ._core.linalg import matrix_power as matrix_power
from ._core.linalg import matrix_rank as matrix_rank
from ._core.linalg import matrix_sqrth as matrix_sqrth
from ._core.linalg import multi_dot as multi_dot
from ._core.linalg import norm as norm
from ._core.linalg import pinv as pinv
from ._core.linalg import polar as polar
from ._core.linalg import qr as qr
from ._core.linalg import slogdet as slogdet
from ._core.linalg import solve as solve
from ._core.linalg import solve_ex as solve_ex
from ._core.linalg import solve_triangular as solve_triangular
from ._core.linalg import svd as svd
from ._core.linalg import svdvals as svdvals
from ._core.linalg import tensorinv as tensorinv
from ._core.linalg import tensorsolve as tensorsolve
from ._core.linalg import vander as vander
from ._core.linalg import vecdot as vecdot
from ._core.linalg import vector_norm as vector_norm

def ldl_factor(A: Any, *, hermitian: Any=False) -> Any: ...
def ldl_factor_ex(A: Any, *, hermitian: Any=False, check_errors: Any=False) -> Any: ...
def ldl_solve(LD: Any, pivots: Any, B: Any, *, hermitian: Any=False) -> Any: ...
