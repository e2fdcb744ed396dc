"""Floats of 8 bits: stored, moved, converted, tested for equality, and refused by everything that computes."""

import copy
import io
import json
import math
import pickle
import struct
import sys
import warnings

import numpy as np
import pytest

import opforge as torch

E4M3, E5M2 = torch.float8_e4m3fn, torch.float8_e5m2
FLOAT8 = [E4M3, E5M2]
OTHERS = [
    torch.bool, torch.uint8, torch.uint16, torch.uint32, torch.uint64, torch.int8, torch.int16, torch.int32, torch.int64,
    torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.complex64, torch.complex128,
]  # fmt: skip
# Bits of the fraction, the bias, and the first code beyond the finite numbers.
FORMATS = {E4M3: (3, 7, 0x7F), E5M2: (2, 15, 0x7C)}


def number(dtype, code):
    """What a code stands for, by the definition of the format."""
    fraction_bits, bias, beyond = FORMATS[dtype]
    sign, code = (-1.0 if code & 0x80 else 1.0), code & 0x7F
    if code >= beyond:
        return sign * math.inf if dtype is E5M2 and code == beyond else math.nan
    exponent, fraction = code >> fraction_bits, (code & ((1 << fraction_bits) - 1)) / (1 << fraction_bits)
    return sign * (fraction * 2.0 ** (1 - bias) if exponent == 0 else (1 + fraction) * 2.0 ** (exponent - bias))


def nearest(dtype, value):
    """The code of the nearest number, the even one of two; beyond the largest, that of the NaN or infinity that follows it."""
    sign = 0x80 if math.copysign(1.0, value) < 0 else 0
    if math.isnan(value):
        return sign | 0x7F
    beyond = FORMATS[dtype][2]
    step = number(dtype, beyond - 1) - number(dtype, beyond - 2)
    magnitudes = [number(dtype, code) for code in range(beyond)] + [number(dtype, beyond - 1) + step]
    if abs(value) >= magnitudes[-1]:
        return sign | beyond
    return sign | min(range(beyond + 1), key=lambda code: (abs(magnitudes[code] - abs(value)), code % 2))


def every(dtype):
    """All 256 elements."""
    return torch.arange(256, dtype=torch.int64).to(torch.uint8).view(dtype)


def codes(tensor):
    return tensor.contiguous().view(torch.uint8).flatten().tolist()


def same(a, b):
    return len(a) == len(b) and all(x == y and math.copysign(1, x) == math.copysign(1, y) or x != x and y != y for x, y in zip(a, b))


@pytest.mark.parametrize("dtype", FLOAT8)
def test_names_and_sizes(dtype):
    name = {E4M3: "float8_e4m3fn", E5M2: "float8_e5m2"}[dtype]
    assert repr(dtype) == f"opforge.{name}" and torch.dtype(name) == dtype and getattr(torch, name) is dtype
    assert dtype.itemsize == 1 and dtype.is_floating_point and dtype.is_signed and not dtype.is_complex
    x = torch.zeros(3, dtype=dtype)
    assert x.is_floating_point() and torch.is_floating_point(x) and x.element_size() == 1 and x.nbytes == 3
    assert pickle.loads(pickle.dumps(dtype)) is dtype and copy.deepcopy(dtype) is dtype


def test_finfo():
    info = torch.finfo(E4M3)
    assert (info.bits, info.eps, info.max, info.min, info.tiny, info.smallest_normal, info.resolution) == (8, 0.125, 448, -448, 2**-6, 2**-6, 1)
    info = torch.finfo(E5M2)
    assert (info.bits, info.eps, info.max, info.min, info.tiny, info.smallest_normal, info.resolution) == (8, 0.25, 57344, -57344, 2**-14, 2**-14, 1)
    assert (torch.finfo(E4M3).dtype, torch.finfo(E5M2).dtype) == ("float8_e4m3fn", "float8_e5m2")
    with pytest.raises(TypeError, match="iinfo"):
        torch.iinfo(E4M3)


@pytest.mark.parametrize("dtype", FLOAT8)
def test_creation(dtype):
    x = torch.tensor([[0.3, -2.0], [1e-9, 7]], dtype=dtype)
    assert x.dtype is dtype and codes(x) == [nearest(dtype, v) for v in (0.3, -2.0, 1e-9, 7.0)]
    assert torch.empty(2, 3, dtype=dtype).shape == (2, 3) and torch.empty_like(x).dtype is dtype
    assert torch.zeros(2, dtype=dtype).tolist() == [0, 0] and torch.ones(2, dtype=dtype).tolist() == [1, 1]
    assert torch.full((2,), 1.5, dtype=dtype).tolist() == [1.5, 1.5] and torch.ones_like(x).tolist() == [[1, 1], [1, 1]]
    assert torch.tensor([x[0, 1], x[1, 1]]).dtype is dtype
    assert x.new_zeros(2).dtype is dtype and torch.zeros(2, dtype=dtype).fill_(3).tolist() == [3, 3]
    with pytest.raises(TypeError, match="not promoted"):
        torch.tensor([x[0, 1], torch.tensor(1.0)])


