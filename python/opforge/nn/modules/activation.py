"""Activation functions as modules."""

from __future__ import annotations

from ... import _core as _C
from .. import functional as F
from .. import init
from ..parameter import Parameter
from .module import Module


class _Plain(Module):
    """An activation without settings."""

    def __init__(self):
        super().__init__()


class Sigmoid(_Plain):
    """`1 / (1 + exp(-x))`."""

    def forward(self, input):
        return input.sigmoid()


class Tanh(_Plain):
    """`tanh(x)`."""

    def forward(self, input):
        return input.tanh()


class LogSigmoid(_Plain):
    """`log(1 / (1 + exp(-x)))`."""

    def forward(self, input):
        return F.logsigmoid(input)


class Softsign(_Plain):
    """`x / (1 + |x|)`."""

    def forward(self, input):
        return F.softsign(input)


class Tanhshrink(_Plain):
    """`x - tanh(x)`."""

    def forward(self, input):
        return F.tanhshrink(input)


class _InPlace(Module):
    """An activation whose one setting is whether it writes into its input."""

    def __init__(self, inplace=False):
        super().__init__()
        self.inplace = inplace

    def extra_repr(self):
        return "inplace=True" if self.inplace else ""


class ReLU(_InPlace):
    """`max(0, x)`.

    >>> opforge.nn.ReLU()(opforge.tensor([-1.0, 2.0])).tolist()
    [0.0, 2.0]
    """

    def forward(self, input):
        return F.relu(input, self.inplace)


class SiLU(_InPlace):
    """`x * sigmoid(x)`."""

    def forward(self, input):
        return F.silu(input, self.inplace)


class Mish(_InPlace):
    """`x * tanh(softplus(x))`."""

    def forward(self, input):
        return F.mish(input, self.inplace)


class SELU(_InPlace):
    """`scale * (max(0, x) + min(0, alpha * (exp(x) - 1)))` with the self-normalizing constants (Klambauer et al., 2017)."""

    def forward(self, input):
        return F.selu(input, self.inplace)


class Hardsigmoid(_InPlace):
    """`clamp(x / 6 + 1 / 2, 0, 1)`."""

    def forward(self, input):
        return F.hardsigmoid(input, self.inplace)

    def extra_repr(self):
        return ""


class Hardswish(_InPlace):
    """`x * clamp(x + 3, 0, 6) / 6`."""

    def forward(self, input):
        return F.hardswish(input, self.inplace)

    def extra_repr(self):
        return ""


def _with_inplace(settings, inplace):
    return f"{settings}, inplace=True" if inplace else settings


class ELU(Module):
    """`max(0, x) + min(0, alpha * (exp(x) - 1))`."""

    def __init__(self, alpha=1.0, inplace=False):
        super().__init__()
        self.alpha = alpha
        self.inplace = inplace

    def forward(self, input):
        return F.elu(input, self.alpha, self.inplace)

    def extra_repr(self):
        return _with_inplace(f"alpha={self.alpha}", self.inplace)


class CELU(Module):
    """`max(0, x) + min(0, alpha * (exp(x / alpha) - 1))`."""

    def __init__(self, alpha=1.0, inplace=False):
        super().__init__()
        self.alpha = alpha
        self.inplace = inplace

    def forward(self, input):
        return F.celu(input, self.alpha, self.inplace)

    def extra_repr(self):
        return _with_inplace(f"alpha={self.alpha}", self.inplace)


class LeakyReLU(Module):
    """`max(0, x) + negative_slope * min(0, x)`."""

    def __init__(self, negative_slope=1e-2, inplace=False):
        super().__init__()
        self.negative_slope = negative_slope
        self.inplace = inplace

    def forward(self, input):
        return F.leaky_relu(input, self.negative_slope, self.inplace)

    def extra_repr(self):
        return _with_inplace(f"negative_slope={self.negative_slope}", self.inplace)


class RReLU(Module):
    """Leaky ReLU whose slope is drawn from `U(lower, upper)` for each element in training, and is their mean otherwise."""

    def __init__(self, lower=1.0 / 8, upper=1.0 / 3, inplace=False):
        super().__init__()
        self.lower = lower
        self.upper = upper
        self.inplace = inplace

    def forward(self, input):
        return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)

    def extra_repr(self):
        return _with_inplace(f"lower={self.lower}, upper={self.upper}", self.inplace)


