"""Modules as graphs that are saved, loaded and called."""

import dataclasses
import io
import json
import subprocess
import sys

import opforge as torch
import pytest
from opforge import nn
from opforge.export import Dim, export, load, register_dataclass, save


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


@dataclasses.dataclass
class Pair:
    first: torch.Tensor
    factor: int
    rest: object = None


register_dataclass(Pair, serialized_type_name="pair")


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
        {"results": {"dataclass": ["unknown", []]}},
        {"results": {"dataclass": ["pair", [{"tensor": None}]]}},
        {"buffers": None},
        {"aliases": {"other": "none"}},
        {"unused": "names"},
        {"transient": [1]},
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


class Named(nn.Module):
    """Two names of one parameter, a parameter that is not used, a buffer that is not saved, and one that nothing but its double is computed of."""

    def __init__(self):
        super().__init__()
        self.layer, self.norm, self.unused = nn.Linear(2, 3), nn.BatchNorm1d(3), nn.Linear(1, 1)
        self.again = self.layer.weight
        self.register_buffer("shift", torch.ones(3), persistent=False)
        self.register_buffer("scale", torch.ones(3))

    def forward(self, x):
        return self.norm(self.layer(x)) * (self.scale * 2) + self.shift


def test_modules_of_programs_have_parameters_that_can_be_loaded(tmp_path):
    x = torch.randn(4, 2)
    module = Named().eval()
    for program in (own := export(module, (x,))), again(own, tmp_path):
        call, other = program.module(), Named().eval()
        with torch.no_grad():
            for tensor in other.state_dict().values():
                tensor.add_(1)
        used = set(module.state_dict()) - {"norm.num_batches_tracked", "unused.weight", "unused.bias"}
        assert set(call.state_dict()) == used
        assert {name for name, _ in call.named_parameters()} == {name for name, _ in module.named_parameters() if name in used}
        assert {name for name, _ in call.named_buffers()} == {"shift", "scale", "norm.running_mean", "norm.running_var"}
        assert not torch.allclose(call(x), other(x))
        call.load_state_dict(other.state_dict())
        assert torch.allclose(call(x), other(x), atol=1e-6) and torch.allclose(program.module()(x), other(x), atol=1e-6)
        with torch.no_grad():
            call.shift.fill_(5)
        assert torch.allclose(call(x), other(x) + 4, atol=1e-6)
        with pytest.raises(RuntimeError, match="Missing key.*again"):
            call.load_state_dict({"unused.weight": torch.ones(1, 1)})


def test_what_modules_of_programs_cannot_do_is_an_error():
    x = torch.randn(4, 2)
    program = export(Named().eval(), (x,))
    module = program.module()
    assert module.to(torch.float32).to("cpu") is module
    refused = [module.double, module.half, lambda: module.to("meta"), lambda: module.load_state_dict(module.state_dict(), assign=True)]
    for change in refused:
        with pytest.raises(NotImplementedError, match="memory"):
            change()
    assert torch.equal(module(x), program.module()(x))

    def replace(module):
        module.layer = nn.Linear(2, 3)

    def replace_buffer(module):
        module.scale = torch.ones(3)

    for change, name in (lambda module: module.layer.double(), "again"), (replace, "layer"), (replace_buffer, "scale"):
        changed = program.module()
        change(changed)
        with pytest.raises(NotImplementedError, match=f"^{name} (is another|has other)"):
            changed(x)


def test_gradients_of_programs_are_errors_backward():
    x = torch.randn(4, 2)
    module = export(Named().eval(), (x,)).module()
    assert not any(parameter.requires_grad for parameter in module.parameters())
    with pytest.raises(NotImplementedError, match="compute no gradients"):
        module(x.clone().requires_grad_()).sum().backward()
    module.requires_grad_()
    with pytest.raises(NotImplementedError, match="compute no gradients"):
        module(x).sum().backward()
    with torch.no_grad():
        assert not module(x).requires_grad


class Forward:
    """A file that can be read or written from its beginning only."""

    def __init__(self, content=b""):
        self.content = content

    def write(self, part):
        self.content += part
        return len(part)

    def flush(self):
        pass

    def read(self):
        return self.content

    def seekable(self):
        return False


def test_programs_in_files(tmp_path):
    torch.manual_seed(1)
    module, x = Network().eval(), torch.randn(5, 6)
    program, expected = export(module, (x,)), module(x)[0]
    buffer, forward = io.BytesIO(), Forward()
    save(program, buffer)
    save(program, forward)
    with open(tmp_path / "program.pt2", "wb") as file:
        save(program, file)
    with open(tmp_path / "program.pt2", "rb") as file:
        from_file = load(file)
    for loaded in (load(buffer), load(Forward(forward.content)), from_file, load(tmp_path / "program.pt2"), load(str(tmp_path / "program.pt2"))):
        assert bits(loaded.module()(x)[0]) == bits(expected) and str(loaded) == str(program)


def test_broken_files_are_errors():
    buffer = io.BytesIO()
    save(export(nn.Linear(2, 2), (torch.ones(1, 2),)), buffer)
    whole = buffer.getvalue()
    for content in (b"", b"no archive", whole[: len(whole) // 2], whole[100:], whole.replace(b"graph.txt", b"other.txt")):
        with pytest.raises(ValueError, match="BytesIO: no exported program"):
            load(io.BytesIO(content))


def test_data_classes_are_arguments_and_results(tmp_path):
    class Nested(nn.Module):
        def forward(self, pair, *, options):
            return [Pair(pair.first * pair.factor, 7, {"inner": Pair(pair.rest + options["shift"], 2)})]

    x, y = torch.ones(3, 2), torch.ones(3, 2)
    program = export(Nested(), (Pair(x, 5, y),), {"options": {"shift": 2}}, dynamic_shapes={"pair": ({0: Dim("n")}, None, {0: Dim("n")}), "options": None})
    for own in (program, again(program, tmp_path)):
        (result,) = own.module()(Pair(torch.ones(4, 2), 5, torch.ones(4, 2)), options={"shift": 2})
        assert type(result) is Pair and result.first.eq(5).all() and result.factor == 7 and result.first.shape == (4, 2)
        assert type(result.rest["inner"]) is Pair and result.rest["inner"].rest is None and result.rest["inner"].first.eq(3).all()
        with pytest.raises(TypeError, match="arguments like those of export"):
            own.module()(Pair(x, 6, y), options={"shift": 2})
    assert torch.utils._pytree.tree_flatten(Pair(x, 5))[0] == [x, 5, None]
    with pytest.raises(ValueError, match="data class expected"):
        register_dataclass(int)
