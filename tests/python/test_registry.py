"""Every declared function against references, in all the ways in which it can be called: driven by the catalogue and the tables in `cases`."""

import contextlib
import importlib
import pathlib
import pkgutil

import numpy as np
import pytest

import cases
import opforge as torch
from cases import CATALOGUE

FILES = [importlib.import_module(f"cases.{m.name}") for m in pkgutil.iter_modules([str(pathlib.Path(cases.__file__).parent)])]
CASES = [case for file in FILES for case in file.CASES]
EXACT = [case for case in CASES if case.exact]
# The largest relative error of a result, in terms of the largest element, by dtype.
TOLERANCE = {"float64": 1e-9, "float32": 2e-5, "float16": 1e-2, "bfloat16": 8e-2}


def each(selected):
    return pytest.mark.parametrize("case", selected, ids=str)


def is_float(array):
    return isinstance(array, np.ndarray) and array.dtype == np.float64


def mapped(args, f):
    """Arguments with a function applied to each array, in lists too."""
    one = lambda a: f(a) if isinstance(a, np.ndarray) else a  # noqa: E731
    return tuple([one(b) for b in a] if isinstance(a, (list, tuple)) and a and isinstance(a[0], (np.ndarray, type(None))) else one(a) for a in args)


def tensors(args, dtype=torch.float64, **options):
    return mapped(args, lambda a: torch.tensor(a, dtype=dtype if is_float(a) else None, **options))


def arrays(args):
    """What the tensors hold, floats in float64."""
    convert = lambda t: (t.double() if t.is_floating_point() else t).numpy() if isinstance(t, torch.Tensor) else t  # noqa: E731
    return tuple([convert(b) for b in a] if isinstance(a, list) else convert(a) for a in args)


def leaves(result):
    """The tensors and numbers of a result."""
    return [leaf for part in result for leaf in leaves(part)] if isinstance(result, (tuple, list)) else [result]


def array(leaf):
    return arrays([leaf])[0] if isinstance(leaf, torch.Tensor) else np.asarray(leaf)


def check(result, expected, tolerance):
    result, expected = leaves(result), leaves(expected)
    assert len(result) == len(expected)
    for got, wanted in zip(map(array, result), map(np.asarray, expected)):
        assert got.shape == wanted.shape
        assert got.dtype.kind == wanted.dtype.kind, f"{got.dtype}, wanted {wanted.dtype}"
        finite = wanted[np.isfinite(wanted)]
        scale = max(1.0, np.abs(finite).max(initial=0)) if wanted.dtype.kind in "fc" else 0
        np.testing.assert_allclose(got, wanted, rtol=0, atol=tolerance * scale)


def call(case, args, function=None, **more):
    like = next((leaf for leaf in leaves(args) if isinstance(leaf, torch.Tensor)), None)
    near = lambda a: torch.tensor(a).to(like if is_float(a) else like.device)  # noqa: E731
    given = {key: mapped([v], near)[0] for key, v in case.options.items()}
    return (function or case.function)(*args, **given, **more)


def same(result, other):
    for a, b in zip(leaves(result), leaves(other), strict=True):
        np.testing.assert_array_equal(array(a), array(b))


# The catalogue and the tables cover each other

# Steps of optimizers change several tensors and return nothing: the optimizers' tests have them. Moves from device to device need two: those of
# `crates/opforge/tests/devices.rs`.
ELSEWHERE = {"sgd_step", "adam_step", "rmsprop_step", "to_device"}


def test_every_function_has_a_case():
    missing = sorted(set(CATALOGUE) - {case.name for case in CASES} - ELSEWHERE)
    assert not missing, f"functions without a case in tests/python/cases: {missing}"


def test_every_case_has_a_function():
    assert not sorted({case.name for case in CASES} - set(CATALOGUE))


# Values


@each(CASES)
def test_value(case):
    args = tensors(case.args)
    result = call(case, args)
    if case.exact:
        check(result, case.expected(case.args), TOLERANCE["float64"] * case.tolerance)
    else:
        case.expected(tuple(array(leaf) for leaf in leaves(result)))
    for before, after in zip(leaves(case.args), leaves(arrays(args)), strict=True):
        if isinstance(before, np.ndarray) and case.entry["faces"] != ["hidden"] and case.function.__name__[-1] != "_":
            np.testing.assert_array_equal(after, before, "an argument was changed")


HALF = [case for case in EXACT if case.half and any(is_float(leaf) for leaf in leaves(case.args))]


@each(HALF)
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_lower_precision(case, dtype):
    args = tensors(case.args, getattr(torch, dtype))
    result = call(case, args)
    if dtype != "float32" and any(a.dtype.kind in "bi" for a in map(array, leaves(result))):
        return  # Rounded arguments may compare otherwise; values in full precision are checked above.
    check(result, case.expected(arrays(args)), TOLERANCE[dtype] * case.tolerance)
    for leaf in leaves(result):
        if isinstance(leaf, torch.Tensor) and leaf.is_floating_point() and "dtype" not in case.options:
            assert leaf.dtype is getattr(torch, dtype)


# Layouts