class PReLU(Module):
    """`max(0, x) + a * min(0, x)` with a trained `a`: one, or one for each channel."""

    def __init__(self, num_parameters=1, init=0.25, device=None, dtype=None):
        super().__init__()
        self.num_parameters = num_parameters
        self.init = init
        self.weight = Parameter(_C.empty(num_parameters, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self):
        """Sets all slopes to `init`."""
        init.constant_(self.weight, self.init)

    def forward(self, input):
        return F.prelu(input, self.weight)

    def extra_repr(self):
        return f"num_parameters={self.num_parameters}"


class Hardtanh(Module):
    """`clamp(x, min_val, max_val)`."""

    def __init__(self, min_val=-1.0, max_val=1.0, inplace=False):
        super().__init__()
        if min_val >= max_val:
            raise AssertionError(f"max_val ({max_val}) must be greater than min_val ({min_val})")
        self.min_val = min_val
        self.max_val = max_val
        self.inplace = inplace

    def forward(self, input):
        return F.hardtanh(input, self.min_val, self.max_val, self.inplace)

    def extra_repr(self):
        return _with_inplace(f"min_val={self.min_val}, max_val={self.max_val}", self.inplace)


class ReLU6(Hardtanh):
    """`clamp(x, 0, 6)`."""

    def __init__(self, inplace=False):
        super().__init__(0.0, 6.0, inplace)

    def extra_repr(self):
        return "inplace=True" if self.inplace else ""


class Threshold(Module):
    """`x` where it is above `threshold`, `value` elsewhere."""

    def __init__(self, threshold, value, inplace=False):
        super().__init__()
        self.threshold = threshold
        self.value = value
        self.inplace = inplace

    def forward(self, input):
        return F.threshold(input, self.threshold, self.value, self.inplace)

    def extra_repr(self):
        return _with_inplace(f"threshold={self.threshold}, value={self.value}", self.inplace)


class _Shrink(Module):
    """What brings elements near 0 to 0."""

    def __init__(self, lambd=0.5):
        super().__init__()
        self.lambd = lambd

    def extra_repr(self):
        return f"{self.lambd}"


class Hardshrink(_Shrink):
    """`x` where `|x| > lambd`, 0 elsewhere."""

    def forward(self, input):
        return F.hardshrink(input, self.lambd)


class Softshrink(_Shrink):
    """`sign(x) * max(|x| - lambd, 0)`."""

    def forward(self, input):
        return F.softshrink(input, self.lambd)


class Softplus(Module):
    """`log(1 + exp(beta * x)) / beta`, and `x` where `beta * x > threshold`."""

    def __init__(self, beta=1.0, threshold=20.0):
        super().__init__()
        self.beta = beta
        self.threshold = threshold

    def forward(self, input):
        return F.softplus(input, self.beta, self.threshold)

    def extra_repr(self):
        return f"beta={self.beta}, threshold={self.threshold}"


class GELU(Module):
    """`x * Φ(x)`; with `approximate="tanh"` its approximation by tanh (Hendrycks and Gimpel, 2016)."""

    def __init__(self, approximate="none"):
        super().__init__()
        self.approximate = approximate

    def forward(self, input):
        return F.gelu(input, approximate=self.approximate)

    def extra_repr(self):
        return f"approximate={self.approximate!r}"


class GLU(Module):
    """`a * sigmoid(b)`, where `a` and `b` are the halves of the input along `dim`."""

    def __init__(self, dim=-1):
        super().__init__()
        self.dim = dim

    def forward(self, input):
        return F.glu(input, self.dim)

    def extra_repr(self):
        return f"dim={self.dim}"


class _AlongDim(Module):
    """A function along `dim`."""

    def __init__(self, dim=None):
        super().__init__()
        self.dim = dim

    def extra_repr(self):
        return f"dim={self.dim}"


class Softmax(_AlongDim):
    """`exp(x) / sum(exp(x))` along `dim`."""

    def forward(self, input):
        return F.softmax(input, self.dim)


class Softmin(_AlongDim):
    """`exp(-x) / sum(exp(-x))` along `dim`."""

    def forward(self, input):
        return F.softmin(input, self.dim)


class LogSoftmax(_AlongDim):
    """`log(softmax(x))` along `dim`."""

    def forward(self, input):
        return F.log_softmax(input, self.dim)


class Softmax2d(_Plain):
    """Softmax over the channels of `(N, C, H, W)` or `(C, H, W)`."""

    def forward(self, input):
        if input.dim() not in (3, 4):
            raise ValueError(f"Softmax2d: expected input to be 3D or 4D, got {input.dim()}D instead")
        return F.softmax(input, -3)


def __getattr__(name):
    if name == "MultiheadAttention":  # packages import it from here, where PyTorch has it
        from .transformer import MultiheadAttention

        return MultiheadAttention
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
