"""Compiled functions, modules and steps do what they do uncompiled."""

import collections
import copy
import pickle
import warnings
from queue import SimpleQueue

import numpy as np
import pytest

import opforge as torch
from opforge import nn
from opforge.nn import functional as F
from test_registry import CASES, array, call, each, leaves, tensors

pytestmark = pytest.mark.usefixtures("no_warnings")


def network():
    torch.manual_seed(3)
    return nn.Sequential(nn.Linear(6, 16), nn.LayerNorm(16), nn.GELU(), nn.Dropout(0.25), nn.Linear(16, 3))


def test_functions_and_their_structures():
    calls = SimpleQueue()  # which nobody looks into: a function that appends to a list does so in each call

    @torch.compile
    def f(x, *, scale=2.0, others=()):
        calls.put(tuple(x.shape))
        y = x * scale + sum(others)
        return {"y": y, "pair": (y.relu(), "text"), "shape": y.shape}

    for shape in [(3,), (2, 5), (3,), (2, 5)]:
        x = torch.randn(*shape)
        result = f(x, others=[x, x])
        assert torch.equal(result["y"], x * 2.0 + (x + x)) and torch.equal(result["pair"][0], result["y"].relu())
        assert result["pair"][1] == "text" and result["shape"] == torch.Size(shape)
    assert calls.qsize() == 2, "one trace for each kind of arguments"
    assert torch.equal(f(x, scale=3.0)["y"], x * 3.0) and calls.qsize() == 3
    f(x.double()), f(x.t()), f(x.t())
    assert calls.qsize() == 5
    torch.compiler.reset()
    f(x)
    assert calls.qsize() == 6
    assert f.__name__ == "f" and "kernel 0: 3 calls" in f.explain()


def test_gradients_and_parameters():
    model = network().eval()
    compiled = torch.compile(model, fullgraph=True)
    twin = copy.deepcopy(model)
    optimizers = [torch.optim.AdamW(m.parameters(), lr=0.01) for m in (compiled, twin)]
    for step in range(4):
        x, y = torch.randn(8, 6), torch.randint(0, 3, (8,))
        losses = []
        for m, optimizer in zip((compiled, twin), optimizers):
            optimizer.zero_grad()
            loss = F.cross_entropy(m(x), y)
            loss.backward()
            optimizer.step()
            losses.append(loss)
        assert torch.equal(*losses), step
    assert all(torch.equal(a, b) for a, b in zip(compiled.parameters(), twin.parameters()))
    with torch.no_grad():
        assert torch.equal(compiled(x), twin(x))


def test_modes_and_random_numbers():
    model = network()
    compiled = torch.compile(model)
    x = torch.randn(40, 6)
    for mode in [True, False, True]:
        assert compiled.train(mode) is compiled and model.training == mode
        for seed in (1, 2):
            results = []
            for f in (compiled, compiled, model):
                torch.manual_seed(seed)
                results.append(f(x))
            assert torch.equal(results[0], results[2]) and torch.equal(results[1], results[2])
    compiled.train()
    assert not torch.equal(compiled(x), compiled(x)), "each call draws anew"


def test_a_compiled_module_is_its_module():
    model = network()
    compiled = torch.compile(model)
    assert isinstance(compiled, nn.Module) and torch.compile(compiled) is compiled
    assert list(compiled.state_dict()) == list(model.state_dict()) and compiled[0] is model[0] and len(compiled) == 5
    assert [n for n, _ in compiled.named_parameters()] == [n for n, _ in model.named_parameters()]
    parent = nn.ModuleList([compiled])
    assert len(list(parent.parameters())) == len(list(model.parameters()))
    other = copy.deepcopy(compiled).eval()
    compiled.load_state_dict(other.state_dict())
    x = torch.randn(2, 6)
    assert torch.equal(other(x), compiled.eval()(x)) and other[0] is not compiled[0]
    assert isinstance(compiled.double(), type(compiled)) and model[0].weight.dtype == torch.float64
    with pytest.raises(AttributeError):
        compiled.nothing


