"""Modules as graphs that are saved, loaded and called."""

import json
import subprocess
import sys

import opforge as torch
import pytest
from opforge import nn
from opforge.export import export, load, save


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.25))
        self.head = nn.Linear(8, 3, bias=False)

    def forward(self, x, *, scale=1.0):
        hidden = self.features(x)
        return self.head(hidden) * scale, {"hidden": hidden[:, ::2], "nested": [hidden.t(), 7, "seven", None]}


def again(program, folder):
    save(program, folder / "program")
    return load(folder / "program")


def bits(value):
    return value.detach().contiguous().numpy().tobytes()


def test_evaluation_gives_the_bits_of_the_module(tmp_path):
    torch.manual_seed(1)
    module, x = Network().eval(), torch.randn(5, 6)
    program = export(module, (x,), {"scale": 2.5})
    expected, rest = module(x, scale=2.5)
    for own in (program, again(program, tmp_path)):
        result, others = own.module()(x, scale=2.5)
        assert bits(result) == bits(expected) and not result.requires_grad
        assert list(others) == ["hidden", "nested"] and others["nested"][1:] == [7, "seven", None]
        assert bits(others["hidden"]) == bits(rest["hidden"]) and bits(others["nested"][0]) == bits(rest["nested"][0])
        assert isinstance(others["nested"], list)


def test_training_changes_buffers_and_draws_numbers(tmp_path):
    torch.manual_seed(1)
    module, x = Network(), torch.randn(5, 6)
    before = {name: buffer.clone() for name, buffer in module.named_buffers()}
    program = export(module, (x,))
    assert all(bits(before[name]) == bits(buffer) for name, buffer in module.named_buffers()), "tracing computes nothing"
    loaded = again(program, tmp_path)
    call = loaded.module()
    for seed in (3, 4):
        torch.manual_seed(seed)
        expected = module(x)[0]
        torch.manual_seed(seed)
        assert bits(call(x)[0]) == bits(expected)
    own, state = module.state_dict(), loaded.state_dict
    assert set(state) == set(own)
    assert all(bits(own[name]) == bits(state[name]) for name in own)
    assert int(state["features.1.num_batches_tracked"]) == 2


def test_names_are_those_of_the_module(tmp_path):
    module, x = Network().eval(), torch.randn(2, 6)
    program = export(module, (x,))
    names = [name for name, _ in module.named_parameters()]
    for own in (program, again(program, tmp_path)):
        assert sorted(name for name, _ in own.named_parameters()) == sorted(names)
        assert "features.1.running_mean" in dict(own.named_buffers())
        assert 'captured "head.weight" f32[3, 8]' in str(own)
    assert str(again(program, tmp_path)) == str(program)
    files = sorted(path.name for path in (tmp_path / "program").iterdir())
    assert files == ["graph.txt", "program.json", "weights.safetensors"]


def test_a_loaded_program_needs_no_code(tmp_path):
    module, x = Network().eval(), torch.randn(2, 6)
    save(export(module, (x,)), tmp_path / "program")
    torch.save({"x": x, "y": module(x)[0]}, tmp_path / "data")
    script = (
        "import sys, opforge as torch\n"
        "data = torch.load(sys.argv[1] + '/data')\n"
        "y = torch.export.load(sys.argv[1] + '/program').module()(data['x'])[0]\n"
        "assert y.numpy().tobytes() == data['y'].detach().numpy().tobytes()\n"
    )
    subprocess.run([sys.executable, "-c", script, str(tmp_path)], check=True)


def test_arguments_are_taken_apart(tmp_path):
    class Sum(nn.Module):
        def forward(self, pair, *, options):
            return (pair[0] + pair[1]["b"] * options["factor"],)

    x, y = torch.ones(3), torch.full((3,), 2.0)
    call = again(export(Sum(), ([x, {"b": y}],), {"options": {"factor": 3}}), tmp_path).module()
    (result,) = call([x, {"b": y}], options={"factor": 3})
    assert result.tolist() == [7.0, 7.0, 7.0]
    for factor in (4, 3.0, True):
        with pytest.raises(TypeError, match="arguments like those of export"):
            call([x, {"b": y}], options={"factor": factor})
    with pytest.raises(ValueError, match=r"f32\[3\]"):
        call([torch.ones(4), {"b": y}], options={"factor": 3})


