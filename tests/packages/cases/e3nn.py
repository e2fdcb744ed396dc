"""e3nn: networks that turn with their inputs."""

import e3nn
import models
import torch
from e3nn import nn, o3

e3nn.set_optimization_defaults(jit_script_fx=False)
PACKAGE = "e3nn"
IRREPS = "4x0e + 3x1o + 2x2e"


def _vectors(rows=7, irreps=IRREPS, name="input"):
    return models.normal(rows, o3.Irreps(irreps).dim, name=name)


def _linear():
    return models.passes(o3.Linear(IRREPS, "5x0e + 2x1o"), _vectors())


def _product(build):
    return lambda: models.passes(build(), _vectors(), _vectors(name="other"))


def _harmonics():
    points = models.normal(9, 3).requires_grad_()
    values = o3.spherical_harmonics([0, 1, 2, 3], points, normalize=True, normalization="component")
    (values * models.uniform(*values.shape)).sum().backward()
    return models.arrays([values, points.grad])


def _rotations():
    angles = [models.uniform(5, name=name) for name in "abc"]
    matrix = o3.angles_to_matrix(*angles)
    return models.arrays([matrix, *o3.matrix_to_angles(matrix), o3.Irreps(IRREPS).D_from_matrix(matrix), o3.wigner_3j(1, 2, 2), o3.angles_to_quaternion(*angles)])


CASES = {
    "Linear": _linear,
    "spherical harmonics": _harmonics,
    "rotations": _rotations,
    "FullyConnectedTensorProduct": _product(lambda: o3.FullyConnectedTensorProduct(IRREPS, IRREPS, "3x0e + 2x1o")),
    "ElementwiseTensorProduct": _product(lambda: o3.ElementwiseTensorProduct(IRREPS, IRREPS)),
    "FullyConnectedNet": lambda: models.passes(nn.FullyConnectedNet([6, 16, 4]), models.normal(5, 6)),
    "BatchNorm": lambda: models.passes(nn.BatchNorm(IRREPS), _vectors(), train=True),
    "NormActivation": lambda: models.passes(nn.NormActivation(IRREPS, torch.sigmoid), _vectors()),
}