def test_running_statistics_change_with_each_call():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(2, 4, 3), nn.BatchNorm2d(4), nn.ReLU())
    twin, compiled = copy.deepcopy(model), torch.compile(model, fullgraph=True)
    for _ in range(3):
        x = torch.randn(5, 2, 8, 8)
        a, b = compiled(x), twin(x)
        assert torch.equal(a, b)
        a.sum().backward(), b.sum().backward()
    for (name, a), b in zip(compiled.state_dict().items(), twin.state_dict().values()):
        assert torch.equal(a, b), name
    assert all(torch.equal(a.grad, b.grad) for a, b in zip(compiled.parameters(), twin.parameters()))


def test_what_sets_the_state_of_random_numbers_runs_as_it_is():
    """Graphs draw random numbers when they run, whatever the state was when they were traced."""

    def seeded(x):
        torch.manual_seed(3)
        return x + torch.rand(3)

    def forked(x):
        with torch.random.fork_rng():
            return x + torch.rand(3)

    for function in (seeded, forked):
        compiled = torch.compile(function)
        for _ in range(2):
            torch.manual_seed(0)
            expected = function(torch.zeros(3)), torch.rand(1)
            torch.manual_seed(0)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)
                found = compiled(torch.zeros(3)), torch.rand(1)
            assert [x.tolist() for x in found] == [x.tolist() for x in expected]
    with pytest.raises(RuntimeError, match="state of random numbers"):
        torch.compile(seeded, fullgraph=True)(torch.zeros(3))


def test_what_reads_elements_runs_as_it_is():
    def f(x):
        return x * 2 if x.sum() > 0 else x - 1

    with pytest.warns(UserWarning, match=r"elements are there when it runs.*test_graph"):
        compiled = torch.compile(f)
        assert torch.equal(compiled(torch.ones(2)), torch.full((2,), 2.0))
    assert torch.equal(compiled(-torch.ones(2)), torch.full((2,), -2.0))
    with pytest.raises(RuntimeError, match="is not one graph"):
        torch.compile(f, fullgraph=True)(torch.ones(2))
    with pytest.warns(UserWarning, match="told from others"):
        assert torch.compile(lambda x, a: x + a.sum())(torch.ones(1), np.ones(3)).item() == 4


def test_other_parameters_are_another_kind_of_call():
    model = nn.Sequential(nn.Linear(2, 2, bias=False), nn.ReLU())
    compiled, function = torch.compile(model), torch.compile(lambda x: model(x) * 2)
    x = torch.rand(3, 2)

    def check():
        result = compiled(x)
        assert torch.equal(result, model(x)) and torch.equal(function(x), model(x) * 2)
        assert result.requires_grad == any(p.requires_grad for p in model.parameters())

    check()
    model[0].weight.data = torch.rand(2, 2)
    check()
    model[0].weight = nn.Parameter(torch.rand(2, 2))
    check()
    model.requires_grad_(False)
    check()
    model.requires_grad_(True)
    check()
    model[1] = nn.Tanh()
    check()
    with torch.no_grad():
        model[0].weight.mul_(2)
    check()
    model.double()
    x = x.double()
    check()


SCALE = torch.tensor([2.0])


def test_tensors_that_a_function_names_are_seen_as_they_are():
    global SCALE
    own = torch.tensor([3.0])

    def f(x, more=(torch.tensor([1.0]),)):
        return x * SCALE * own + more[0]

    compiled, x = torch.compile(f), torch.rand(2)
    for scale in (2.0, 5.0):
        SCALE, own = torch.tensor([scale]), torch.tensor([scale + 1])
        assert torch.equal(compiled(x), f(x))


FACTOR = 2.0


def test_numbers_that_a_function_names_are_seen_as_they_are():
    global FACTOR
    FACTOR, factors, bias = 2.0, {"own": 3.0}, 1

    class Scaled(nn.Module):
        def __init__(self):
            super().__init__()
            self.scale, self.dropout = 2.0, nn.Dropout(0.0)

        def forward(self, x):
            return self.dropout(x) * self.scale

    module = Scaled()
    compiled_module, compiled = torch.compile(module), torch.compile(lambda x: module(x) * FACTOR * factors["own"] + bias)
    x = torch.ones(2)

    def check(expected):
        assert compiled_module(x).tolist() == [module.scale] * 2 and compiled(x).tolist() == [expected] * 2

    check(13.0)
    FACTOR = 4.0
    check(25.0)
    factors["own"] = 1.0
    check(9.0)
    bias = 1.5
    check(9.5)
    module.scale = 3
    check(13.5)
    module.dropout.p = 1.0
    assert compiled_module(x).tolist() == [0.0, 0.0] and compiled(x).tolist() == [1.5, 1.5]