def transposed(a):
    return torch.tensor(a.T.copy()).permute(*reversed(range(a.ndim))) if a.ndim > 1 else torch.tensor(a)


def strided(a):
    if a.ndim == 0:
        return torch.tensor(np.stack([a, a]))[1]
    return torch.tensor(np.repeat(a, 2, axis=-1))[..., ::2]


# What only some layouts can be seen as.
LAYOUTS = [case for case in EXACT if case.entry["python_name"] not in {"as_strided", "view", "view_as"}]


@each(LAYOUTS)
@pytest.mark.parametrize("layout", [transposed, strided])
def test_layouts(case, layout):
    args = mapped(case.args, layout)
    check(call(case, args), case.expected(case.args), TOLERANCE["float64"] * case.tolerance)


POINTWISE = [case for case in EXACT if case.pointwise]


@each(POINTWISE)
@pytest.mark.parametrize("shape", [(), (0,), (2, 0, 3), (1, 1), (70,), (3, 1, 5)], ids=str)
def test_shapes(case, shape):
    args = mapped(case.args, lambda a: np.resize(a, shape))
    check(call(case, tensors(args)), case.expected(args), TOLERANCE["float64"] * case.tolerance)


@each([case for case in POINTWISE if all(a.ndim == 2 for a in case.args if isinstance(a, np.ndarray))])
def test_expanded_inputs(case):
    first = mapped(case.args, lambda a: a[:1, :1])
    args = mapped(first, lambda a: torch.tensor(a).expand(5, 3))
    wanted = case.expected(mapped(first, lambda a: np.broadcast_to(a, (5, 3))))
    check(call(case, args), wanted, TOLERANCE["float64"] * case.tolerance)


@each(POINTWISE)
def test_nan_and_infinities(case):
    values = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0])
    grids = dict(zip([i for i, a in enumerate(case.args) if is_float(a)], np.meshgrid(values, values)))
    args = tuple(grids.get(i, a) for i, a in enumerate(case.args))
    with np.errstate(all="ignore"):
        wanted = case.expected(args)
    check(call(case, tensors(args)), wanted, TOLERANCE["float64"] * case.tolerance)


# Forms


@each([case for case in EXACT if "method" in case.entry["faces"]])
def test_method(case):
    args = tensors(case.args)
    if isinstance(args[0], torch.Tensor):
        same(call(case, args, case.shown_in("method")), call(case, args))


@each([case for case in EXACT if case.entry["out"] and {"torch", "linalg", "special"} & set(case.entry["faces"])])
def test_out(case):
    args = tensors(case.args)
    plain = call(case, args)
    if isinstance(plain, torch.Tensor):
        out = torch.empty(plain.shape, dtype=plain.dtype)
        assert call(case, args, out=out) is out
        same(out, plain)
        other = torch.empty((7, *plain.shape), dtype=plain.dtype)
        with pytest.warns(UserWarning, match="takes the result's") if other.numel() else contextlib.nullcontext():
            assert call(case, args, out=other) is other
        same(other, plain)
    else:
        out = tuple(torch.empty(p.shape, dtype=p.dtype) for p in plain)
        call(case, args, out=out)
        same(out, plain)


# What says whether numbers are 0 or equal, and copies, which cast.
SAME_FOR_COMPLEX = {"copy_number", "logical_and", "logical_or", "logical_xor", "eq", "ne", "not_equal", "isin"}


def numbers_of(case):
    """The arguments that may be numbers of any kind: each as its place, positional or by name, and its number."""
    parameters = [p for p in case.entry["parameters"] if "Number" in p["type"]]
    positional = [p["name"] for p in case.entry["parameters"]]
    for p in parameters:
        place = positional.index(p["name"])
        given = case.args[place] if place < len(case.args) else case.options.get(p["name"], p["default"])
        number = int(given) if isinstance(given, str) and given.isdigit() else given
        if isinstance(number, (int, float)) and not isinstance(number, bool):
            yield place, p["name"], number


# `x ** (2 + 1j)`, `add(z, 1j, alpha=2)`, `addmm(.., beta=1j)`, `index_add(.., alpha=1 + 1j)` and `lerp(z, z, 1 + 1j)` once went by the real parts alone.
@each([case for case in EXACT if case.name not in SAME_FOR_COMPLEX and any(True for _ in numbers_of(case))])
@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128])
def test_imaginary_parts_of_numbers_count(case, dtype):
    def result(place, name, number):
        args, options = list(tensors(case.args, dtype=dtype)), dict(case.options)
        if place < len(args):
            args[place] = number
        else:
            options[name] = number
        try:
            return leaves(case.function(*args, **options))
        except (torch.OpforgeError, TypeError, RuntimeError, ValueError):
            return None

    for place, name, number in numbers_of(case):
        for real in {number, 0, 0.5, 1, 2, 3, -1}:
            without, having = (result(place, name, n) for n in (real, real + 1j))
            if without is not None and having is not None:
                pairs = [(array(a), array(b)) for a, b in zip(without, having, strict=True)]
                assert all(np.any(a != b) for a, b in pairs), (name, real)


