"""Modules as graphs whose lengths are free."""

import math

import opforge as torch
import opforge.nn.functional as F
import pytest
from opforge import nn
from opforge.export import Dim, dims, export, load, save


class Perceptron(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.GELU(), nn.Linear(8, 3))

    def forward(self, x):
        return self.layers(x).log_softmax(-1)


class Decoder(nn.Module):
    """Tokens, positions from a table, layers of attention with a causal mask, and a mean."""

    def __init__(self):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(50, 16), nn.Embedding(64, 16)
        self.layers = nn.ModuleList(nn.TransformerEncoderLayer(16, 4, 32, batch_first=True) for _ in range(2))

    def forward(self, tokens, *, scale=1.0):
        length = tokens.shape[1]
        x = self.tokens(tokens) + self.positions(torch.arange(length)) + self.positions.weight[:length]
        mask = torch.full((length, length), -math.inf).triu(1)
        for layer in self.layers:
            x = layer(x, src_mask=mask)
        heads = x.view(tokens.shape[0], length, 4, 4).transpose(1, 2)
        own = F.scaled_dot_product_attention(heads, heads, heads, is_causal=True).transpose(1, 2).reshape(x.shape)
        return {"mean": own.mean(dim=1) * scale, "last": x[:, -1], "flat": x.flatten(0, 1)}


class Convolutional(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 8, 3, stride=2, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 4, 3, padding=1)
        )
        self.head = nn.Linear(4, 5)

    def forward(self, images):
        features = self.features(images)
        larger = F.interpolate(features, scale_factor=2.0, mode="nearest")
        return self.head(F.adaptive_avg_pool2d(features, 1).flatten(1)), larger


def same(result, expected):
    if isinstance(expected, dict):
        assert list(result) == list(expected)
        return all(same(result[name], expected[name]) for name in expected)
    if isinstance(expected, (tuple, list)):
        return all(same(a, b) for a, b in zip(result, expected, strict=True))
    torch.testing.assert_close(result, expected.detach(), rtol=1e-4, atol=1e-5)
    return True


def again(program, folder):
    save(program, folder / "program")
    return load(folder / "program")


def test_any_number_of_rows(tmp_path):
    module = Perceptron().eval()
    program = export(module, (torch.randn(4, 6),), dynamic_shapes={"x": {0: Dim("batch")}})
    assert "f32[{batch}, 6]" in str(program)
    assert program.range_constraints["batch"].upper is None and program.range_constraints["batch"].lower <= 1
    for own in (program, again(program, tmp_path)):
        call = own.module()
        for rows in (1, 2, 4, 33, 500):
            x = torch.randn(rows, 6)
            assert same(call(x), module(x))
        with pytest.raises(ValueError, match=r"f32\[4, 7\].*f32\[\{batch\}, 6\]"):
            call(torch.randn(4, 7))


def test_batches_and_lengths(tmp_path):
    module = Decoder().eval()
    tokens = torch.randint(0, 50, (2, 9))
    batch, length = dims("batch", "length")
    for shapes in ({"tokens": {0: batch, 1: length}}, ((batch, length),), {"tokens": {0: batch, -1: length}}):
        program = export(module, (tokens,), dynamic_shapes=shapes)
        assert program.range_constraints["length"].upper == 64, "the table has 64 positions"
    for own in (program, again(program, tmp_path)):
        call = own.module()
        for shape in ((1, 9), (2, 1), (3, 64), (7, 20)):
            tokens = torch.randint(0, 50, shape)
            assert same(call(tokens), module(tokens))
    with pytest.raises(ValueError, match="length from"):
        call(torch.randint(0, 50, (1, 65)))


def test_images_of_any_size():
    module = Convolutional().eval()
    free = {"images": {0: Dim("batch"), 2: Dim("height", max=300), 3: Dim("width", min=8)}}
    program = export(module, (torch.randn(2, 3, 32, 40),), dynamic_shapes=free)
    call = program.module()
    for shape in ((1, 3, 32, 40), (2, 3, 33, 41), (3, 3, 30, 8), (1, 3, 97, 200), (2, 3, 300, 11)):
        x = torch.randn(shape)
        assert same(call(x), module(x))
    ranges = program.range_constraints
    assert (ranges["height"].upper, ranges["width"].lower) == (300, 8)
    for shape in ((1, 3, 301, 40), (1, 3, 32, 7)):
        with pytest.raises(ValueError, match="arguments"):
            call(torch.randn(shape))


def test_containers_derived_lengths_and_hints():
    class Both(nn.Module):
        def forward(self, pair, *, options):
            x, y = pair
            return torch.cat([x, y]) * options["weight"], x.shape[1]

    def call(n, columns=3):
        return ([torch.randn(n, columns), torch.randn(2 * n + 1, columns)],), {"options": {"weight": torch.randn(3 * n + 1, 1)}}

    n = Dim("n", min=1, max=40)
    args, kwargs = call(4)
    shapes = {"pair": [{0: n}, {0: 2 * n + 1}], "options": {"weight": {0: n * 3 + 1}}}
    program = export(Both(), args, kwargs, dynamic_shapes=shapes)
    for rows in (1, 4, 17, 40):
        args, kwargs = call(rows)
        assert same(program.module()(*args, **kwargs)[0], Both()(*args, **kwargs)[0])
    args[0][1] = torch.randn(80, 3)
    with pytest.raises(ValueError, match=r"2\*n\+1"):
        program.module()(*args, **kwargs)
    # A result depends on the number of columns.
    args, kwargs = call(4)
    with pytest.raises(ValueError, match="c can be nothing but 3: .*results depend on"):
        export(Both(), args, kwargs, dynamic_shapes={"pair": [{1: Dim("c")}, {1: Dim("c")}]})

    class Sum(nn.Module):
        def forward(self, x, y):
            return x + y

    x = torch.ones(5, 3)
    free = export(Sum(), (x, x), dynamic_shapes=({0: Dim.AUTO, 1: Dim.STATIC}, (Dim.AUTO, None)))
    assert list(free.range_constraints) == ["s0"], "both are one: they are added"
    assert free.module()(torch.ones(7, 3), torch.ones(7, 3)).shape == (7, 3)
    fixed = export(nn.Linear(3, 2), (x,), dynamic_shapes=((Dim.AUTO, Dim.AUTO),))
    assert fixed.range_constraints == {}, "the columns are the weight's"
    assert export(nn.ReLU(), (x,), dynamic_shapes=((Dim.DYNAMIC, Dim.DYNAMIC),)).module()(torch.ones(2, 9)).shape == (2, 9)


