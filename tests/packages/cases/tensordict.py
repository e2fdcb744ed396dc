"""tensordict: dictionaries of tensors with batch sizes, modules of keys, data classes."""

import tempfile

import models
import torch
from tensordict import TensorDict, pad_sequence, tensorclass
from tensordict.nn import ProbabilisticTensorDictModule, ProbabilisticTensorDictSequential, TensorDictModule, TensorDictParams, TensorDictSequential

PACKAGE = "tensordict"


def _data():
    return TensorDict({"a": models.normal(3, 4), "in": {"b": models.normal(3, 4, 2), "c": models.integers(9, 3, 4)}}, batch_size=[3, 4])


def _flat(data):
    return models.arrays({".".join(key) if isinstance(key, tuple) else key: value for key, value in data.items(True, True)}) | models.arrays(
        list(data.batch_size), "size"
    )


def _made(change):
    return lambda: _flat(change(_data()))


def _set():
    data = _data()
    data["in", "d"] = data["a"] + 1
    data[1] = data[0].clone()
    data.set_("a", torch.zeros(3, 4)).rename_key_("a", "e")
    data.update({"f": torch.ones(3, 4)})
    return _flat(data.exclude(("in", "b")))


def _computed():
    data = _data().exclude(("in", "c"))
    return _flat((data + 1) * 2 - data) | models.arrays([data.norm()["a"], data.mean(dim=0)["a"], data.apply(torch.tanh)["in", "b"]], "more")


def _modules():
    network = TensorDictSequential(
        TensorDictModule(torch.nn.Linear(4, 5), in_keys=["x"], out_keys=["hidden"]),
        TensorDictModule(lambda x: (x.tanh(), x.exp()), in_keys=["hidden"], out_keys=["loc", "scale"]),
    )
    data = models.filled(network)(TensorDict({"x": models.normal(3, 4)}, [3]))
    data["loc"].sum().backward()
    return _flat(data.detach()) | models.arrays({name: parameter.grad for name, parameter in network.named_parameters()}, "gradient")


def _probabilities():
    head = ProbabilisticTensorDictModule(
        in_keys=["loc", "scale"], out_keys=["action"], distribution_class=torch.distributions.Normal, return_log_prob=True
    )
    network = ProbabilisticTensorDictSequential(TensorDictModule(lambda x: (x.tanh(), x.exp()), in_keys=["x"], out_keys=["loc", "scale"]), head)
    return _flat(network(TensorDict({"x": models.normal(3, 4)}, [3])))


def _parameters():
    """Weights as a dictionary, put into a module and in batches."""
    network = models.filled(torch.nn.Sequential(torch.nn.Linear(4, 5), torch.nn.Tanh(), torch.nn.Linear(5, 2)))
    weights = TensorDict.from_module(network)
    with (weights.data * 2).to_module(network):
        doubled = network(models.normal(3, 4))
    return models.arrays([doubled, network(models.normal(3, 4)), TensorDictParams(weights.data.clone())["0", "weight"]])


def _classes():
    @tensorclass
    class Pair:
        x: torch.Tensor
        y: torch.Tensor

        def total(self):
            return self.x + self.y

    pair = Pair(x=models.normal(3, 4), y=models.uniform(3, 4), batch_size=[3])
    return models.arrays([pair.total(), pair[1].x, torch.stack([pair, pair], 1).y, pair.reshape(3, 1).x])


def _mapped():
    with tempfile.TemporaryDirectory() as folder:
        _data().memmap(folder)
        return _flat(TensorDict.load_memmap(folder).clone())


def _state():
    data = _data()
    other = data.apply(torch.zeros_like)
    other.load_state_dict(data.state_dict())
    return _flat(other)


CASES = {
    "indices": _made(lambda data: data[1:, ::2]),
    "masks": _made(lambda data: data[data["a"] > 0]),
    "view, permute, squeeze": _made(lambda data: data.view(12).unsqueeze(0).permute(1, 0).squeeze(-1)),
    "reshape, transpose": _made(lambda data: data.reshape(2, 6).transpose(0, 1)),
    "expand": _made(lambda data: data.expand(2, 3, 4)),
    "stack": _made(lambda data: torch.stack([data, data + 1], 1)),
    "lazy stack": _made(lambda data: TensorDict.lazy_stack([data, data.clone()], 0)),
    "cat": _made(lambda data: torch.cat([data, data], 0)),
    "split": _made(lambda data: data.split(2, 1)[1]),
    "unbind": _made(lambda data: data.unbind(0)[2]),
    "gather": _made(lambda data: data.gather(1, torch.zeros(3, 2, dtype=torch.int64))),
    "flatten_keys": _made(lambda data: data.flatten_keys(".").unflatten_keys(".").select("a", ("in", "c"))),
    "dtypes": _made(lambda data: data.to(torch.float64).float().contiguous()),
    "padded": lambda: _flat(pad_sequence([TensorDict({"a": models.normal(n, 2)}, [n]) for n in (2, 4)])),
    "changes": _set,
    "arithmetic": _computed,
    "modules": _modules,
    "probabilities": _probabilities,
    "parameters": _parameters,
    "tensorclass": _classes,
    "memmap": _mapped,
    "state_dict": _state,
}
