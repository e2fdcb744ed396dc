"""Differences that are meant, each with its reason; the table of docs/pytorch.md says the same to users."""

from __future__ import annotations

import re
from dataclasses import dataclass

from .compare import Difference


@dataclass(frozen=True)
class Known:
    """Functions by a pattern of their names, kinds of differences, a pattern in the difference's cause or detail, and one in the call's source."""

    names: str
    kinds: str
    text: str
    reason: str
    source: str = ""

    def covers(self, name: str, difference: Difference, source: str) -> bool:
        found = f"{difference.cause} | {difference.detail}"
        patterns = ((self.text, found), (self.source, source))
        return bool(re.fullmatch(self.names, name) and re.fullmatch(self.kinds, difference.kind)) and all(re.search(p, text) for p, text in patterns)


GRADIENT = "gradient|second gradient"
KNOWN = [
    # Of the table in docs/pytorch.md.
    Known("logdet|slogdet", GRADIENT, "ingular|inv", "gradients of logarithms of determinants at singular matrices are an error"),
    Known("amax|amin", GRADIENT, "NaN|infinity", "infinite gradients go to the extremes alone"),
    Known("hardswish|elu|celu|selu|hardtanh|relu6|softshrink|hardshrink", GRADIENT, "NaN|nan", "gradients of bends at NaN pass, whatever the element's place"),
    Known("scatter_reduce|index_reduce", GRADIENT, "numbers", "include_self=False leaves self out"),
    Known("ctc_loss", GRADIENT, "numbers", "the gradient of ctc_loss is the derivative"),
    Known("cholesky_(solve|inverse)", GRADIENT, "here -?0.0", "the triangle that is not read has no gradient"),
    Known("polar", GRADIENT, "numbers", "the gradient of polar is the derivative"),
    Known(r"Tensor\.(byte|char|short|int|long|to|type)|.*scatter.*|.*copy.*|to_dtype", "value", "integers", "floats beyond an integer dtype become its nearest number", "float|complex"),
    Known("(nan)?median_dim|mode|kthvalue|topk|sort|argsort", "value|" + GRADIENT, "", "which of equal elements is named is free"),
    Known("msort", GRADIENT, "numbers", "which of equal elements has the gradient is free"),
    Known("airy_ai|.*bessel.*|i[01]e?|polygamma.*|zeta|igamma.*|gammainc.*", "value|" + GRADIENT, "nan|inf", "special functions have their limits at infinities"),
    Known(".*bessel.*", "value", "numbers", "Bessel functions are more precise here"),
    Known("pow|float_power|.*pow", "value", "nan.*here .?1", "0 ** 0 is 1"),
    Known(".*", "gradient", "requires_grad False, here True", "more functions have gradients"),
    Known("histogram.*|unique.*|qr|.*_each|(lt|le|gt|ge|eq|ne|less|greater|not_equal).*", "gradient", "requires_grad True, here False", "functions without derivative say so"),
    Known(".*", "gradient", "requires_grad", "what is written to `out` has no gradient", r"out="),
    Known("(chain_)?matmul|.*solve.*|.*inv.*|cond.*|pinv.*|lu.*|polar_factors|matrix_.*|lstsq|.*det", "value|" + GRADIENT, "", "singular matrices have no digits", r"\(1?,?\)\.expand|torch.tensor\(\[1(, 1)*\]"),
    # Of Python, not of operators.
    Known(r"Tensor\.(__dlpack_device__|grad_fn|type|shape|size)|torch.broadcast_shapes", "value", "plain", "names and classes are opforge's own"),
    Known(r"Tensor\.stride", "value", "plain", "strides of what is empty are free", r"tensor\(\[\]"),
    Known("bucketize|searchsorted", "value", "", "boundaries that are not sorted have no places"),
    Known("isin", "value", "", "what is said to be unique is not", "assume_unique=True"),
]
# Functions whose numbers have no law in common: random ones, memory that nobody has written, vectors that are determined up to a factor.
LOOSE = re.compile(
    r"rand.*|.*_rand.*|bernoulli.*|dropout.*|.*dropout|poisson|normal.*|multinomial|uniform.*|exponential|log_normal|geometric|cauchy|random.*|.*empty.*|gumbel_softmax|rrelu.*"
    r"|svd.*|.*linalg_svd|eigh?|linalg_eigh?|torch.svd_lowrank|torch.pca_lowrank|fractional_max_pool.*|.*rrelu|svd_lowrank|Tensor\.(data_ptr|__hash__|__repr__|new|untyped_storage)"
    r"|torch.Tensor|scaled_dot_product_attention"
)


def reason(name: str, difference: Difference, source: str) -> str:
    """Why a difference is meant; empty if it is not."""
    return next((known.reason for known in KNOWN if known.covers(name, difference, source)), "")