def test_quotients_of_lengths_and_steps():
    class Skip(nn.Module):
        """A branch of half the size, back to the size that it came from."""

        def __init__(self):
            super().__init__()
            self.down = nn.Conv2d(3, 3, 3, stride=2, padding=1)

        def forward(self, x):
            small = self.down(x)
            both = [F.interpolate(small, size=x.shape[2:], mode=mode) for mode in ("nearest", "bilinear")]
            wide = F.interpolate(x, size=(2 * x.shape[2], x.shape[3] + 3), mode="bilinear", align_corners=True)
            return torch.cat([x, *both], 1), wide, x[:, :, ::2, 1:] + x[:, :, ::2, :-1], x.std(0)

    module = Skip().eval()
    free = {"x": {0: Dim("batch"), 2: Dim("height"), 3: Dim("width")}}
    call = export(module, (torch.randn(2, 3, 17, 12),), dynamic_shapes=free).module()
    for shape in ((2, 3, 17, 12), (3, 3, 16, 13), (5, 3, 2, 40), (2, 3, 33, 2)):
        x = torch.randn(shape)
        assert same(call(x), module(x))


def test_training_with_free_lengths():
    module = nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.Dropout(0.5))
    program = export(module, (torch.randn(4, 6),), dynamic_shapes={"input": {0: Dim("batch", min=2)}})
    x = torch.randn(9, 6)
    torch.manual_seed(3)
    expected = module(x)
    after = {name: buffer.clone() for name, buffer in module.named_buffers()}
    module[1].reset_running_stats()
    torch.manual_seed(3)
    assert same(program.module()(x), expected)
    assert same(dict(module.named_buffers()), after)


def test_what_depends_on_lengths_in_other_ways_is_refused():
    class Steps(nn.Module):
        def forward(self, x):
            for _ in range(x.shape[0]):
                x = x.sin()
            return x

    class Branch(nn.Module):
        def forward(self, x):
            return x.sin() if x.shape[0] < 100 else x.cos()

    class Window(nn.Module):
        def forward(self, x):
            return x[:512].exp()

    x, free = torch.ones(6), ({0: Dim("n", max=1000)},)
    for module, told in ((Steps(), "the same calls"), (Branch(), "Cos"), (Window(), "512 for n=1000")):
        with pytest.raises(ValueError, match=told):
            export(module, (x,), dynamic_shapes=free)
    assert export(Branch(), (x,), dynamic_shapes=({0: Dim("n", max=99)},)).module()(torch.ones(99)).shape == (99,)
    with pytest.raises((ValueError, RuntimeError), match="linear") as error:
        export(nn.Linear(6, 2), (torch.ones(2, 6),), dynamic_shapes=({1: Dim("n", max=8)},))
    assert error.value.__notes__ == ["traced for n = 7"]


@pytest.mark.parametrize(
    ("shapes", "error", "told"),
    [
        ({"x": {0: Dim("n")}}, TypeError, "no argument is named 'x'"),
        ({"input": {2: Dim("n")}}, IndexError, "no dimension 2"),
        ({"input": (Dim("n"),)}, TypeError, "2 dimensions"),
        ({"input": Dim("n")}, TypeError, "a dictionary or a tuple"),
        ({"input": {0: 4}}, ValueError, "is 2 long"),
        ({"input": {0: "batch"}}, ValueError, "a Dim was expected"),
        ({"input": {0: Dim("n", min=3)}}, ValueError, "size n from 3"),
        ({"input": {0: Dim("n", max=4), 1: Dim("n", max=5)}}, ValueError, "two Dims"),
        ((None, None), TypeError, "1 arguments"),
        (3, TypeError, "dictionary"),
    ],
)
def test_what_is_said_of_shapes_is_checked(shapes, error, told):
    with pytest.raises(error, match=told):
        export(nn.ReLU(), (torch.ones(2, 3),), dynamic_shapes=shapes)


def test_dims_are_checked():
    for arguments in (("2n",), ("class",), (3,)):
        with pytest.raises(ValueError, match="identifier"):
            Dim(*arguments)
    with pytest.raises(ValueError, match="above max"):
        Dim("n", min=4, max=3)
    with pytest.raises(ValueError, match="a length"):
        Dim("n", min=-1)
    n = Dim("n")
    assert [repr(d) for d in (n, 2 * n, n + 1, n - 1, 1 + 2 * (n + 3))] == ["n", "2*n", "n+1", "n-1", "2*n+7"]
    for wrong in (lambda: n * n, lambda: n * -1, lambda: n + 0.5):
        with pytest.raises(NotImplementedError, match="multiple|length"):
            wrong()
