"""A short run of the operator fuzzer, and what it must notice."""

import pathlib
import re
import subprocess
import sys

import pytest

from fuzz import generate
from fuzz.calls import Argument, Call
from fuzz.drive import Outcome, alone, run
from fuzz.shrink import cause, reproduce
from fuzz.values import Array, Items, Opaque, Plain

X = Array((2, 3), fill=(1.0, 2.0, 3.0))


def test_a_few_thousand_calls_go_well():
    folder = pathlib.Path(__file__).parent / "fuzz"
    command = [sys.executable, str(folder), "--seed", "1", "--calls", "3000", "--stretched", "100", "--jobs", "2", "--minutes", "2", "--shrink", "20"]
    result = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert result.returncode == 0, result.stdout[-6000:] + result.stderr[-2000:]
    calls, fine = int(re.search(r"(\d+) calls", result.stdout)[1]), int(re.search(r"(\d+) fine", result.stdout)[1])
    assert calls == 3000 and fine > calls // 3, result.stdout


def test_a_seed_and_a_number_name_a_call():
    programs = lambda: [generate.call(7, n, stretched=n % 3 == 0).program() for n in range(50)]  # noqa: E731
    assert programs() == programs()
    assert [generate.call(7, n).program() for n in range(50)] != [generate.call(8, n).program() for n in range(50)]


def planted(path, *values, **options):
    arguments = [value if isinstance(value, Argument) else Argument(value) for value in values]
    return Call("planted", path, tuple(arguments), **options)


# A function that hears no signal for a number of seconds.
DEAF = "(lambda x: exec('import signal, time; signal.pthread_sigmask(0, [14]); time.sleep({}); signal.pthread_sigmask(1, [14])'))"
FAULTS = {
    "died": planted("(lambda x: __import__('os').abort())", X),
    "hang": planted(DEAF.format(100), X),
    "late": planted(DEAF.format(2.5), Array((1,), stretched=((0, 2**30),)), stretched=True),
    "error": planted("(lambda x: 1 // 0)", X),
    "panic": planted("(lambda x: exec(\"class PanicException(BaseException): pass\\nraise PanicException('index out of bounds')\"))", X),
    "changed": planted("(lambda x: x.add_(1))", X),
    "shared": planted("(lambda x: x.view(-1))", X, view=False),
    "returned": planted("add", Argument(X, changed=True, returned=True), Plain(1), method=True),
}


@pytest.mark.parametrize("kind", FAULTS)
def test_faults_are_noticed(kind):
    assert alone(FAULTS[kind], 3.0 if kind == "hang" else 30.0).kind == kind


def test_what_is_well_is_not_noticed():
    calls = [
        planted("add_", Argument(X, changed=True, returned=True), Plain(1), method=True),
        planted("torch.add", X, Plain(1), view=False),
        planted("torch.add", X, Plain("one"), view=False),
        planted("torch.matmul", X, X),
        planted("torch.split", X, Plain(1), view=True),
    ]
    assert [outcome.kind for _, outcome in run(calls, 30.0)] == ["fine", "fine", "refused", "refused", "fine"]


def test_the_others_run_after_one_that_dies_or_hangs():
    fine = planted("torch.neg", X)
    kinds = [outcome.kind for _, outcome in run([fine, FAULTS["died"], fine, FAULTS["hang"], fine], 3.0)]
    assert kinds == ["fine", "died", "fine", "hang", "fine"]


def test_a_failure_is_shrunk():
    big = Array((4, 5, 6), "float64", (1.5, 2.5), "transposed", "leaf")
    call = planted("(lambda x, *rest: __import__('os').abort() if len(x) > 1 else None)", big, Plain(7), Items((Plain(3), Opaque("None"))))
    shrunk, outcome, alone_too = reproduce(call, Outcome("died", "exit status -6: "), 30.0, 30.0)
    assert alone_too and cause(outcome).startswith("died")
    assert [a.value for a in shrunk.arguments] == [Array((2,), fill=(1,))]