class Holder:
    """An object of a user's, with what it holds."""

    def __init__(self, **held):
        self.__dict__.update(held)


def test_what_objects_hold_is_seen_as_it_is():
    """A module's mode, and attributes of objects, were those of the first call where the object was an argument or what a function names."""
    x, holder, calls = torch.ones(3), Holder(weight=torch.ones(3), factor=2, inner=Holder(parts=[torch.zeros(3)])), SimpleQueue()

    def f(held, x):
        calls.put(1)
        return held.weight * x * held.factor + held.inner.parts[0]

    of_argument = torch.compile(f)
    named = torch.compile(lambda x: f(holder, x))
    for change in (
        lambda: None,
        lambda: None,
        lambda: setattr(holder, "weight", torch.full((3,), 5.0)),
        lambda: setattr(holder, "factor", 2.0),
        lambda: holder.inner.parts.__setitem__(0, torch.arange(3.0)),
        lambda: holder.weight.add_(1),
    ):
        change()
        expected = holder.weight * x * holder.factor + holder.inner.parts[0]
        assert torch.equal(of_argument(holder, x), expected) and torch.equal(named(x), expected)
    assert calls.qsize() == 8

    model, run = nn.Dropout(0.5), torch.compile(lambda models, x: models["first"](x))
    for training in (False, True, False):
        model.train(training)
        assert torch.equal(run({"first": model}, torch.ones(1000)), torch.ones(1000)) is not training


def test_the_oldest_kinds_of_calls_are_forgotten():
    global FACTOR

    class Step(nn.Graph):
        def build(self, x):
            return x * FACTOR

    step, compiled, x = Step(), torch.compile(lambda x: x * FACTOR), torch.ones(1)
    for FACTOR in range(100):
        assert step(x).item() == compiled(x).item() == compiled(x).item() == FACTOR
    assert len(step._programs) <= 64 and compiled.explain().count("kernel 0") <= 64


def test_constants_of_a_function_are_new_in_each_call():
    def f(x):
        total = torch.tensor([0, 0])
        total += x
        return total, torch.tensor([1, 2])

    compiled, x = torch.compile(f), torch.tensor([3, 4])
    for _ in range(3):
        total, constant = compiled(x)
        assert total.tolist() == [3, 4] and constant.tolist() == [1, 2]
        constant.fill_(0)


