"""Scripts are the functions themselves."""

import opforge as torch


def test_scripts_are_the_functions_themselves():
    def double(x):
        return 2 * x

    for decorate in torch.jit.script, torch.jit.ignore, torch.jit.unused, torch.jit.export, torch.jit.script_if_tracing, torch.jit.ignore(drop=True):
        assert decorate(double) is double
    assert torch.jit.annotate(int, 3) == 3 and not torch.jit.is_scripting()
    assert torch.jit.isinstance([1], list[int]) and not torch.jit.isinstance(["a"], list[int]) and torch.jit.isinstance({"a": 1}, dict[str, int])
    assert torch.jit.trace(double, torch.ones(2))(torch.ones(3)).tolist() == [2.0, 2.0, 2.0]
    assert torch.jit.wait(torch.jit.fork(double, 4)) == 8
