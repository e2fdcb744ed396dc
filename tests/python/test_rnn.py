"""Recurrent networks against a loop over steps in numpy."""

import numpy as np
import pytest

import opforge as torch
from opforge import nn
from opforge.nn.utils.rnn import (
    PackedSequence,
    pack_padded_sequence,
    pack_sequence,
    pad_packed_sequence,
    pad_sequence,
    unpack_sequence,
    unpad_sequence,
)

STEPS, BATCH, WIDTH, HIDDEN = 5, 3, 4, 6
TOLERANCE = {"rtol": 1e-10, "atol": 1e-12}


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def step(mode, x, states, weights):
    """The states of one cell after `x`; the weights by their names without layer and direction."""
    h = states[0]
    from_x = x @ weights["weight_ih"].T + weights.get("bias_ih", 0)
    from_h = h @ weights["weight_hh"].T + weights.get("bias_hh", 0)
    if mode == "GRU":
        (xr, xz, xn), (hr, hz, hn) = np.split(from_x, 3, -1), np.split(from_h, 3, -1)
        z = sigmoid(xz + hz)
        return ((1 - z) * np.tanh(xn + sigmoid(xr + hr) * hn) + z * h,)
    if mode == "LSTM":
        i, f, g, o = np.split(from_x + from_h, 4, -1)
        c = sigmoid(f) * states[1] + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
        return (h @ weights["weight_hr"].T if "weight_hr" in weights else h), c
    return (np.maximum(from_x + from_h, 0) if mode == "relu" else np.tanh(from_x + from_h),)


def network(module, x, states):
    """Outputs `(T, H)` and final states of one sequence `(T, W)`; `states` by layer and direction."""
    mode = getattr(module, "nonlinearity", type(module).__name__)
    finals, directions = [], 2 if module.bidirectional else 1
    for layer in range(module.num_layers):
        outputs = []
        for direction in range(directions):
            suffix = f"_l{layer}" + "_reverse" * direction
            weights = {n.removesuffix(suffix): p.detach().numpy() for n, p in module.named_parameters() if n.endswith(suffix)}
            state, row = tuple(s[layer * directions + direction] for s in states), []
            for t in range(len(x))[:: -1 if direction else 1]:
                state = step(mode, x[t], state, weights)
                row.append(state[0])
            outputs.append(row[::-1] if direction else row)
            finals.append(state)
        x = np.concatenate([np.stack(rows) for rows in outputs], -1)
    return x, [np.stack(parts) for parts in zip(*finals)]


def make(cls, **settings):
    torch.manual_seed(0)
    module = cls(WIDTH, HIDDEN, dtype=torch.float64, **settings)
    rows = module.num_layers * (2 if module.bidirectional else 1)
    sizes = [settings.get("proj_size") or HIDDEN] + [HIDDEN] * (cls is nn.LSTM)
    rng = np.random.default_rng(1)
    return module, rng.standard_normal((STEPS, BATCH, WIDTH)), [rng.standard_normal((rows, BATCH, size)) for size in sizes]


def as_hx(states):
    states = [torch.from_numpy(state) for state in states]
    return tuple(states) if len(states) == 2 else states[0]


def as_list(hx):
    return [state.detach().numpy() for state in (hx if isinstance(hx, tuple) else (hx,))]


MODULES = [
    *[
        (cls, settings)
        for cls in (nn.RNN, nn.LSTM, nn.GRU)
        for settings in ({}, {"bias": False}, {"num_layers": 2}, {"bidirectional": True}, {"num_layers": 2, "bidirectional": True})
    ],
    (nn.RNN, {"nonlinearity": "relu"}),
    (nn.LSTM, {"proj_size": 2}),
    (nn.LSTM, {"proj_size": 2, "num_layers": 2, "bidirectional": True}),
]
each_module = pytest.mark.parametrize(("cls", "settings"), MODULES)


@each_module
@pytest.mark.parametrize("batch_first", [False, True])
def test_padded(cls, settings, batch_first):
    module, x, states = make(cls, batch_first=batch_first, **settings)
    input = torch.from_numpy(x)
    output, hx = module(input.transpose(0, 1) if batch_first else input, as_hx(states))
    output = output.transpose(0, 1) if batch_first else output
    for b in range(BATCH):
        expected, finals = network(module, x[:, b], [s[:, b] for s in states])
        np.testing.assert_allclose(output[:, b].detach().numpy(), expected, **TOLERANCE)
        for final, wanted in zip(as_list(hx), finals):
            np.testing.assert_allclose(final[:, b], wanted, **TOLERANCE)


