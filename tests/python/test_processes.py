"""Threads, forks, signals, and errors that surface later than they arise."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import pytest

import opforge as torch
from opforge import _core


def run(program, **options):
    """Runs a program in a process of its own."""
    code = textwrap.dedent(program)
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, **options)


def test_threads_compute_side_by_side():
    eye = (torch.arange(100)[:, None] == torch.arange(100)).float()
    results, errors = {}, []

    def work(k):
        try:
            x = torch.full((100, 100), float(k))
            for _ in range(50):
                x = (x @ eye) + 1 - 1
            results[k] = x.sum().item()
        except Exception as error:  # noqa: BLE001 (told below)
            errors.append(error)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert not errors
    assert results == {k: k * 10000.0 for k in range(8)}


def test_one_tensor_is_used_by_many_threads():
    x = torch.zeros(1000)
    threads = [threading.Thread(target=lambda: [x.add_(1) for _ in range(100)]) for _ in range(4)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert x.tolist() == [400.0] * 1000


def test_grad_mode_belongs_to_a_thread():
    seen = []
    before = _core.set_grad_mode(False)
    try:
        thread = threading.Thread(target=lambda: seen.append(torch.is_grad_enabled()))
        thread.start()
        thread.join()
        assert not torch.is_grad_enabled()
    finally:
        _core.set_grad_mode(before)
    assert seen == [True]


def test_other_threads_run_while_one_waits():
    ticks, done = [], threading.Event()

    def tick():
        while not done.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    x = torch.rand(700, 700)
    thread.start()
    start = time.perf_counter()
    while time.perf_counter() - start < 0.5:
        (x @ x @ x).sum().item()
    done.set()
    thread.join()
    assert len(ticks) > 50


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_forked_child_computes_or_says_why_not():
    result = run("""
        import os, warnings, opforge as torch
        warnings.simplefilter("ignore")
        x = torch.rand(300, 300)
        before = (x @ x).sum().item()
        child = os.fork()
        if child == 0:
            try:
                ok = abs((x @ x).sum().item() - before) < 1e-3 * before
            except torch.OpforgeError:
                ok = True
            os._exit(0 if ok else 1)
        status = os.waitpid(child, 0)[1]
        assert os.waitstatus_to_exitcode(status) == 0, status
        assert (x @ x).sum().item() == before
    """)
    assert result.returncode == 0, result.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="signals are POSIX's")
def test_ctrl_c_ends_a_long_wait():
    program = """
        import signal, opforge as torch
        # Where tests run in the background, the signal is ignored from the start.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        x = torch.rand(2500, 2500)
        y = x
        print("ready", flush=True)
        try:
            while True:
                for _ in range(20):
                    y = y @ x
                y.sum().item()
        except KeyboardInterrupt:
            print("interrupted", flush=True)
        print((x[:2, :2] * 0).sum().item(), flush=True)
    """
    process = subprocess.Popen([sys.executable, "-c", textwrap.dedent(program)], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n"
    time.sleep(1.0)
    process.send_signal(signal.SIGINT)
    try:
        out, _ = process.communicate(timeout=110)
    finally:
        process.kill()
    assert out.splitlines() == ["interrupted", "0.0"] and process.returncode == 0


def test_late_errors_name_the_line():
    result = run("""
        import opforge as torch
        def careless(x, i):
            return torch.index_select(x, 0, i)  # line 4
        y = careless(torch.ones(2000, 2000), torch.full((2000,), 5000))
        try:
            y.sum().item()
        except torch.IndexError as error:
            print(error)
    """)
    assert result.returncode == 0, result.stderr
    assert "index_select" in result.stdout and "5000" in result.stdout and "<string>:4 in careless" in result.stdout


def test_a_poisoned_result_does_not_spoil_others():
    x = torch.ones(2000, 2000)
    bad = torch.index_select(x, 0, torch.full((2000,), 5000))
    with pytest.raises(torch.IndexError):
        (bad + 1).sum().item()
    assert x.sum().item() == 4e6


def test_exceptions_of_hooks_pass_through_unchanged():
    class Mine(Exception):
        pass

    def hook(grad):
        raise Mine("from the hook")

    x = torch.ones(3, requires_grad=True)
    y = (x * 2).sum()
    y.register_hook(hook)
    with pytest.raises(Mine, match="from the hook"):
        y.backward()


def test_interpreter_exit_with_work_under_way():
    result = run("""
        import opforge as torch
        x = torch.rand(1500, 1500)
        for _ in range(20):
            x = x @ x
    """)
    assert result.returncode == 0 and not result.stderr
