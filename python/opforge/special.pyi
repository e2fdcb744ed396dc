# Written by `make generate` from the declared functions; do not edit.
# mypy: disable-error-code="overload-overlap, overload-cannot-match, misc"
from typing import Any
from ._core.special import airy_ai as airy_ai
from ._core.special import bessel_j0 as bessel_j0
from ._core.special import bessel_j1 as bessel_j1
from ._core.special import bessel_y0 as bessel_y0
from ._core.special import bessel_y1 as bessel_y1
from ._core.special import digamma as digamma
from ._core.special import entr as entr
from ._core.special import erf as erf
from ._core.special import erfc as erfc
from ._core.special import erfcx as erfcx
from ._core.special import erfinv as erfinv
from ._core.special import exp2 as exp2
from ._core.special import expit as expit
from ._core.special import expm1 as expm1
from ._core.special import gammainc as gammainc
from ._core.special import gammaincc as gammaincc
from ._core.special import gammaln as gammaln
from ._core.special import i0 as i0
from ._core.special import i0e as i0e
from ._core.special import i1 as i1
from ._core.special import i1e as i1e
from ._core.special import log1p as log1p
from ._core.special import log_ndtr as log_ndtr
from ._core.special import log_softmax as log_softmax
from ._core.special import logit as logit
from ._core.special import logsumexp as logsumexp
from ._core.special import modified_bessel_i0 as modified_bessel_i0
from ._core.special import modified_bessel_i1 as modified_bessel_i1
from ._core.special import modified_bessel_k0 as modified_bessel_k0
from ._core.special import modified_bessel_k1 as modified_bessel_k1
from ._core.special import multigammaln as multigammaln
from ._core.special import ndtr as ndtr
from ._core.special import ndtri as ndtri
from ._core.special import polygamma as polygamma
from ._core.special import psi as psi
from ._core.special import round as round
from ._core.special import scaled_modified_bessel_k0 as scaled_modified_bessel_k0
from ._core.special import scaled_modified_bessel_k1 as scaled_modified_bessel_k1
from ._core.special import sinc as sinc
from ._core.special import softmax as softmax
from ._core.special import spherical_bessel_j0 as spherical_bessel_j0
from ._core.special import xlog1py as xlog1py
from ._core.special import xlogy as xlogy
from ._core.special import zeta as zeta

def chebyshev_polynomial_t(*args: Any, **options: Any) -> Any: ...
def chebyshev_polynomial_u(*args: Any, **options: Any) -> Any: ...
def chebyshev_polynomial_v(*args: Any, **options: Any) -> Any: ...
def chebyshev_polynomial_w(*args: Any, **options: Any) -> Any: ...
def hermite_polynomial_h(*args: Any, **options: Any) -> Any: ...
def hermite_polynomial_he(*args: Any, **options: Any) -> Any: ...
def laguerre_polynomial_l(*args: Any, **options: Any) -> Any: ...
def legendre_polynomial_p(*args: Any, **options: Any) -> Any: ...
def shifted_chebyshev_polynomial_t(*args: Any, **options: Any) -> Any: ...
def shifted_chebyshev_polynomial_u(*args: Any, **options: Any) -> Any: ...
def shifted_chebyshev_polynomial_v(*args: Any, **options: Any) -> Any: ...
def shifted_chebyshev_polynomial_w(*args: Any, **options: Any) -> Any: ...