@each_module
def test_without_a_batch_and_without_states(cls, settings):
    module, x, states = make(cls, **settings)
    output, _ = module(torch.from_numpy(x[:, 0]))
    expected, _ = network(module, x[:, 0], [0 * s[:, 0] for s in states])
    np.testing.assert_allclose(output.detach().numpy(), expected, **TOLERANCE)


@each_module
@pytest.mark.parametrize("lengths", [[5, 4, 2], [2, 5, 3]])
def test_packed(cls, settings, lengths):
    module, x, states = make(cls, **settings)
    packed = pack_padded_sequence(torch.from_numpy(x), lengths, enforce_sorted=False)
    output, hx = module(packed, as_hx(states))
    output, out_lengths = pad_packed_sequence(output, total_length=STEPS)
    assert out_lengths.tolist() == lengths
    for b, length in enumerate(lengths):
        expected, finals = network(module, x[:length, b], [s[:, b] for s in states])
        np.testing.assert_allclose(output[:length, b].detach().numpy(), expected, **TOLERANCE)
        assert not output[length:, b].detach().numpy().any()
        for final, wanted in zip(as_list(hx), finals):
            np.testing.assert_allclose(final[:, b], wanted, **TOLERANCE)


@each_module
@pytest.mark.parametrize("sizes", [[0, 0], [2, 0], [2, 1, 0]])
def test_empty_batches(cls, settings, sizes):
    module = cls(WIDTH, HIDDEN, dtype=torch.float64, **settings)
    width = settings.get("proj_size", HIDDEN) * module._directions
    output, hx = module(torch.zeros(3, 0, WIDTH, dtype=torch.float64))
    assert output.shape == (3, 0, width) and all(state.shape[1] == 0 for state in as_list(hx))
    data = torch.ones(sum(sizes), WIDTH, dtype=torch.float64, requires_grad=True)
    output, hx = module(PackedSequence(data, torch.tensor(sizes)))
    output.data.sum().backward()
    assert output.data.shape == (sum(sizes), width) and all(state.shape[1] == sizes[0] for state in as_list(hx))
    if sum(sizes):
        expected, finals = module(PackedSequence(data, torch.tensor([size for size in sizes if size])))
        assert torch.equal(output.data, expected.data) and all(map(np.array_equal, as_list(hx), as_list(finals)))


@each_module
def test_gradients_are_differences_of_the_reference(cls, settings):
    module, x, states = make(cls, **settings)
    input = torch.from_numpy(x).requires_grad_()
    module(input, as_hx(states))[0].sum().backward()
    rng = np.random.default_rng(2)
    direction, eps = rng.standard_normal(x.shape), 1e-6

    def total(x):
        return sum(network(module, x[:, b], [s[:, b] for s in states])[0].sum() for b in range(BATCH))

    slope = (total(x + eps * direction) - total(x - eps * direction)) / (2 * eps)
    assert (input.grad.numpy() * direction).sum() == pytest.approx(slope, rel=1e-6)
    assert all(weight.grad is not None for weight in module.parameters())


@pytest.mark.parametrize(("cell", "mode"), [(nn.RNNCell, "tanh"), (nn.LSTMCell, "LSTM"), (nn.GRUCell, "GRU")])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("batch", [(), (BATCH,)])
def test_cells(cell, mode, bias, batch):
    module, rng = cell(WIDTH, HIDDEN, bias, dtype=torch.float64), np.random.default_rng(3)
    x = rng.standard_normal((*batch, WIDTH))
    states = [rng.standard_normal((*batch, HIDDEN)) for _ in range(2 if mode == "LSTM" else 1)]
    weights = {name: weight.detach().numpy() for name, weight in module.named_parameters()}
    for given, start in ((as_hx(states), states), (None, [0 * s for s in states])):
        for actual, wanted in zip(as_list(module(torch.from_numpy(x), given)), step(mode, x, start, weights)):
            np.testing.assert_allclose(actual, wanted, **TOLERANCE)


def test_dropout_is_between_layers_in_training_only():
    module, x, _ = make(nn.GRU, num_layers=2, dropout=1.0)
    x = torch.from_numpy(x)
    with torch.no_grad():
        once, again = module(x)[0], module(2 * x)[0]
        assert once.tolist() == again.tolist()  # nothing of the first layer comes through
        assert module.eval()(x)[0].tolist() != module(2 * x)[0].tolist()
    with pytest.warns(UserWarning, match="num_layers greater than 1"):
        nn.GRU(1, 1, dropout=0.5)


