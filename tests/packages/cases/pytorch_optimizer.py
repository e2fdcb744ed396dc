"""pytorch-optimizer: its optimizers, each for a few steps of a small network; not those that draw numbers or choose among eigenvectors."""

import models
import pytorch_optimizer
import torch

PACKAGE = "pytorch-optimizer"
_NAMES = """
AdaBelief AdaBound Adai Adan AdaNorm AdEMAMix ADOPT AggMo Apollo CAME DiffGrad FAdam Fromage Kate LAMB LARS Lion MADGRAD MSVAG NovoGrad
PID PNM Prodigy QHAdam QHM RAdam Ranger Ranger21 ScalableShampoo Shampoo SignSGD SM3 SRMM SWATS Tiger VSGD Yogi
""".split()


def _stepped(name):
    def case():
        network = models.filled(torch.nn.Sequential(torch.nn.Linear(6, 16), torch.nn.Tanh(), torch.nn.Linear(16, 3)))
        options = {"num_iterations": 10} if name == "Ranger21" else {"dataset_size": 10} if name == "VSGD" else {}
        optimizer = pytorch_optimizer.load_optimizer(name)(network.parameters(), **options)
        torch.manual_seed(0)
        for _ in range(4):
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(network(models.normal(8, 6)), models.integers(3, 8))
            loss.backward()
            optimizer.step()
        return models.arrays(dict(network.named_parameters()))

    return case


CASES = {name: _stepped(name) for name in _NAMES}
