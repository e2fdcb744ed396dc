"""Layers, losses, optimizers, hooks, settings, files of parameters and what is only a name. Values were checked with MindSpore 2.10."""

import numpy as np
import pytest

import opforge.mindspore as ms
from opforge.mindspore import Parameter, Tensor, nn, ops
from opforge.mindspore.common.initializer import Constant, initializer

IMAGE = Tensor(np.arange(16.0, dtype=np.float32).reshape(1, 1, 4, 4))
V = Tensor([[1.0, -2.0, 3.0]])


@pytest.mark.parametrize(
    ("cell", "arguments", "values"),
    [
        (nn.Conv2d(1, 1, 3, weight_init="ones"), [IMAGE], [[10, 18, 24, 18], [27, 45, 54, 39], [51, 81, 90, 63], [42, 66, 72, 50]]),
        (nn.Conv2d(1, 1, 3, stride=2, weight_init="ones"), [IMAGE], [[45, 39], [66, 50]]),
        (nn.Conv2d(1, 1, 3, pad_mode="valid", weight_init="ones"), [IMAGE], [[45, 54], [81, 90]]),
        (nn.Dense(3, 2, weight_init="ones", bias_init=0.5, activation="relu"), [V], [[2.5, 2.5]]),
        (nn.LayerNorm((3,)), [V], [[0.162221, -1.297771, 1.13555]]),
        (nn.Softmax(), [V], [[0.1185, 0.0059, 0.875601]]),
        (nn.GELU(), [V], [[0.841192, -0.045402, 2.996363]]),
        (nn.LeakyReLU(), [V], [[1, -0.4, 3]]),
        (nn.ELU(), [V], [[1, -0.864665, 3]]),
        (nn.Dropout(p=0.5), [V], [[1, -2, 3]]),
        (nn.MSELoss(), [V, V * 2], 14 / 3),
        (nn.SoftmaxCrossEntropyWithLogits(), [V, Tensor([[0.0, 0.0, 1.0]])], [0.132845]),
        (nn.SoftmaxCrossEntropyWithLogits(True, "mean"), [V, Tensor([1], ms.int32)], 5.132845),
        (nn.MaxPool2d(2, 2), [IMAGE], [[5, 7], [13, 15]]),
        (nn.AvgPool2d(2, 2), [IMAGE], [[2.5, 4.5], [10.5, 12.5]]),
        (nn.SequentialCell(nn.Flatten(), nn.Dense(16, 1, "ones", "zeros")), [IMAGE], [[120]]),
    ],
)
def test_layers(cell, arguments, values):
    np.testing.assert_allclose(np.squeeze(cell(*arguments).asnumpy()), np.squeeze(values), rtol=1e-4)


@pytest.mark.parametrize(
    ("make", "weights"),
    [
        (lambda p: nn.SGD(p, 0.1), [-1.44, -3.88, -6.32]),
        (lambda p: nn.SGD(p, 0.1, momentum=0.9, weight_decay=0.01, nesterov=True), [-21.920076, -44.832115, -67.74416]),
        (lambda p: nn.Momentum(p, 0.1, 0.9), [0.99, 0.98, 0.97]),
        (lambda p: nn.Adam(p), [0.997, 0.997, 0.997]),
        (lambda p: nn.Adam(p, 0.1, weight_decay=0.1), [0.70208, 0.702083, 0.702084]),
    ],
)
def test_training(make, weights):
    net = nn.Dense(3, 1, weight_init="ones", has_bias=False)
    step = nn.TrainOneStepCell(nn.WithLossCell(net, nn.MSELoss()), make(net.trainable_params()))
    losses = [float(step(Tensor([[1.0, 2.0, 3.0]]), Tensor([[1.0]]))) for _ in range(3)]
    assert losses[0] == 25
    np.testing.assert_allclose(net.weight.asnumpy()[0], weights, rtol=1e-5)


def test_hooks():
    log = []
    net = nn.SequentialCell(nn.Identity(), nn.ReLU())
    handles = [
        net[1].register_forward_pre_hook(lambda cell, inputs: log.append(len(inputs))),
        net[1].register_forward_hook(lambda cell, inputs, output: output * 10),
        net[1].register_backward_hook(lambda cell, grad_input, grad_output: log.append((grad_input[0].tolist(), grad_output[0].tolist()))),
    ]
    assert ms.grad(net)(Tensor([1.0])).tolist() == [10]
    assert log == [1, ([10], [1])]
    for handle in handles:
        handle.remove()
    assert ms.grad(net)(Tensor([1.0])).tolist() == [1] and len(log) == 2