def test_errors_of_the_function_are_its_own():
    @torch.compile
    def f(x, y):
        return x @ y

    with pytest.raises(ValueError, match="matmul"):
        f(torch.ones(2, 3), torch.ones(2, 3))
    with pytest.raises(ZeroDivisionError):
        torch.compile(lambda x: x / (1 // 0))(torch.ones(1))
    assert not torch.compiler.is_compiling()
    with pytest.raises(TypeError, match="compile"):
        torch.compile(3)
    divide = torch.compile(lambda x, y: x // y)
    with pytest.raises(ValueError, match=r"divisors other than 0.*test_graph\.py:\d+ in .*<lambda>"):
        divide(torch.tensor([1]), torch.tensor([0]))


def test_a_compiled_function_in_another():
    inner = torch.compile(lambda x: x.exp())
    seen = SimpleQueue()

    @torch.compile
    def outer(x):
        seen.put(torch.compiler.is_compiling())
        return inner(x) + 1

    x = torch.randn(4)
    assert torch.equal(outer(x), x.exp() + 1) and torch.equal(outer(x), x.exp() + 1) and seen.get() and seen.empty()


class Step(nn.Graph):
    def __init__(self, model, optimizer, schedule=None):
        super().__init__()
        self.model = model
        self.add_optimizer(optimizer, schedule)

    def build(self, x, y):
        loss = F.cross_entropy(self.model(x), y)
        loss.backward()
        return loss


def test_a_step_of_training():
    model = network()
    twin = copy.deepcopy(model)
    optimizers = [torch.optim.Adam(m.parameters(), lr=0.05) for m in (model, twin)]
    schedules = [torch.optim.lr_scheduler.StepLR(o, 2, 0.5) for o in optimizers]
    step = Step(model, optimizers[0], schedules[0])
    for i in range(6):
        x, y = torch.randn(8 + i % 2, 6), torch.randint(0, 3, (8 + i % 2,))
        torch.manual_seed(i)
        loss = step(x, y)
        torch.manual_seed(i)
        expected = F.cross_entropy(twin(x), y)
        expected.backward()
        optimizers[1].step(), optimizers[1].zero_grad(), schedules[1].step()
        assert torch.equal(loss, expected) and not loss.requires_grad, i
    assert all(torch.equal(a, b) for a, b in zip(model.parameters(), twin.parameters()))
    assert len(step._programs) == 1, "other lengths of batches are other programs of the same step"
    state = step.state_dict()
    assert set(state) == {"model", "optimizer0"}
    step.load_state_dict(state)


def test_graphs_of_inference_and_wrong_ones():
    class Evaluate(nn.Graph):
        def __init__(self, model):
            super().__init__()
            self.model = model

        def build(self, x):
            return self.model(x).softmax(-1)

    model = network().eval()
    evaluate, x = Evaluate(model), torch.randn(3, 6)
    for _ in range(2):
        assert torch.equal(evaluate(x), model(x).softmax(-1).detach())
    with pytest.raises(NotImplementedError):
        nn.Graph()(x)
    with pytest.raises(TypeError):
        evaluate.add_optimizer(3)
    with pytest.raises(AttributeError):
        nn.Grapf


def test_custom_functions_are_part_of_graphs():
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    x = torch.randn(5, requires_grad=True)
    y = torch.compile(lambda x: Double.apply(x).sin())(x)
    y.sum().backward()
    expected = x.detach().clone().requires_grad_()
    Double.apply(expected).sin().sum().backward()
    assert torch.equal(x.grad, expected.grad)


def test_double_backward_is_refused():
    x = torch.randn(3, requires_grad=True)
    y = torch.compile(lambda x: x.exp())(x)
    with pytest.raises(RuntimeError, match="differentiated again"):
        torch.autograd.grad(y.sum(), x, create_graph=True)


def test_compiled_modules_are_pickled_as_modules():
    compiled = torch.compile(network().eval())
    x = torch.randn(2, 6)
    try:
        other = pickle.loads(pickle.dumps(compiled))
    except TypeError as error:
        pytest.skip(f"modules are not pickled: {error}")
    assert torch.equal(other(x), compiled(x))


# Every function

# The shapes of their results, or whether arguments are right, depend on elements.
READ_ELEMENTS = set(
    """
    allclose argwhere bincount combinations ctc_loss embedding_bag equal histc histogram index_get istft lstsq masked_scatter masked_select multinomial
    nanquantiles nonzero nonzero_as nonzero_tuple one_hot quantiles repeat_interleave_each repeated_positions segment_reduce tensor_split_by
    tril_indices triu_indices unique unique_consecutive unravel_index where_places
    """.split()
)


def results(case, compiled, gradients):
    args = tensors(case.args)
    inputs = [leaf for leaf in leaves(args) if isinstance(leaf, torch.Tensor) and leaf.is_floating_point()]
    if gradients:
        inputs = [leaf.requires_grad_() for leaf in inputs]
    function = lambda *args: call(case, args)
    torch.manual_seed(0)
    found = leaves((torch.compile(function) if compiled else function)(*args))
    roots = [leaf for leaf in found if isinstance(leaf, torch.Tensor) and leaf.requires_grad]
    if roots:
        torch.autograd.backward(roots, [torch.ones_like(root) for root in roots])
    return [leaf.detach() if isinstance(leaf, torch.Tensor) else leaf for leaf in found], [leaf.grad for leaf in inputs]


@pytest.mark.parametrize("gradients", [False, True], ids=["values", "gradients"])
@each(CASES)
def test_functions_in_graphs(case, gradients):
    if gradients and not case.smooth:
        return
    expected = results(case, False, gradients)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = results(case, True, gradients)
    assert case.name in READ_ELEMENTS or not caught, caught[0].message
    for a, b in zip([*found[0], *found[1]], [*expected[0], *expected[1]], strict=True):
        assert type(a) is type(b)
        if isinstance(a, torch.Tensor):
            assert a.dtype == b.dtype
            np.testing.assert_array_equal(array(a), array(b))


def test_programs_tell_of_themselves():
    model = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 4))
    compiled, x = torch.compile(model), torch.randn(3, 8)
    assert compiled.explain() == "no program yet"
    table, svg, text = compiled.profile(x), compiled.draw(x), compiled.explain()
    assert "linear f32[3, 16]" in text and "then another, for linear" in text and "backward:" in text
    assert table.count("%") == 2 * (len(table.splitlines()) - 2) and "gelu f32[3, 16]" in table
    assert svg.startswith("<svg") and ">gelu f32[3, 16]<" in svg
    reads = torch.compile(lambda x: x * x.sum().item())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(RuntimeError, match="runs as it is"):
            reads.profile(x)


def test_what_asks_for_an_array_runs_as_it_is():
    """numpy asked for one without end: of a tensor whose elements are not there, and of one whose call has failed."""
    compiled = torch.compile(lambda x: torch.from_numpy(np.sin(x.numpy())) + torch.tensor(np.asarray(x)))
    with pytest.warns(UserWarning, match="runs as it is"):
        assert compiled(torch.zeros(2)).tolist() == [0.0, 0.0]
    assert compiled(torch.ones(1)).tolist() == pytest.approx([1 + np.sin(1)])


@pytest.mark.parametrize("first_apart", [True, False])
def test_arguments_that_share_what_is_changed_run_call_by_call(first_apart):
    def f(x, y):
        before = y.exp()
        x.add_(1.0)
        return before, y.exp()

    compiled = torch.compile(f)
    pairs = [lambda z: (z, z), lambda z: (z[:3], z[1:4]), lambda z: (z[:3], z[3:]), lambda z: (z[:3].clone(), z[:3])]
    for pair in pairs if not first_apart else reversed(pairs):
        z, other = torch.arange(6.0), torch.arange(6.0)
        for found, expected in zip(compiled(*pair(z)), f(*pair(other))):
            assert torch.equal(found, expected)
        assert torch.equal(z, other)


def test_a_function_changes_a_tensor_of_its_own_that_is_its_argument_too():
    total = torch.zeros(3)

    @torch.compile
    def f(x):
        total.add_(1.0)
        return x * 2

    assert f(torch.ones(3)).tolist() == [2.0] * 3 and total.tolist() == [1.0] * 3
    assert f(total).tolist() == [4.0] * 3 and total.tolist() == [2.0] * 3


def test_containers_of_all_kinds_come_back_as_they_are():
    Pair = collections.namedtuple("Pair", "first second")

    @torch.compile
    def f(given):
        x = given["x"][0]
        inner = collections.OrderedDict(a=x + 1, b=[x + 2])
        outer = collections.defaultdict(list, inner=inner, pair=Pair(x + 3, (x + 4, {"c": x + 5, 6: "text"})))
        return outer, collections.OrderedDict(d=x + 7)

    for _ in range(2):
        outer, last = f(collections.OrderedDict(x=[torch.zeros(2)]))
        assert type(outer) is collections.defaultdict and outer["none"] == [] and type(outer["inner"]) is collections.OrderedDict
        assert type(outer["pair"]) is Pair and outer["pair"].second[1][6] == "text" and type(last) is collections.OrderedDict
        (a, (b,)), (first, (second, third)) = outer["inner"].values(), outer["pair"]
        assert [x.tolist()[0] for x in (a, b, first, second, third["c"], last["d"])] == [1, 2, 3, 4, 5, 7]


def test_a_container_in_itself_is_an_error():
    itself = [torch.zeros(1)]
    itself.append(itself)
    with pytest.raises(RecursionError, match="256"):
        torch.compile(lambda given: given[0] + 1)(itself)


def test_zeros_of_both_signs_are_two_kinds_of_calls():
    class Divide(nn.Module):
        def forward(self, x):
            return x / self.by

    divide, module = torch.compile(lambda x, by: x / by), Divide()
    compiled, x = torch.compile(module), torch.ones(1)
    for module.by in (0.0, -0.0, 0.0, -0.0):
        expected = (x / module.by).item()
        assert divide(x, module.by).item() == compiled(x).item() == expected
    # In parts of complex numbers too.
    for by in (complex(0.0, -0.0), complex(-0.0, 0.0)):
        assert torch.compile(lambda x, by: torch.full_like(x, by))(x.to(torch.complex64), by).angle().item() == torch.full((1,), by).angle().item()
