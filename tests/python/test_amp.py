"""Mixed precision: what is cast, gradients' dtypes, and scaled losses."""

import threading

import numpy as np
import pytest

import opforge as torch
import opforge.nn.functional as F
from opforge.amp import GradScaler, custom_bwd, custom_fwd
from test_registry import EXACT, array, call, each, leaves, tensors

BF16, F16, F32, F64 = torch.bfloat16, torch.float16, torch.float32, torch.float64


def rand(*shape, dtype=F32):
    return torch.rand(*shape).to(dtype)


LOWER = {
    "@": lambda x: x @ x,
    "matmul": lambda x: torch.matmul(x, x),
    "mm": lambda x: x.mm(x),
    "bmm": lambda x: torch.bmm(x[None], x[None]),
    "addmm": lambda x: torch.addmm(x, x, x),
    "baddbmm": lambda x: torch.baddbmm(x[None], x[None], x[None]),
    "linear": lambda x: F.linear(x, x, x[0]),
    "conv2d": lambda x: F.conv2d(x[None, None], x[None, None]),
    "conv_transpose1d": lambda x: F.conv_transpose1d(x[None], x[:, None]),
    "attention": lambda x: F.scaled_dot_product_attention(x[None, None], x[None, None], x[None, None]),
    "prelu": lambda x: F.prelu(x, x[0]),
    "einsum": lambda x: torch.einsum("ij,jk->ik", x, x),
    "einsum of a sum": lambda x: torch.einsum("ij,ij->", x, x),
    "tensordot": lambda x: torch.tensordot(x, x, 1),
    "multi_dot": lambda x: torch.linalg.multi_dot([x, x, x]),
    "multi-head": lambda x: torch.nn.MultiheadAttention(4, 2)(x, x, x)[0],
    "lstm": lambda x: torch.nn.LSTM(4, 4)(x)[0],
}
FULL = {
    "cross_entropy": lambda x: F.cross_entropy(x, torch.tensor([0, 1, 2, 3])),
    "mse_loss": lambda x: F.mse_loss(x, x * 2),
    "prod": lambda x: x.prod(),
    "trace": lambda x: torch.trace(x),
    "pad": lambda x: F.pad(x, (1, 1), mode="reflect"),
    "cholesky": lambda x: torch.linalg.cholesky(x @ x.T + 4 * torch.eye(4)),
    "inv": lambda x: torch.linalg.inv(x + 4 * torch.eye(4)),
    "max_unpool2d": lambda x: F.max_unpool2d(x[None, None], torch.arange(16).reshape(1, 1, 4, 4), 2),
    "triangular_solve": lambda x: torch.triangular_solve(x, x + 4 * torch.eye(4))[0],
    "avg_pool3d": lambda x: F.avg_pool3d(x[None, None], 1),
}
AS_IT_IS = {
    "mul": lambda x: x * x,
    "mv": lambda x: x.mv(x[0]),
    "softmax": lambda x: x.softmax(0),
    "layer_norm": lambda x: F.layer_norm(x, (4,), rand(4), rand(4)),
    "group_norm": lambda x: torch.nn.GroupNorm(2, 4)(x),
    "gru": lambda x: torch.nn.GRU(4, 4)(x)[0],
    "exp": lambda x: x.exp(),
    "sum": lambda x: x.sum(),
    "einsum of products": lambda x: torch.einsum("ij,ij->ij", x, x),
    "in place": lambda x: x.clone().addmm_(x, x),
    "out": lambda x: torch.mm(x, x, out=torch.empty(4, 4, dtype=x.dtype)),
}


@pytest.mark.parametrize("lower", [BF16, F16])
@pytest.mark.parametrize("name", LOWER)
def test_products_are_lower(name, lower):
    with torch.autocast("cpu", dtype=lower):
        assert LOWER[name](rand(4, 4)).dtype is lower
        assert LOWER[name](rand(4, 4, dtype=lower)).dtype is lower
    assert LOWER[name](rand(4, 4)).dtype is F32


@pytest.mark.parametrize("name", FULL)
def test_losses_and_factors_are_full(name):
    with torch.autocast("cpu"):
        assert FULL[name](rand(4, 4)).dtype is F32
        assert FULL[name](rand(4, 4, dtype=BF16)).dtype is F32


