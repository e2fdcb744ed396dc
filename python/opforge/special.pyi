# Written by `make generate` from the declared functions; do not edit.
# mypy: disable-error-code="overload-overlap, overload-cannot-match, misc"
from typing import Any
from ._core.special import digamma as digamma
from ._core.special import entr as entr
from ._core.special import erf as erf
from ._core.special import erfc as erfc
from ._core.special import erfinv as erfinv
from ._core.special import exp2 as exp2
from ._core.special import expit as expit
from ._core.special import expm1 as expm1
from ._core.special import gammaln as gammaln
from ._core.special import log1p as log1p
from ._core.special import log_softmax as log_softmax
from ._core.special import logit as logit
from ._core.special import logsumexp as logsumexp
from ._core.special import multigammaln as multigammaln
from ._core.special import ndtr as ndtr
from ._core.special import polygamma as polygamma
from ._core.special import psi as psi
from ._core.special import round as round
from ._core.special import sinc as sinc
from ._core.special import softmax as softmax
from ._core.special import xlog1py as xlog1py
from ._core.special import xlogy as xlogy

