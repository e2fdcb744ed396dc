"""The state of random numbers: forked, copied, begun alike."""

import copy
import pickle

import opforge as torch


def test_random_numbers_go_on_after_a_fork():
    torch.manual_seed(3)
    with torch.random.fork_rng():
        torch.rand(5)
    first = torch.rand(2)
    torch.manual_seed(3)
    assert torch.rand(2).tolist() == first.tolist()


def test_generators_begin_alike_and_can_be_copied():
    generator = torch.Generator()
    assert generator.initial_seed() == torch.Generator("cpu").initial_seed() == 67280421310721
    assert torch.Generator().manual_seed(3).initial_seed() == 3
    torch.rand(5, generator=generator.manual_seed(3))
    copies = [generator.clone_state(), copy.copy(generator), copy.deepcopy(generator), pickle.loads(pickle.dumps(generator))]
    expected = torch.rand(4, generator=generator)
    for other in copies:
        assert other.initial_seed() == 3 and torch.equal(torch.rand(4, generator=other), expected)