class Whole(torch.Tensor):
    """A tensor that notes when it is taken apart: through its iterator a call makes a tensor of each row."""

    __torch_function__ = torch._C._disabled_torch_function_impl
    taken_apart = []

    def __iter__(self):
        self.taken_apart.append("__iter__")
        return super().__iter__()

    def __getitem__(self, index):
        self.taken_apart.append("__getitem__")
        return super().__getitem__(index)


# `torch.add(x, y, out=z)` once made a tensor of each row of x and y.
@each(CASES)
def test_arguments_are_taken_whole(case):
    whole = lambda a: torch.tensor(a).as_subclass(Whole)  # noqa: E731
    args = mapped(case.args, whole)
    Whole.taken_apart.clear()
    result = call(case, args)
    if isinstance(result, torch.Tensor) and case.entry["out"] and {"torch", "linalg", "special"} & set(case.entry["faces"]):
        call(case, args, out=torch.empty(0, dtype=result.dtype))
    assert not Whole.taken_apart


SHAPELESS = {"nonzero", "nonzero_tuple", "nonzero_as", "where_places", "argwhere", "masked_select", "unique", "unique_consecutive", "equal", "allclose", "one_hot"}


@each([case for case in EXACT if case.name not in SHAPELESS])
def test_meta_tensors_tell_shapes_and_dtypes(case):
    args = tensors(case.args)
    plain = call(case, args)
    try:
        meta = call(case, mapped_tensors(args, lambda t: t.to("meta")))
    except torch.OpforgeError as error:
        assert "meta" in str(error).lower(), f"refused without naming the device: {error}"
        return
    for got, wanted in zip(leaves(meta), leaves(plain), strict=True):
        if isinstance(wanted, torch.Tensor):
            assert (got.shape, got.dtype) == (wanted.shape, wanted.dtype)


# Gradients


def mapped_tensors(args, f):
    one = lambda a: f(a) if isinstance(a, torch.Tensor) else a  # noqa: E731
    return tuple([one(b) for b in a] if isinstance(a, list) else one(a) for a in args)


def weights(leaf, seed):
    return torch.tensor(np.random.default_rng(seed).uniform(-1, 1, leaf.shape))


def scalar(case, args):
    """The result as one number: a weighted sum of its floats."""
    parts = [leaf for leaf in leaves(call(case, args)) if isinstance(leaf, torch.Tensor) and leaf.dtype is torch.float64]
    return sum(((part * weights(part, i)).sum() for i, part in enumerate(parts)), torch.tensor(0.0, dtype=torch.float64))


def floats(args):
    return [leaf for leaf in leaves(args) if isinstance(leaf, torch.Tensor) and leaf.dtype is torch.float64]


def differences(f, args, h=1e-6):
    """The gradient of a number with respect to each tensor of floats, by central differences."""
    gradients = []
    for tensor in floats(args):
        flat, gradient = tensor.view(-1), []
        for i in range(flat.numel()):
            before, values = flat[i].item(), []
            for step in (h, -h):
                flat[i] = before + step
                values.append(float(f(args)))
            flat[i] = before
            gradient.append((values[0] - values[1]) / (2 * h))
        gradients.append(np.array(gradient).reshape(tuple(tensor.shape)))
    return gradients


def gradients(number, inputs, **options):
    found = torch._core.grad(number, inputs, allow_unused=True, materialize_grads=True, **options)
    return [g if g is not None else torch.zeros(i.shape, dtype=i.dtype) for g, i in zip(found, inputs)]


SMOOTH = [case for case in EXACT if case.smooth and any(is_float(leaf) for leaf in leaves(case.args))]


@each(SMOOTH)
def test_gradient(case):
    args = tensors(case.args)
    wanted = differences(lambda args: scalar(case, args), args)
    inputs = [t.requires_grad_() for t in floats(args)]
    number = scalar(case, args)
    if not number.requires_grad:
        assert all(np.abs(w).max(initial=0) < 1e-6 for w in wanted), "no gradient, but the result changes with the input"
        return
    for got, expected in zip(gradients(number, inputs), wanted):
        np.testing.assert_allclose(got.numpy(), expected, rtol=1e-4, atol=1e-5 * case.tolerance)


@each([case for case in SMOOTH if case.twice])
def test_second_derivative(case):
    def slope(args):
        inputs = [t.detach().requires_grad_() for t in floats(args)]
        fresh = iter(inputs)
        args = mapped_tensors(args, lambda t: next(fresh) if t.dtype is torch.float64 else t)
        number = scalar(case, args)
        if not number.requires_grad:
            return None, inputs
        first = gradients(number, inputs, create_graph=True)
        return sum((g * weights(g, 10 + i)).sum() for i, g in enumerate(first)), inputs

    args = tensors(case.args)
    number, inputs = slope(args)
    if number is None:
        return
    wanted = differences(lambda args: slope(args)[0], tensors(case.args))
    if not number.requires_grad:
        assert all(np.abs(w).max(initial=0) < 1e-5 for w in wanted), "no second derivative, but the gradient changes"
        return
    for got, expected in zip(gradients(number, inputs), wanted):
        np.testing.assert_allclose(got.numpy(), expected, rtol=1e-3, atol=1e-4 * case.tolerance)