@pytest.mark.parametrize("name", AS_IT_IS)
@pytest.mark.parametrize("dtype", [F32, BF16])
def test_the_rest_is_as_it_is(name, dtype):
    with torch.autocast("cpu"):
        assert AS_IT_IS[name](rand(4, 4, dtype=dtype)).dtype is dtype


@pytest.mark.parametrize("name", ["@", "linear", "conv2d", "einsum"])
def test_float64_and_integers_are_not_cast(name):
    with torch.autocast("cpu"):
        assert LOWER[name](rand(4, 4, dtype=F64)).dtype is F64
        assert torch.mm(torch.ones(2, 2, dtype=torch.int32), torch.ones(2, 2, dtype=torch.int32)).dtype is torch.int32


@each(EXACT)
def test_every_function_runs_under_autocast(case):
    """Arguments of float64 stay as they are; results of float32 are those of outside, or near them in the lower precision."""
    expected = leaves(call(case, tensors(case.args)))
    with torch.autocast("cpu"):
        found = leaves(call(case, tensors(case.args)))
        lower = leaves(call(case, tensors(case.args, F32)))
    for result, as_float32, outside in zip(found, lower, expected, strict=True):
        if not isinstance(outside, torch.Tensor):
            continue
        assert result.dtype is outside.dtype
        np.testing.assert_array_equal(array(result), array(outside))
        if outside.dtype is F64 and case.half:
            finite = np.isfinite(array(outside))
            scale = max(1.0, np.abs(array(outside)[finite]).max(initial=0))
            assert np.abs(array(as_float32)[finite] - array(outside)[finite]).max(initial=0) < 0.1 * scale


def test_what_is_joined_is_the_widest():
    low, full = rand(3, dtype=BF16), rand(3)
    with torch.autocast("cpu"):
        assert torch.cat([low, full]).dtype is F32 and torch.stack([low, low]).dtype is BF16
        assert torch.cat([low, full.double()]).dtype is F64
        assert low.index_copy(0, torch.tensor([0]), full[:1]).dtype is F32


def test_values_are_those_of_cast_arguments():
    x, w = torch.randn(3, 5), torch.randn(4, 5)
    with torch.autocast("cpu"):
        y = F.linear(x, w)
    np.testing.assert_array_equal(y.float().numpy(), F.linear(x.bfloat16(), w.bfloat16()).float().numpy())


def test_gradients_have_the_parameters_dtype():
    torch.manual_seed(0)
    layer = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.LayerNorm(8), torch.nn.Tanh(), torch.nn.Linear(8, 2))
    x = torch.randn(6, 4, requires_grad=True)
    with torch.autocast("cpu"):
        y = layer(x)
        assert y.dtype is BF16
        loss = F.mse_loss(y, torch.zeros(6, 2))
    loss.backward()
    lower = [p.grad.clone() for p in layer.parameters()]
    assert {g.dtype for g in [x.grad, *lower]} == {F32}
    layer.zero_grad()
    F.mse_loss(layer(x), torch.zeros(6, 2)).backward()
    for gradient, parameter in zip(lower, layer.parameters()):
        scale = parameter.grad.abs().max().item()
        np.testing.assert_allclose(gradient.numpy(), parameter.grad.numpy(), atol=0.05 * scale)


def test_parameters_are_cast_once_in_a_block():
    weight = torch.nn.Parameter(torch.ones(2, 2))
    x = torch.ones(2, 2)
    with torch.autocast("cpu"):
        for _ in range(2):  # also after a backward, which lets go of what it read
            (x @ weight).float().sum().backward()
        first = (x @ weight).sum().item()
        with torch.no_grad():
            weight += 1
        assert (x @ weight).sum().item() == 2 * first
        with torch.no_grad():
            x @ weight
        assert (x @ weight).requires_grad
    assert weight.grad.tolist() == [[4.0, 4.0], [4.0, 4.0]]


def test_blocks_are_nested_and_threads_have_their_own():
    x = rand(2, 2)
    seen = []
    with torch.autocast("cpu"):
        with torch.autocast("cpu", dtype=F16):
            assert (x @ x).dtype is F16 and torch.get_autocast_dtype("cpu") is F16
        with torch.autocast("cpu", enabled=False):
            assert (x @ x).dtype is F32 and not torch.is_autocast_enabled("cpu")
        assert (x @ x).dtype is BF16 and torch.is_autocast_enabled("cpu") and not torch.is_autocast_enabled()
        thread = threading.Thread(target=lambda: seen.append((x @ x).dtype))
        thread.start()
        thread.join()
    assert seen == [F32] and (x @ x).dtype is F32
    with pytest.raises(ZeroDivisionError), torch.autocast("cpu"):
        1 / 0
    assert (x @ x).dtype is F32