def test_named_results_keep_their_names(tmp_path):
    class Best(nn.Module):
        def forward(self, x):
            return x.topk(2), x.sort(dim=0)

    x = torch.rand(3, 4)
    for own in (export(Best(), (x,)), again(export(Best(), (x,)), tmp_path)):
        best, order = own.module()(x)
        assert type(best) is torch.return_types.topk and bits(best.values) == bits(x.topk(2).values)
        assert order.indices.tolist() == x.sort(dim=0).indices.tolist()


def test_what_cannot_be_exported_is_refused():
    class Reads(nn.Module):
        def forward(self, x):
            return x if x.sum().item() > 0 else -x

    class Odd(nn.Module):
        def forward(self, x):
            return {x}

    x = torch.ones(2)
    with pytest.raises(RuntimeError, match="elements are there when it runs") as error:
        export(Reads(), (x,))
    assert "test_export.py" in str(error.value)
    with pytest.raises(TypeError, match="set"):
        export(Odd(), (x,))
    with pytest.raises(TypeError, match="module"):
        export(torch.relu, (x,))
    with pytest.raises(TypeError, match="tuple"):
        export(nn.ReLU(), x)
    program = export(nn.ReLU(), (x,))
    with pytest.raises(RuntimeError, match="module"):
        program(x)
    with pytest.raises(NotImplementedError, match="mode"):
        program.module().eval()


@pytest.mark.parametrize("file", ["graph.txt", "program.json", "weights.safetensors"])
def test_broken_directories_are_errors_that_name_the_file(tmp_path, file):
    folder = tmp_path / "program"
    save(export(Network().eval(), (torch.ones(2, 6),)), folder)
    whole = (folder / file).read_bytes()
    for content in (b"", whole[: len(whole) // 2], b"\xff" * 100):
        (folder / file).write_bytes(content)
        with pytest.raises((ValueError, RuntimeError), match=file):
            load(folder)
    (folder / file).unlink()
    with pytest.raises(OSError):
        load(folder)


@pytest.mark.parametrize(
    "change",
    [
        {"version": 2},
        {"arguments": {"tensor": None}},
        {"results": {"tuple": {}}},
        {"results": {"thing": []}},
        {"results": {"returned": ["system", [{"tensor": None}]]}},
        {"results": {"returned": ["topk", [{"tensor": None}]]}},
        {"parameters": ["none"]},
        {"buffers": None},
    ],
)
def test_structures_that_do_not_fit_are_refused(tmp_path, change):
    folder = tmp_path / "program"
    save(export(nn.Linear(2, 2), (torch.ones(1, 2),)), folder)
    about = json.loads((folder / "program.json").read_text())
    (folder / "program.json").write_text(json.dumps(about | change))
    with pytest.raises(ValueError, match="program.json"):
        load(folder)


def test_saving_again_replaces_the_program(tmp_path):
    for size in (2, 3):
        save(export(nn.Linear(size, 1), (torch.ones(1, size),)), tmp_path)
    assert load(tmp_path).state_dict["weight"].shape == (1, 3)
    blocked = tmp_path / "weights.safetensors"
    blocked.unlink()
    blocked.mkdir()
    text = (tmp_path / "graph.txt").read_text()
    with pytest.raises(OSError):
        save(export(nn.Linear(4, 1), (torch.ones(1, 4),)), tmp_path)
    assert (tmp_path / "graph.txt").read_text() == text
    assert sorted(path.name for path in tmp_path.iterdir()) == ["graph.txt", "program.json", "weights.safetensors"]