@pytest.mark.parametrize("dtype", FLOAT8)
def test_every_element_is_read(dtype):
    numbers = [number(dtype, code) for code in range(256)]
    assert same(every(dtype).tolist(), numbers)
    for wide in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        assert same(every(dtype).to(wide).to(torch.float64).tolist(), numbers), wide
    assert same(every(dtype).to(torch.complex64).real.tolist(), numbers)
    finite = every(dtype)[[code for code, value in enumerate(numbers) if math.isfinite(value)]]
    assert finite.to(torch.int64).tolist() == [int(value) for value in numbers if math.isfinite(value)]
    assert finite.to(torch.bool).tolist() == [value != 0 for value in numbers if math.isfinite(value)]
    assert every(dtype).to(dtype) is not None and codes(every(dtype).clone()) == list(range(256))


@pytest.mark.parametrize("dtype", FLOAT8)
def test_numbers_are_rounded_to_the_nearest(dtype):
    beyond = FORMATS[dtype][2]
    finite = [number(dtype, code) for code in range(beyond)]
    step = finite[-1] - finite[-2]
    ties = [(a + b) / 2 for a, b in zip(finite, finite[1:] + [finite[-1] + step])]
    rng = np.random.default_rng(0)
    noise = np.ldexp(rng.standard_normal(500), rng.integers(-22, 20, 500))
    special = [0.0, math.inf, math.nan, 1e-45, 1e30]
    values = np.float32([*ties, *np.nextafter(np.float32(ties), np.float32(0)), *np.nextafter(np.float32(ties), np.float32(1e9)), *noise, *special])
    values = np.concatenate([values, -values])
    wanted = [nearest(dtype, float(v)) for v in values]
    assert codes(torch.from_numpy(values).to(dtype)) == wanted
    assert codes(torch.from_numpy(values).to(torch.float64).to(dtype)) == wanted
    assert codes(torch.tensor(values.tolist(), dtype=dtype)) == wanted


@pytest.mark.parametrize("dtype", FLOAT8)
def test_every_half_is_rounded_to_the_nearest(dtype):
    for half in (torch.float16, torch.bfloat16):
        bits = torch.from_numpy(np.arange(1 << 16).astype(np.uint16)).view(half)
        # Few numbers have each code, so that it is enough to look at it from the number's side.
        values = bits.to(torch.float64).numpy()
        got = np.array(codes(bits.to(dtype)))
        unique, place = np.unique(values.view(np.int64), return_inverse=True)
        known = {}
        sample = unique[:: 1 if len(unique) < 2000 else 7]
        for pattern in sample:
            known[int(pattern)] = nearest(dtype, struct.unpack("d", struct.pack("q", int(pattern)))[0])
        for pattern, code in zip(unique[place].tolist(), got.tolist()):
            assert known.get(pattern, code) == code


def test_overflow_is_as_pytorch_documents_it():
    x = torch.tensor([448.0, 464.0, 465.0, -1e9, math.inf])
    assert same(x.to(E4M3).tolist(), [448.0, 448.0, math.nan, math.nan, math.nan])
    x = torch.tensor([57344.0, 61439.0, 61440.0, -1e9, math.inf])
    assert same(x.to(E5M2).tolist(), [57344.0, 57344.0, math.inf, -math.inf, math.inf])


@pytest.mark.parametrize("dtype", FLOAT8)
@pytest.mark.parametrize("other", OTHERS + FLOAT8)
def test_conversions_of_every_dtype(dtype, other):
    x = torch.tensor([[0, 1, 3], [1, 0, 5]]).to(other)
    for source in (x, x.T, x[:, ::2], x[0, 1], x[:0]):
        there = source.to(dtype)
        assert there.dtype is dtype and there.shape == source.shape
        assert there.to(torch.float64).tolist() == source.to(torch.float64).tolist()
        assert there.to(other).tolist() == source.tolist()