def test_a_decorated_function():
    @torch.autocast("cpu")
    def product(x, depth=1):
        return product(x.float(), depth - 1) if depth else x @ x

    assert product(rand(2, 2)).dtype is BF16 and (rand(2, 2) @ rand(2, 2)).dtype is F32


def test_a_decorated_generator():
    @torch.autocast("cpu")
    def products(x):
        yield x @ x
        yield x @ x

    steps = products(rand(2, 2))
    assert next(steps).dtype is BF16 and (rand(2, 2) @ rand(2, 2)).dtype is F32 and next(steps).dtype is BF16


def test_state_by_functions():
    torch.set_autocast_enabled("cpu", True)
    torch.set_autocast_dtype("cpu", F16)
    try:
        assert torch.autocast_increment_nesting() == 1
        assert (rand(2, 2) @ rand(2, 2)).dtype is F16
        assert torch.autocast_decrement_nesting() == 0
    finally:
        torch.set_autocast_enabled("cpu", False)
        torch.set_autocast_dtype("cpu", BF16)
    assert (rand(2, 2) @ rand(2, 2)).dtype is F32
    assert torch.is_autocast_cache_enabled() and torch.get_autocast_dtype("cuda") is F16


def test_what_is_not_there_is_disabled_with_a_warning():
    with pytest.warns(UserWarning, match="CUDA is not available"), torch.autocast("cuda"):
        assert not torch.is_autocast_enabled() and (rand(2, 2) @ rand(2, 2)).dtype is F32
    with pytest.warns(UserWarning, match="dtype is not supported"), torch.autocast("cpu", dtype=F32):
        assert not torch.is_autocast_enabled("cpu")
    with pytest.warns(UserWarning, match="CUDA is not available"):
        assert not GradScaler().is_enabled()
    with pytest.raises(RuntimeError, match="device_type 'abacus'"):
        torch.autocast("abacus")
    with pytest.raises(ValueError, match="str"):
        torch.autocast(3)


def test_older_names_work_and_warn():
    with pytest.warns(FutureWarning, match="torch.amp.autocast\\('cpu'"), torch.cpu.amp.autocast():
        assert (rand(2, 2) @ rand(2, 2)).dtype is BF16
        with pytest.warns(DeprecationWarning, match="is_autocast_enabled"):
            assert torch.is_autocast_cpu_enabled()
    with pytest.warns(DeprecationWarning):
        assert torch.get_autocast_gpu_dtype() is F16
    with pytest.warns(FutureWarning), pytest.warns(UserWarning, match="CUDA"):
        assert not torch.cuda.amp.GradScaler().is_enabled()
    with pytest.warns(FutureWarning):
        assert torch.cuda.amp.custom_fwd(lambda ctx, x: x)(torch.autograd.function.FunctionCtx(), 3) == 3


def test_compiled_functions_are_told_apart_by_autocast():
    @torch.compile(fullgraph=True)
    def product(x, w):
        return x @ w

    x, w = rand(3, 3), torch.nn.Parameter(rand(3, 3))
    assert product(x, w).dtype is F32
    for lower in (BF16, F16, BF16):
        with torch.autocast("cpu", dtype=lower):
            y = product(x, w)
            assert y.dtype is lower
            np.testing.assert_array_equal(y.detach().float().numpy(), (x @ w).detach().float().numpy())
        y.float().sum().backward()
    assert w.grad.dtype is F32 and product(x, w).dtype is F32


def test_checkpoints_run_again_in_the_same_state():
    from opforge.utils.checkpoint import checkpoint

    x = rand(3, 3).requires_grad_()
    seen = []

    def product(x):
        y = x @ x
        seen.append(y.dtype)
        return y

    with torch.autocast("cpu"):
        y = checkpoint(product, x, use_reentrant=False)
    y.float().sum().backward()
    assert seen == [BF16, BF16] and x.grad.dtype is F32


