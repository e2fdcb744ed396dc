"""Processes that `multiprocessing.spawn` starts."""

import os

import pytest

import opforge as torch
from opforge import multiprocessing


def fill(place, shared, total):
    shared[place] = place + 1
    assert total == 2


def fail(place):
    raise ValueError(f"process {place} cannot")


def leave(place):
    raise SystemExit(3)


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_processes_share_memory(method):
    shared = torch.zeros(2).share_memory_()
    multiprocessing.start_processes(fill, (shared, 2), nprocs=2, start_method=method)
    assert shared.tolist() == [1.0, 2.0]


def test_an_exception_of_a_process_is_raised_here():
    with pytest.raises(multiprocessing.ProcessRaisedException, match="(?s)Process 0.*ValueError: process 0 cannot") as caught:
        multiprocessing.start_processes(fail, nprocs=1, start_method="fork")
    assert caught.value.error_index == 0


def test_a_process_that_ends_while_it_is_looked_at_is_not_taken_for_a_success():
    class Ending:
        """Ends between two looks at it, with an error."""

        def __init__(self):
            self.sentinel, self.looks = os.open(os.devnull, os.O_RDONLY), 0

        @property
        def exitcode(self):
            self.looks += 1
            return None if self.looks == 1 else 1

        def is_alive(self):
            return self.looks == 0

        def join(self, timeout=None):
            pass

        pid = 0

    process = Ending()
    context = multiprocessing.ProcessContext([process], multiprocessing.get_context("fork").SimpleQueue())
    with pytest.raises(multiprocessing.ProcessExitedException, match="exit code 1"):
        while not context.join(timeout=1):
            pass
    os.close(process.sentinel)


def test_a_process_that_leaves_is_told():
    with pytest.raises(multiprocessing.ProcessExitedException, match="exit code 3"):
        multiprocessing.start_processes(leave, nprocs=1, start_method="fork")


def test_names_of_strategies():
    multiprocessing.set_sharing_strategy("file_system")
    assert multiprocessing.get_sharing_strategy() in multiprocessing.get_all_sharing_strategies()
    with pytest.raises(ValueError, match="file_descriptor"):
        multiprocessing.set_sharing_strategy("none")


def read(queue, answers):
    tensor, view = queue.get()
    tensor.add_(1)
    answers.put((view.tolist(), tensor.is_shared(), tensor.requires_grad))


def test_tensors_in_queues_share_their_memory():
    context = multiprocessing.get_context("spawn")
    queue, answers = context.SimpleQueue(), context.SimpleQueue()
    process = context.Process(target=read, args=(queue, answers))
    process.start()
    tensor = torch.arange(6.0).share_memory_()
    queue.put((tensor, tensor.view(2, 3)[:, 1:]))
    assert answers.get() == ([[2.0, 3.0], [5.0, 6.0]], True, False)
    process.join()
    assert tensor.tolist() == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]


def test_sharing():
    layer = torch.nn.Linear(2, 2)
    before = layer.weight.tolist()
    layer.share_memory()
    assert layer.weight.is_shared() and layer.weight.tolist() == before and layer.weight.requires_grad
    assert not torch.ones(2).is_shared() and not torch.empty(0).share_memory_().is_shared()
    with pytest.raises(RuntimeError, match="detach"):
        (layer.weight * 2).share_memory_()