@pytest.mark.parametrize("dtype", FLOAT8)
def test_moves_keep_every_bit(dtype):
    x, raw = every(dtype).view(16, 16), torch.arange(256).to(torch.uint8).view(16, 16)
    index = torch.tensor([3, 0, 15])
    moves = [
        lambda t: t.T, lambda t: t.T.contiguous(), lambda t: t[2:9, ::3], lambda t: t.clone(), lambda t: t.reshape(4, 64), lambda t: t.flip(0),
        lambda t: torch.cat([t, t[:2]]), lambda t: torch.stack([t, t], 1), lambda t: t.index_select(1, index), lambda t: t[index],
        lambda t: t[index, index], lambda t: t[t.view(torch.uint8) > 100], lambda t: torch.gather(t, 0, index.view(1, 3)), lambda t: t.expand(2, 16, 16),
        lambda t: t.roll(3, 1), lambda t: t.repeat(2, 1), lambda t: torch.where(torch.eye(16) > 0, t, t.T), lambda t: torch.take(t, index),
        lambda t: t.diagonal(),
        lambda t: t.unfold(0, 3, 2), lambda t: torch.nn.functional.embedding(index, t), lambda t: t.permute(1, 0)[None],
        lambda t: torch.masked_select(t, torch.eye(16) > 0), lambda t: t.squeeze(), lambda t: torch.tril(t), lambda t: t.narrow(0, 1, 3),
        lambda t: t.split(5)[3],
        lambda t: t.scatter(0, index.view(1, 3), t[:1, :3]), lambda t: t.new_empty(16, 16).copy_(t), lambda t: t.index_copy(0, index, t[:3]),
    ]  # fmt: skip
    for i, move in enumerate(moves):
        moved = move(x)
        assert moved.dtype is dtype and codes(moved) == move(raw).flatten().tolist(), i
    y = x.clone()
    y[3], y[:, 2] = x[5], x[0]
    want = raw.clone()
    want[3], want[:, 2] = raw[5], raw[0]
    assert codes(y) == want.flatten().tolist()
    y[0, 0] = 1.75
    y.masked_fill_(torch.eye(16) > 0, -0.5)
    assert y[1, 1].item() == -0.5 and y.zero_().tolist() == torch.zeros(16, 16).tolist()


@pytest.mark.parametrize("dtype", FLOAT8)
def test_views_of_bytes(dtype):
    x = torch.tensor([1.0, -2.0], dtype=dtype)
    assert x.view(torch.uint8).data_ptr() == x.data_ptr() and x.view(torch.uint8).view(dtype).tolist() == [1, -2]
    x.view(torch.uint8)[0] = 0
    assert x.tolist() == [0, -2]
    assert torch.zeros(2).view(dtype).shape == (8,) and every(dtype).view(torch.float32).shape == (64,)


def test_equality():
    x = torch.tensor([1.0, math.nan, -0.0, 3.0], dtype=E4M3)
    y = torch.tensor([1.0, math.nan, 0.0, 2.0], dtype=E4M3)
    assert (x == y).tolist() == [True, False, True, False] and (x != y).tolist() == [False, True, False, True]
    assert (x == 1).tolist() == [True, False, False, False] and (3.0 != x).tolist() == [True, True, True, False]
    # A number is rounded to the dtype, as with other floats.
    assert (x == 1.01).tolist() == [True, False, False, False]
    assert torch.isnan(x).tolist() == [False, True, False, False] and x.isnan().dtype is torch.bool
    assert (x[:, None] == y).shape == (4, 4) and torch.equal(y[2:], y[2:].clone()) and not torch.equal(x, y)
    assert x.nonzero().tolist() == [[0], [1], [3]] and torch.isin(x, y).tolist() == [True, False, True, False]
    torch.testing.assert_close(y[2:], y[2:].clone())
    with pytest.raises(AssertionError, match="not close"):
        torch.testing.assert_close(x[3:], y[3:])
    with pytest.raises(TypeError, match="eq.*float8|eq.*f8e4m3"):
        x == x.to(E5M2)


@pytest.mark.parametrize("dtype", FLOAT8)
def test_gradients_pass_through_conversions(dtype):
    x = torch.tensor([0.3, -2.0], requires_grad=True)
    y = x.to(dtype)
    assert y.requires_grad and y.dtype is dtype
    (y.to(torch.float32) * torch.tensor([2.0, 0.5])).sum().backward()
    assert x.grad.tolist() == [2.0, 0.5] and x.grad.dtype is torch.float32
    weight = torch.nn.Parameter(torch.ones(2, dtype=dtype))
    assert weight.requires_grad and weight.dtype is dtype
    weight.to(torch.float32).sum().backward()
    assert weight.grad.dtype is dtype and weight.grad.tolist() == [1, 1]