def test_gradients_that_are_changed_on_their_way():
    doubled = ops.InsertGradientOf(lambda gradient: gradient * 2)
    assert ms.grad(lambda x: doubled(x) * 3)(Tensor([1.0])).tolist() == [6]


def test_methods_of_cells():
    net = nn.Dense(3, 2)
    assert net.to_float(ms.float16)(V).dtype is ms.float16 and net.weight.dtype is ms.float16
    assert list(net.state_dict()) == ["weight", "bias"] and net.param_prefix == ""
    seen = []
    nn.SequentialCell(nn.ReLU()).apply(lambda cell: seen.append(cell.cls_name))
    assert seen == ["ReLU", "SequentialCell"]
    assert net.add_flags(fast=True).fast and net.get_flags() == {"fast": True}


@pytest.mark.parametrize("dtype", [ms.float32, ms.float64, ms.int32, ms.bool_, ms.bfloat16, ms.complex64])
def test_files_of_parameters(tmp_path, dtype):
    path = tmp_path / "net.ckpt"
    ms.save_checkpoint([{"name": "w", "data": Tensor([[1, 0]], dtype)}], path)
    loaded = ms.load_checkpoint(path)["w"]
    assert loaded.dtype is dtype and loaded.shape == (1, 2) and type(loaded) is Parameter
    assert loaded.astype(ms.complex64).tolist() == [[1, 0]]


def test_loading_parameters(tmp_path):
    net, other = nn.Dense(3, 2), nn.Dense(3, 2)
    ms.save_checkpoint(net, str(tmp_path / "net"))
    found = ms.load_checkpoint(tmp_path / "net.ckpt")
    assert ms.load_param_into_net(other, {"weight": found["weight"], "x": found["bias"]}) == (["bias"], ["x"])
    assert other.weight.tolist() == net.weight.tolist()
    with pytest.raises(RuntimeError, match="shape"):
        ms.load_param_into_net(nn.Dense(2, 2), found)
    (tmp_path / "bad.ckpt").write_bytes(b"\xff" * 20)
    with pytest.raises(ValueError, match="no file of parameters|ends too early"):
        ms.load_checkpoint(tmp_path / "bad.ckpt")


def test_initializers():
    assert initializer("ones", [2]).tolist() == [1, 1] and initializer(Constant(0.5), [2]).tolist() == [0.5, 0.5]
    assert Tensor(shape=(2,), dtype=ms.float32, init=Constant(1)).init_data().tolist() == [1, 1]
    ms.set_seed(3)
    first = initializer("normal", [4]).tolist()
    ms.set_seed(3)
    assert initializer("normal", [4]).tolist() == first and ms.get_seed() == 3
    with pytest.raises(ValueError, match="there is no 'x'"):
        initializer("x", [2])


def test_transforms():
    square = lambda x: x * x  # noqa: E731
    value, pull = ms.vjp(square, V)
    assert value.tolist() == [[1, 4, 9]] and pull(V)[0].tolist() == [[2, 8, 18]]
    assert [t.tolist() for t in ms.jvp(square, V, V)] == [[[1, 4, 9]], [[2, 8, 18]]]
    assert ms.vmap(lambda x: x.sum())(Tensor([[1.0, 2.0]])).tolist() == [3]
    assert ms.jacrev(square)(Tensor([1.0, 2.0])).tolist() == [[2, 0], [0, 4]]


@pytest.mark.parametrize("setting", ["jit_config", "runtime_num_threads", "max_device_memory", "ascend_config", "op_timeout", "enable_compile_cache"])
def test_settings_are_kept(setting):
    before = ms.get_context(setting)
    ms.set_context(**{setting: before})
    assert ms.get_context(setting) == before


def test_what_is_only_a_name():
    for call in (lambda: ms.Model(), lambda: ms.numpy.ones(2), lambda: ops.CustomOpBuilder("x", "y"), lambda: ms.export(None), lambda: ms.train.LossMonitor()):
        with pytest.raises(NotImplementedError, match="mindspore"):
            call()
    assert ms.mint.add(V, V).tolist() == [[2, -4, 6]] and ms.__version__


def test_modules():
    from opforge.mindspore.common import api, dtype, initializer, parameter, tensor  # noqa: F401
    from opforge.mindspore.common.tensor import Tensor as Same
    from opforge.mindspore.ops import op_info_register, operations, primitive
    from opforge.mindspore.ops.operations import custom_ops

    assert Same is Tensor and operations.Custom is custom_ops.Custom is ops.Custom
    assert op_info_register.DataType is ops.DataType and issubclass(ops.Custom, primitive.PrimitiveWithInfer)
