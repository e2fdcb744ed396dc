"""Optimizers that users write."""

import opforge as torch


def test_an_optimizer_that_does_not_call_the_base_class_steps():
    class Descent(torch.optim.Optimizer):
        def __init__(self, params):
            self.param_groups, self.state = [{"params": list(params), "lr": 0.5}], {}

        def step(self, closure=None):
            for group in self.param_groups:
                for param in group["params"]:
                    param.data.add_(param.grad, alpha=-group["lr"])

    weight, seen = torch.nn.Parameter(torch.ones(2)), []
    (weight * 2).sum().backward()
    optimizer = Descent([weight])
    optimizer.register_step_post_hook(lambda *_: seen.append("after"))
    optimizer.step()
    optimizer.zero_grad()
    assert weight.tolist() == [0, 0] and weight.grad is None and seen == ["after"]


def test_a_step_put_into_its_class_later_runs_the_hooks():
    class Late(torch.optim.SGD):
        pass

    seen = []
    Late.step = lambda self, closure=None: seen.append("step")
    optimizer = Late([torch.nn.Parameter(torch.ones(1))], lr=1.0)
    optimizer.register_step_pre_hook(lambda *_: seen.append("before"))
    optimizer.step()
    assert seen == ["before", "step"]


def test_optimizers_are_in_modules_of_their_names():
    import importlib

    for name in ("Adadelta", "Adagrad", "Adam", "AdamW", "Adamax", "ASGD", "LBFGS", "NAdam", "RAdam", "RMSprop", "Rprop", "SGD"):
        module = importlib.import_module(f"opforge.optim.{name.lower()}")
        assert getattr(module, name) is getattr(torch.optim, name)