def test_functions_with_a_backward_of_their_own():
    seen = []

    class Product(torch.autograd.Function):
        @staticmethod
        @custom_fwd(device_type="cpu")
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x.mm(x).float()

        @staticmethod
        @custom_bwd(device_type="cpu")
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            seen.append(grad.mm(x).dtype)
            return grad * 2

    class InFull(torch.autograd.Function):
        @staticmethod
        @custom_fwd(device_type="cpu", cast_inputs=F32)
        def forward(ctx, x):
            seen.append((x.dtype, x.mm(x).dtype))
            return x

        @staticmethod
        @custom_bwd(device_type="cpu")
        def backward(ctx, grad):
            return grad

    x = rand(2, 2).requires_grad_()
    with torch.autocast("cpu"):
        y = Product.apply(x)
        InFull.apply(x.bfloat16())
    y.sum().backward()
    assert seen == [(F32, F32), BF16]


def trained(scaler, grads):
    """The values of a parameter at 1 after steps with rate 1 and these gradients."""
    parameter = torch.nn.Parameter(torch.ones(1))
    optimizer = torch.optim.SGD([parameter], lr=1.0)
    for grad in grads:
        optimizer.zero_grad()
        scaler.scale((parameter * grad).sum()).backward()
        scaler.step(optimizer)
        scaler.update()
    return parameter.item()


def test_scaled_steps_are_the_steps():
    scaler = GradScaler("cpu", init_scale=4.0, growth_interval=2)
    assert trained(scaler, [0.25, 0.5, 0.125]) == 0.125
    assert scaler.get_scale() == 8.0 and scaler.state_dict()["_growth_tracker"] == 1
    assert trained(scaler, [float("inf"), 0.5, float("nan")]) == 0.5
    assert scaler.get_scale() == 2.0
    assert trained(GradScaler("cpu", enabled=False), [0.25]) == 0.75


def test_unscaled_gradients():
    parameter = torch.nn.Parameter(torch.ones(2))
    optimizer = torch.optim.SGD([parameter], lr=0.5)
    scaler = GradScaler("cpu")
    scaler.scale((parameter * 3).sum()).backward()
    assert parameter.grad.tolist() == [3 * 2.0**16] * 2
    scaler.unscale_(optimizer)
    assert parameter.grad.tolist() == [3.0, 3.0]
    with pytest.raises(RuntimeError, match="already been called"):
        scaler.unscale_(optimizer)
    scaler.step(optimizer)
    with pytest.raises(RuntimeError, match="already been called"):
        scaler.step(optimizer)
    with pytest.raises(RuntimeError, match="after step"):
        scaler.unscale_(optimizer)
    scaler.update(2.0)
    assert parameter.tolist() == [-0.5, -0.5] and scaler.get_scale() == 2.0


def test_wrong_use_of_a_scaler():
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=1.0)
    scaler = GradScaler("cpu")
    for call in (lambda: scaler.step(optimizer), lambda: scaler.unscale_(optimizer), scaler.update):
        with pytest.raises(AssertionError, match="_scale is None"):
            call()
    scaled = scaler.scale([torch.ones(2), (torch.ones(1),)])
    assert scaled[1][0].tolist() == [2.0**16]
    with pytest.raises(AssertionError, match="No inf checks"):
        scaler.step(optimizer)
    with pytest.raises(RuntimeError, match="Closure"):
        scaler.step(optimizer, closure=lambda: None)
    half = torch.nn.Parameter(torch.ones(1, dtype=F16))
    half.grad = torch.ones(1, dtype=F16)
    with pytest.raises(ValueError, match="FP16"):
        scaler.unscale_(torch.optim.SGD([half], lr=1.0))
    with pytest.raises(AssertionError, match="growth factor"):
        GradScaler("cpu", growth_factor=1.0)


def test_the_state_of_a_scaler():
    import pickle

    scaler = GradScaler("cpu", init_scale=4.0, growth_interval=3)
    trained(scaler, [0.5, 0.5])
    other = GradScaler("cpu")
    other.load_state_dict(scaler.state_dict())
    for same in (other, pickle.loads(pickle.dumps(scaler))):
        assert same.state_dict() == scaler.state_dict()
        trained(same, [0.5])
        assert same.get_scale() == 8.0
    with pytest.raises(RuntimeError, match="empty"):
        other.load_state_dict({})


def test_the_scaler_of_gradients_is_a_name_of_the_package():
    assert torch.GradScaler is torch.amp.GradScaler and "GradScaler" in dir(torch)