@pytest.mark.parametrize("dtype", FLOAT8)
def test_modules_keep_their_weights_so(dtype):
    layer = torch.nn.Linear(3, 2).to(dtype)
    assert layer.weight.dtype is dtype and layer.float().weight.dtype is torch.float32
    x = torch.ones(1, 3)
    with pytest.raises(TypeError, match="f8e"):
        torch.nn.Linear(3, 2).to(dtype)(x)
    assert layer(x).shape == (1, 2)


def test_printing():
    assert repr(torch.tensor([1.0, -0.5], dtype=E4M3)) == "tensor([ 1.0000, -0.5000], dtype=opforge.float8_e4m3fn)"
    assert repr(torch.tensor([[math.inf, math.nan]], dtype=E5M2)) == "tensor([[inf, nan]], dtype=opforge.float8_e5m2)"
    assert repr(torch.tensor(2.0, dtype=E5M2)) == "tensor(2., dtype=opforge.float8_e5m2)"
    assert torch.tensor(1.5, dtype=E4M3).item() == 1.5 and float(torch.tensor(1.5, dtype=E4M3)) == 1.5


@pytest.mark.parametrize("dtype, name", [(E4M3, "F8_E4M3"), (E5M2, "F8_E5M2")])
def test_safetensors(dtype, name, tmp_path):
    path = tmp_path / "t.safetensors"
    torch.save({"x": every(dtype).view(16, 16).T}, path)
    data = path.read_bytes()
    header = json.loads(data[8 : 8 + struct.unpack("<Q", data[:8])[0]])
    assert [entry["dtype"] for key, entry in header.items() if key != "__metadata__"] == [name]
    back = torch.load(path)["x"]
    assert back.dtype is dtype and codes(back) == codes(every(dtype).view(16, 16).T)
    # A file of another writer.
    head = json.dumps({"y": {"dtype": name, "shape": [2], "data_offsets": [0, 2]}}).encode()
    path.write_bytes(struct.pack("<Q", len(head)) + head + bytes([0x40, 0xC4]))
    assert torch.load(path)["y"].tolist() == [number(dtype, 0x40), number(dtype, 0xC4)]


@pytest.mark.parametrize("dtype", FLOAT8)
def test_pytorch_files_and_pickles(dtype, tmp_path):
    x = every(dtype)
    path = tmp_path / "t.pt"
    torch.save({"x": x, "dtype": dtype}, path)
    back = torch.load(path)
    assert back["dtype"] is dtype and back["x"].dtype is dtype and codes(back["x"]) == list(range(256))
    for again in (pickle.loads(pickle.dumps(x)), copy.copy(x), copy.deepcopy(x)):
        assert again.dtype is dtype and codes(again) == list(range(256))
    buffer = io.BytesIO()
    torch.save(x, buffer)
    assert codes(torch.load(io.BytesIO(buffer.getvalue()))) == list(range(256))


def test_numpy_needs_a_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    for dtype in FLOAT8:
        with pytest.raises(TypeError, match="numpy, input: float8.*ml_dtypes"):
            torch.ones(2, dtype=dtype).numpy()
        with pytest.raises(BufferError):
            memoryview(torch.ones(2, dtype=dtype))


@pytest.mark.parametrize("dtype", FLOAT8)
def test_numpy_with_the_package(dtype):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    numpy_dtype = getattr(ml_dtypes, repr(dtype).removeprefix("opforge."))
    x = every(dtype).view(16, 16)
    array = x.T.numpy()
    assert array.dtype == numpy_dtype and same(array.astype(np.float64).flatten().tolist(), x.T.flatten().tolist())
    back = torch.from_numpy(array)
    assert back.dtype is dtype and back.data_ptr() == x.data_ptr() and codes(back) == codes(x.T)
    assert torch.tensor(array).dtype is dtype and torch.as_tensor(array[::2]).shape == (8, 16)
    # The package rounds as we do.
    rng = np.random.default_rng(1)
    values = np.ldexp(rng.standard_normal(100_000), rng.integers(-20, 20, 100_000)).astype(np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wanted = values.astype(numpy_dtype).view(np.uint8)
    got = torch.from_numpy(values).to(dtype).view(torch.uint8).numpy()
    is_nan = np.isnan(torch.from_numpy(values).to(dtype).to(torch.float32).numpy())
    assert ((got & 0x7F) == (wanted & 0x7F))[~is_nan].all() and (wanted[is_nan] & 0x7F > FORMATS[dtype][2] - 1).all()


@pytest.mark.parametrize("dtype", FLOAT8)
def test_compiled_programs_hold_it(dtype):
    @torch.compile
    def through(x):
        return (x.to(dtype).T.contiguous().to(torch.float32) * 2).sum()

    x = torch.tensor([[0.3, 1.0], [7.0, -2.0]])
    assert through(x).item() == pytest.approx((x.to(dtype).float() * 2).sum().item())
