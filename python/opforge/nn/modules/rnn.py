"""Recurrent networks."""

from __future__ import annotations

import warnings

from ... import _core as _C
from .. import functional as F
from .. import init
from ..parameter import Parameter
from ..utils.rnn import PackedSequence, constant_runs
from .module import Module

_GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}


def _run(mode, input, hx, weights, bias, num_layers=1, dropout=0.0, train=False, bidirectional=False, batch_first=False):
    """The output and the final states, as a tuple, of a whole network: one call of the core."""
    if len(weights) % 2:
        return _run_projected(input, hx, weights)
    function = getattr(_C, mode.lower())
    hx = list(hx) if mode == "LSTM" else hx[0]
    output, *states = function(input, hx, weights, bias, num_layers, dropout, train, bidirectional, batch_first)
    return output, tuple(states)


def _run_projected(input, hx, weights):
    """One direction of one layer of an LSTM whose `h` is projected by the last of the weights, step by step."""
    *weights, projection = weights
    (h,), (c,) = hx
    outputs = []
    for step in input.unbind(0):
        h, c = _C.lstm_cell(step, [h, c], *weights)
        h = F.linear(h, projection)
        outputs.append(h)
    return _C.stack(outputs), (h.unsqueeze(0), c.unsqueeze(0))


class RNNBase(Module):
    """What RNN, LSTM and GRU share: their weights by layer and direction, and how states go in and out."""

    def __init__(
        self, mode, input_size, hidden_size, num_layers=1, bias=True, batch_first=False, dropout=0.0, bidirectional=False,
        proj_size=0, device=None, dtype=None,
    ):  # fmt: skip
        super().__init__()
        _check_sizes(input_size, hidden_size, num_layers, proj_size)
        if isinstance(dropout, bool) or not 0 <= dropout <= 1:
            raise ValueError("dropout should be a number in range [0, 1] representing the probability of an element being zeroed")
        if dropout > 0 and num_layers == 1:
            warnings.warn(
                "dropout option adds dropout after all but last recurrent layer, so non-zero dropout expects num_layers greater "
                f"than 1, but got dropout={dropout} and num_layers={num_layers}",
                stacklevel=3,
            )
        if mode not in _GATES:
            raise ValueError(f"Unrecognized RNN mode: {mode}")
        self.mode = mode
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.bias = bias
        self.batch_first = batch_first
        self.dropout = float(dropout)
        self.bidirectional = bidirectional
        self.proj_size = proj_size
        self._make_weights(device, dtype)
        self.reset_parameters()

    def _make_weights(self, device, dtype):
        gates = _GATES[self.mode] * self.hidden_size
        state = self.proj_size or self.hidden_size
        self._all_weights = []
        for layer in range(self.num_layers):
            width = self.input_size if layer == 0 else state * self._directions
            shapes = {"weight_ih": (gates, width), "weight_hh": (gates, state)}
            if self.bias:
                shapes.update({"bias_ih": (gates,), "bias_hh": (gates,)})
            if self.proj_size:
                shapes["weight_hr"] = (self.proj_size, self.hidden_size)
            for suffix in ("", "_reverse")[: self._directions]:
                names = {f"{name}_l{layer}{suffix}": shape for name, shape in shapes.items()}
                for name, shape in names.items():
                    setattr(self, name, Parameter(_C.empty(shape, device=device, dtype=dtype)))
                self._all_weights.append(list(names))

    @property
    def _directions(self):
        return 2 if self.bidirectional else 1

    @property
    def all_weights(self):
        """The parameters of each layer and direction."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    def flatten_parameters(self):
        """Does nothing: there is no layout of the weights that would be faster."""

    def reset_parameters(self):
        """Draws all weights from `U(-k, k)` with `k = 1 / sqrt(hidden_size)`."""
        for weight in self.parameters():
            init.uniform_bound_(weight, self.hidden_size)

    def _state_sizes(self):
        """The widths of the states: of h, and for an LSTM of c."""
        return (self.proj_size or self.hidden_size, self.hidden_size)[: 2 if self.mode == "LSTM" else 1]

    def forward(self, input, hx=None):
        """The outputs of the last layer and the final states of all; `hx` are the first states, zeros if None."""
        states = hx if hx is None or isinstance(hx, (tuple, list)) else (hx,)
        if isinstance(input, PackedSequence):
            output, states = self._forward_packed(input, states)
        else:
            output, states = self._forward_padded(input, states)
        return output, states if self.mode == "LSTM" else states[0]

    def _forward_padded(self, input, states):
        if input.dim() not in (2, 3):
            raise ValueError(f"{type(self).__name__}: Expected input to be 2D or 3D, got {input.dim()}D instead")
        batched, batch_dim = input.dim() == 3, 0 if self.batch_first else 1
        if states is not None:
            for state in states:
                if state.dim() != input.dim():
                    kind = "batched 3-D" if batched else "unbatched 2-D"
                    raise RuntimeError(f"For {kind} input, hx should also be {input.dim()}-D but got {state.dim()}-D tensor")
        if not batched:
            input = input.unsqueeze(batch_dim)
            states = None if states is None else [state.unsqueeze(1) for state in states]
        states = self._checked_states(input, input.size(batch_dim), states)
        if self.proj_size:
            output, states = self._forward_projected(input, states)
        else:
            weights = [weight for layer in self.all_weights for weight in layer]
            output, states = _run(
                self.mode, input, states, weights, self.bias, self.num_layers, self.dropout, self.training, self.bidirectional,
                self.batch_first,
            )  # fmt: skip
        if not batched:
            output, states = output.squeeze(batch_dim), tuple(state.squeeze(1) for state in states)
        return output, states

    def _checked_states(self, input, batch, states):
        if input.size(-1) != self.input_size:
            raise RuntimeError(f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {input.size(-1)}")
        shapes = [(self.num_layers * self._directions, batch, size) for size in self._state_sizes()]
        if states is None:
            return [_C.zeros(shape, dtype=input.dtype, device=input.device) for shape in shapes]
        for i, (state, shape) in enumerate(zip(states, shapes)):
            if tuple(state.shape) != shape:
                what = f"hidden[{i}]" if self.mode == "LSTM" else "hidden"
                raise RuntimeError(f"Expected {what} size {shape}, got {list(state.shape)}")
        return states

    def _forward_projected(self, input, states):
        """As of packed sequences that all have the same length."""
        input = input.transpose(0, 1) if self.batch_first else input
        steps, batch, width = input.shape
        if steps == 0:
            raise RuntimeError("Expected sequence length to be larger than 0 in RNN")
        data, states = self._layers(input.reshape(steps * batch, width), [batch] * steps, states)
        output = data.reshape(steps, batch, data.size(-1))
        return output.transpose(0, 1) if self.batch_first else output, states

    def _forward_packed(self, packed, states):
        sizes = packed.batch_sizes.tolist()
        if states is not None and packed.sorted_indices is not None:
            states = [state.index_select(1, packed.sorted_indices) for state in states]
        data, states = self._layers(packed.data, sizes, self._checked_states(packed.data, sizes[0], states))
        if packed.unsorted_indices is not None:
            states = tuple(state.index_select(1, packed.unsorted_indices) for state in states)
        return packed._replace(data=data), states

    def _layers(self, data, sizes, states):
        """Layer by layer, each direction in runs of steps that the same sequences have."""
        weights, finals = self.all_weights, []
        for layer in range(self.num_layers):
            outputs = []
            for direction in range(self._directions):
                i = layer * self._directions + direction
                run = self._packed_backward if direction else self._packed_forward
                output, final = run(data, sizes, [state[i : i + 1] for state in states], weights[i])
                outputs.append(output)
                finals.append(final)
            data = _C.cat(outputs, -1) if len(outputs) > 1 else outputs[0]
            if self.dropout and layer + 1 < self.num_layers:
                data = F.dropout(data, self.dropout, self.training)
        return data, tuple(_C.cat(parts) for parts in zip(*finals))

    def _packed_forward(self, data, sizes, states, weights):
        """One direction of one layer. Sequences that end leave their states behind; the shortest are last."""
        outputs, ended, row = [], [], 0
        for start, end, size in constant_runs(sizes):
            if size < states[0].size(1):
                ended.append([state[:, size:] for state in states])
                states = [state[:, :size] for state in states]
            steps = data[row : row + (end - start) * size].reshape(end - start, size, data.size(-1))
            output, states = _run(self.mode, steps, states, weights, self.bias)
            outputs.append(output.flatten(0, 1))
            row += (end - start) * size
        finals = [states, *reversed(ended)]
        return _C.cat(outputs), [_C.cat(parts, 1) if len(parts) > 1 else parts[0] for parts in zip(*finals)]

    def _packed_backward(self, data, sizes, first, weights):
        """The other direction: from the last step, where only the longest sequences are; others join with their first states."""
        outputs, states, row = [], [state[:, :0] for state in first], data.size(0)
        for start, end, size in reversed(list(constant_runs(sizes))):
            joining = [state[:, states[0].size(1) : size] for state in first]
            states = [_C.cat(parts, 1) for parts in zip(states, joining)]
            row -= (end - start) * size
            steps = data[row : row + (end - start) * size].reshape(end - start, size, data.size(-1))
            output, states = _run(self.mode, steps.flip(0), states, weights, self.bias)
            outputs.append(output.flip(0).flatten(0, 1))
        return _C.cat(outputs[::-1]), states

    def extra_repr(self):
        text = f"{self.input_size}, {self.hidden_size}"
        shown = {"proj_size": 0, "num_layers": 1, "bias": True, "batch_first": False, "dropout": 0, "bidirectional": False}
        return text + "".join(f", {name}={getattr(self, name)}" for name, usual in shown.items() if getattr(self, name) != usual)


def _check_sizes(input_size, hidden_size, num_layers, proj_size):
    sizes = {"input_size": input_size, "hidden_size": hidden_size, "num_layers": num_layers}
    for name, size in sizes.items():
        if not isinstance(size, int):
            raise TypeError(f"{name} should be of type int, got: {type(size).__name__}")
        if size <= 0:
            raise ValueError(f"{name} must be greater than zero")
    if proj_size < 0:
        raise ValueError("proj_size should be a positive integer or zero to disable projections")
    if proj_size >= hidden_size:
        raise ValueError("proj_size has to be smaller than hidden_size")


def _rnn_mode(nonlinearity):
    if nonlinearity not in ("tanh", "relu"):
        raise ValueError(f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'.")
    return f"RNN_{nonlinearity.upper()}"


class RNN(RNNBase):
    """`h_t = tanh(W_ih x_t + b_ih + W_hh h_{t-1} + b_hh)`, or with relu (Elman, 1990): `(T, B, input_size)` to `(T, B, hidden_size)`.

    `batch_first` has `(B, T, *)`; `dropout` acts between layers.
    """

    def __init__(
        self, input_size, hidden_size, num_layers=1, nonlinearity="tanh", bias=True, batch_first=False, dropout=0.0,
        bidirectional=False, device=None, dtype=None,
    ):  # fmt: skip
        mode = _rnn_mode(nonlinearity)
        super().__init__(
            mode, input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, device=device, dtype=dtype
        )
        self.nonlinearity = nonlinearity


class LSTM(RNNBase):
    """Long short-term memory (Hochreiter and Schmidhuber, 1997), its gates in the order input, forget, cell, output.

    States are `(h, c)`; with `proj_size`, `h` is projected to that width.

    >>> lstm = opforge.nn.LSTM(10, 20, num_layers=2)
    >>> output, (h, c) = lstm(opforge.randn(5, 3, 10))
    >>> output.shape, h.shape
    (torch.Size([5, 3, 20]), torch.Size([2, 3, 20]))
    """

    def __init__(
        self, input_size, hidden_size, num_layers=1, bias=True, batch_first=False, dropout=0.0, bidirectional=False, proj_size=0,
        device=None, dtype=None,
    ):  # fmt: skip
        super().__init__(
            "LSTM", input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, proj_size, device, dtype
        )


class GRU(RNNBase):
    """Gated recurrent units (Cho et al., 2014), their gates in the order reset, update, new."""

    def __init__(
        self, input_size, hidden_size, num_layers=1, bias=True, batch_first=False, dropout=0.0, bidirectional=False, device=None,
        dtype=None,
    ):  # fmt: skip
        super().__init__(
            "GRU", input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, device=device, dtype=dtype
        )


class RNNCellBase(Module):
    """A single step of a recurrent network: `(B, input_size)`, or without the batch, and the states."""

    def __init__(self, input_size, hidden_size, bias, num_chunks, device=None, dtype=None):
        super().__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.bias = bias
        gates = num_chunks * hidden_size
        self.weight_ih = Parameter(_C.empty((gates, input_size), device=device, dtype=dtype))
        self.weight_hh = Parameter(_C.empty((gates, hidden_size), device=device, dtype=dtype))
        for name in ("bias_ih", "bias_hh"):
            self.register_parameter(name, Parameter(_C.empty(gates, device=device, dtype=dtype)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self):
        """Draws all weights from `U(-k, k)` with `k = 1 / sqrt(hidden_size)`."""
        for weight in self.parameters():
            init.uniform_bound_(weight, self.hidden_size)

    def _step(self, mode, input, states):
        """The states after the step, as that of a sequence of one."""
        if input.dim() not in (1, 2):
            raise ValueError(f"{type(self).__name__}: Expected input to be 1D or 2D, got {input.dim()}D instead")
        count = 2 if mode == "LSTM" else 1
        batched = input.dim() == 2
        if states is None:
            states = [_C.zeros((*input.shape[:-1], self.hidden_size), dtype=input.dtype, device=input.device)] * count
        for state in states:
            if state.dim() != input.dim():
                raise ValueError(f"{type(self).__name__}: Expected hidden to be {input.dim()}D like the input, got {state.dim()}D instead")
        if not batched:
            input, states = input.unsqueeze(0), [state.unsqueeze(0) for state in states]
        weights = [self.weight_ih, self.weight_hh] + [self.bias_ih, self.bias_hh] * self.bias
        _, states = _run(mode, input.unsqueeze(0), [state.unsqueeze(0) for state in states], weights, self.bias)
        states = tuple(state.squeeze(0) for state in states)
        return states if batched else tuple(state.squeeze(0) for state in states)

    def extra_repr(self):
        return f"{self.input_size}, {self.hidden_size}" + ("" if self.bias else f", bias={self.bias}")


class RNNCell(RNNCellBase):
    """A step of [`RNN`]: `h' = tanh(W_ih x + b_ih + W_hh h + b_hh)`, or with relu."""

    def __init__(self, input_size, hidden_size, bias=True, nonlinearity="tanh", device=None, dtype=None):
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input, hx=None):
        return self._step(_rnn_mode(self.nonlinearity), input, None if hx is None else [hx])[0]

    def extra_repr(self):
        return super().extra_repr() + ("" if self.nonlinearity == "tanh" else f", nonlinearity={self.nonlinearity}")


class LSTMCell(RNNCellBase):
    """A step of [`LSTM`]: `(h, c)` after it."""

    def __init__(self, input_size, hidden_size, bias=True, device=None, dtype=None):
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(self, input, hx=None):
        return self._step("LSTM", input, hx)


class GRUCell(RNNCellBase):
    """A step of [`GRU`]: `h` after it."""

    def __init__(self, input_size, hidden_size, bias=True, device=None, dtype=None):
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def forward(self, input, hx=None):
        return self._step("GRU", input, None if hx is None else [hx])[0]