def test_packing_and_padding_undo_each_other():
    rows = [torch.arange(1.0, n + 1) for n in (2, 3, 1)]
    padded = pad_sequence(rows, batch_first=True, padding_value=-1)
    assert padded.tolist() == [[1, 2, -1], [1, 2, 3], [1, -1, -1]]
    assert pad_sequence(rows, True, 0, "left").tolist() == [[0, 1, 2], [1, 2, 3], [0, 0, 1]]
    packed = pack_sequence(rows, enforce_sorted=False)
    assert packed.data.tolist() == [1, 1, 1, 2, 2, 3] and packed.batch_sizes.tolist() == [3, 2, 1]
    assert packed.sorted_indices.tolist() == [1, 0, 2] and packed.unsorted_indices.tolist() == [1, 0, 2]
    assert [row.tolist() for row in unpack_sequence(packed)] == [row.tolist() for row in rows]
    assert [len(row) for row in unpad_sequence(padded, torch.tensor([2, 3, 1]), batch_first=True)] == [2, 3, 1]


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: nn.LSTM(WIDTH, HIDDEN)(torch.ones(2, 2, 3)), RuntimeError, "input.size(-1) must be equal to input_size. Expected 4"),
        (lambda: nn.GRU(WIDTH, HIDDEN)(torch.ones(2, 2, 4), torch.ones(1, 3, 6)), RuntimeError, "Expected hidden size (1, 2, 6)"),
        (lambda: nn.GRU(WIDTH, HIDDEN)(torch.ones(2, 2, 2, 4)), ValueError, "Expected input to be 2D or 3D"),
        (lambda: nn.LSTM(WIDTH, HIDDEN, proj_size=2)(torch.ones(0, 2, WIDTH)), RuntimeError, "sequence length to be larger than 0"),
        (lambda: nn.RNN(1, 1, nonlinearity="sine"), ValueError, "Unknown nonlinearity 'sine'"),
        (lambda: nn.LSTM(1, 2, proj_size=2), ValueError, "proj_size has to be smaller"),
        (lambda: nn.GRU(1, 0), ValueError, "hidden_size must be greater than zero"),
        (lambda: nn.GRU(1, 1, 2, dropout=2), ValueError, "range [0, 1]"),
        (lambda: pack_padded_sequence(torch.ones(3, 2), [1, 3]), RuntimeError, "sorted in decreasing order"),
        (lambda: pack_padded_sequence(torch.ones(3, 2), [3, 0]), RuntimeError, "greater than 0"),
        (lambda: pack_padded_sequence(torch.ones(3, 2), [4, 1]), RuntimeError, "at most the 3 steps"),
    ],
)
def test_errors(call, error, words):
    with pytest.raises(error) as raised:
        call()
    assert words in str(raised.value)


RELU_CELL = {"nonlinearity": "relu"}


@pytest.mark.parametrize(("cell", "settings"), [(nn.RNNCell, {}), (nn.RNNCell, RELU_CELL), (nn.LSTMCell, {}), (nn.GRUCell, {})])
def test_cells_have_second_derivatives(cell, settings):
    torch.manual_seed(0)
    module, x = cell(2, 3, dtype=torch.float64, **settings), torch.randn(2, 2, dtype=torch.float64)
    names = [name for name, _ in module.named_parameters()]

    def call(x, *weights):
        return torch.func.functional_call(module, dict(zip(names, weights)), (x,))

    inputs = tuple(t.detach().requires_grad_() for t in (x, *module.parameters()))
    assert torch.autograd.gradcheck(call, inputs) and torch.autograd.gradgradcheck(call, inputs)


@pytest.mark.parametrize(("cls", "settings"), [(nn.RNN, {"num_layers": 2}), (nn.LSTM, {"bidirectional": True}), (nn.GRU, {})])
def test_layers_have_second_derivatives(cls, settings):
    module, x, states = make(cls, **settings)
    inputs = tuple(torch.from_numpy(t[:3, :1]).requires_grad_() for t in (x, *states))

    def call(x, *states):
        return module(x, states if cls is nn.LSTM else states[0])

    assert torch.autograd.gradgradcheck(call, inputs)


def test_halves_have_second_derivatives():
    cell, x = nn.LSTMCell(2, 3, dtype=torch.bfloat16), torch.ones(2, 2, dtype=torch.bfloat16, requires_grad=True)
    (grad,) = torch.autograd.grad(cell(x)[0].sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(grad.square().sum(), x)
    assert second.dtype is torch.bfloat16 and second.isfinite().all()


def test_packed_sequences_convert():
    packed = torch.nn.utils.rnn.pack_sequence([torch.tensor([1.0, 2.0]), torch.tensor([3.0])])
    for name, dtype in (("int", torch.int32), ("short", torch.int16), ("char", torch.int8), ("byte", torch.uint8), ("double", torch.float64)):
        converted = getattr(packed, name)()
        assert converted.data.dtype == dtype and converted.batch_sizes is packed.batch_sizes
    assert not packed.is_cuda and not packed.is_pinned()
