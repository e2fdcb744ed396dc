"""Transforms: inverses, determinants of Jacobians by autograd, shapes, caches; constraints and the transforms to their regions."""

import copy
import pickle

import numpy as np
import pytest

import opforge as torch
from opforge import distributions as D
from opforge.distributions import biject_to, constraints, transform_to, transforms
from opforge.distributions import utils

F64 = torch.float64


def T(*values):
    return torch.tensor(values, dtype=F64)


def N(*shape):
    return torch.from_numpy(np.random.RandomState(sum(shape)).randn(*shape))


BIJECTIVE = {
    "Exp": (transforms.ExpTransform(), N(3)),
    "Power": (transforms.PowerTransform(T(2.0, 0.5, -1.0)), N(3).exp()),
    "Sigmoid": (transforms.SigmoidTransform(), N(3)),
    "Softplus": (transforms.SoftplusTransform(), N(3) * 20),
    "Tanh": (transforms.TanhTransform(), N(3)),
    "Affine": (transforms.AffineTransform(1.0, -2.0), N(2, 3)),
    "Affine of tensors": (transforms.AffineTransform(T(1.0, 2.0, 3.0), T(-1.0, 0.5, 2.0)), N(2, 3)),
    "Affine of events": (transforms.AffineTransform(T(1.0, 2.0, 3.0), 2.0, event_dim=1), N(2, 3)),
    "StickBreaking": (transforms.StickBreakingTransform(), N(2, 3)),
    "CorrCholesky": (transforms.CorrCholeskyTransform(), N(2, 6)),
    "Independent": (transforms.IndependentTransform(transforms.ExpTransform(), 1), N(2, 3)),
    "Reshape": (transforms.ReshapeTransform((6,), (2, 3)), N(4, 6)),
    "CumulativeDistribution": (transforms.CumulativeDistributionTransform(D.Normal(0.0, T(2.0))), N(3)),
    "Compose": (transforms.ComposeTransform([transforms.AffineTransform(0.5, T(2.0)), transforms.StickBreakingTransform()]), N(2, 3)),
    "identity": (transforms.identity_transform, N(3)),
    "Cat": (transforms.CatTransform([transforms.ExpTransform(), transforms.AffineTransform(1.0, 2.0)], -1, [1, 2]), N(2, 3)),
    "Stack": (transforms.StackTransform([transforms.ExpTransform(), transforms.TanhTransform()], 0), N(2, 3)),
    "inverse": (transforms.ExpTransform().inv, N(3).exp()),
    "inverse of events": (transforms.StickBreakingTransform().inv, T(0.2, 0.3, 0.5)),
}
OTHERS = {
    "Abs": (transforms.AbsTransform(), N(3)),
    "Softmax": (transforms.SoftmaxTransform(), N(2, 3)),
    "LowerCholesky": (transforms.LowerCholeskyTransform(), N(2, 3, 3)),
    "PositiveDefinite": (transforms.PositiveDefiniteTransform(), N(2, 3, 3)),
}
ALL = {**BIJECTIVE, **OTHERS}


def test_every_transform_is_here():
    names = {name for name in transforms.__all__ if name not in ("Transform", "identity_transform")}
    assert {type(transform).__name__ for transform, _ in ALL.values()} - {"_InverseTransform"} == names


@pytest.mark.parametrize("name", ALL)
def test_images_lie_in_the_codomain_and_come_back(name):
    transform, x = ALL[name]
    y = transform(x)
    assert transform.codomain.check(y).all()
    back = transform.inv(y)
    if transform.bijective:
        assert torch.allclose(back, x, atol=1e-8)
    assert torch.allclose(transform(back), y, atol=1e-10)
    assert y.shape == transform.forward_shape(x.shape) and x.shape == transform.inverse_shape(y.shape)
    assert transform.inv.inv is transform and transform.inv.domain is not None


def _free(y, codomain):
    """The elements of an event that the others do not determine."""
    if codomain is constraints.simplex:
        return y[:-1]
    if codomain is constraints.corr_cholesky:
        return utils.tril_matrix_to_vec(y, -1)
    return y.flatten()


@pytest.mark.parametrize("name", BIJECTIVE)
def test_determinants_are_those_of_the_jacobian(name):
    transform, x = BIJECTIVE[name]
    got = transform.log_abs_det_jacobian(x, transform(x))
    assert torch.allclose(transform.inv.log_abs_det_jacobian(transform(x), x), -got)
    event = transform.domain.event_dim
    if event == 0:
        x = x.clone().requires_grad_()
        (slope,) = torch.autograd.grad(transform(x).sum(), x)
        return np.testing.assert_allclose(got.detach().numpy(), slope.abs().log().numpy(), atol=1e-9)
    for one, wanted in zip(x.reshape(-1, *x.shape[x.dim() - event :]), got.flatten()):
        free = _free(one, transform.domain).clone().requires_grad_()

        def of_free(free):
            whole = torch.cat([free, 1 - free.sum(-1, keepdim=True)]) if transform.domain is constraints.simplex else free
            return _free(transform(whole.reshape(one.shape)), transform.codomain)

        jacobian = torch.autograd.functional.jacobian(of_free, free)
        assert torch.linalg.slogdet(jacobian)[1].item() == pytest.approx(wanted.item(), abs=1e-8)


@pytest.mark.parametrize("name", sorted(ALL.keys() - {"inverse", "inverse of events", "identity"}))
def test_caches_give_back_what_was_put_in(name):
    transform, x = ALL[name]
    cached = transform.with_cache()
    y = cached(x)
    assert cached(x) is y and cached.inv(y) is x
    assert cached.with_cache() is cached and torch.allclose(transform(x), y)
    copied = pickle.loads(pickle.dumps(transform)) if name != "CumulativeDistribution" else copy.copy(transform)
    assert torch.allclose(copied(x), y)


def test_equality():
    assert transforms.ExpTransform() == transforms.ExpTransform() != transforms.TanhTransform()
    assert transforms.AffineTransform(T(1.0, 1.0), 2.0) == transforms.AffineTransform(1.0, 2.0) != transforms.AffineTransform(0.0, 2.0)
    assert transforms.ExpTransform().inv == transforms.ExpTransform().inv
    assert transforms.ComposeTransform([transforms.ExpTransform()]) == transforms.ComposeTransform([transforms.ExpTransform()])
    assert transforms.PowerTransform(2.0) == transforms.PowerTransform(T(2.0)) != transforms.PowerTransform(3.0)


def test_extreme_values_stay_where_they_belong():
    far = T(-1e3, -50.0, 50.0, 1e3)
    assert ((transforms.SigmoidTransform()(far) > 0) & (transforms.SigmoidTransform()(far) < 1)).all()
    assert transforms.TanhTransform().log_abs_det_jacobian(far, far.tanh()).isfinite().all()
    assert transforms.StickBreakingTransform()(far).sum().item() == pytest.approx(1)
    factor = transforms.CorrCholeskyTransform()(T(20.0, -20.0, 3.0))
    assert constraints.corr_cholesky.check(factor).all()
    assert transforms.CorrCholeskyTransform().log_abs_det_jacobian(T(300.0), transforms.CorrCholeskyTransform()(T(300.0))).isfinite()


WRONG = {
    "a cache of 2": lambda: transforms.ExpTransform(cache_size=2),
    "numbers of elements": lambda: transforms.ReshapeTransform((2,), (3,)),
    "another shape": lambda: transforms.ReshapeTransform((2,), (2, 1))(N(3)),
    "no triangle": lambda: transforms.CorrCholeskyTransform().forward_shape((4,)),
    "no square": lambda: transforms.CorrCholeskyTransform().inverse_shape((2, 3)),
    "no dimensions": lambda: transforms.StickBreakingTransform().forward_shape(()),
    "few dimensions": lambda: transforms.IndependentTransform(transforms.ExpTransform(), 2)(N(3)),
    "one dimension of both": lambda: transforms.ReshapeTransform((4,), (2, 2)).event_dim,
    "other lengths": lambda: transforms.CatTransform([transforms.ExpTransform()], 0, [2])(N(3)),
    "a length too many": lambda: transforms.CatTransform([transforms.ExpTransform()], 0, [1, 2]),
    "another number": lambda: transforms.StackTransform([transforms.ExpTransform()], 0)(N(3)),
}


@pytest.mark.parametrize("what", WRONG)
def test_refused(what):
    with pytest.raises(ValueError):
        WRONG[what]()


def test_what_cannot_be_is_said():
    with pytest.raises(NotImplementedError):
        transforms.SoftmaxTransform().log_abs_det_jacobian(N(3), N(3))
    with pytest.raises(NotImplementedError):
        transforms.AbsTransform().sign
    with pytest.raises(TypeError):
        transforms.StackTransform([3])


INSIDE = {
    "boolean": (constraints.boolean, T(0.0, 1.0), T(0.5)),
    "one_hot": (constraints.one_hot, T(0.0, 1.0, 0.0), T(1.0, 1.0)),
    "nonnegative_integer": (constraints.nonnegative_integer, T(0.0, 3.0), T(-1.0, 0.5)),
    "positive_integer": (constraints.positive_integer, T(1.0), T(0.0)),
    "integer_interval": (constraints.integer_interval(-1, 2), T(-1.0, 2.0), T(3.0, 0.5)),
    "real": (constraints.real, T(-1.0, np.inf), T(np.nan)),
    "real_vector": (constraints.real_vector, N(2, 3), T(np.nan, 1.0)),
    "positive": (constraints.positive, T(0.1), T(0.0)),
    "nonnegative": (constraints.nonnegative, T(0.0), T(-0.1)),
    "greater_than": (constraints.greater_than(0.5), T(0.6), T(0.5)),
    "greater_than_eq": (constraints.greater_than_eq(0.5), T(0.5), T(0.4)),
    "less_than": (constraints.less_than(0.5), T(0.4), T(0.5)),
    "multinomial": (constraints.multinomial(3), T(1.0, 2.0), T(2.0, 2.0)),
    "unit_interval": (constraints.unit_interval, T(0.0, 1.0), T(1.1)),
    "interval": (constraints.interval(-1.0, T(0.5)), T(0.5), T(0.6)),
    "half_open_interval": (constraints.half_open_interval(-1.0, 0.5), T(-1.0), T(0.5)),
    "simplex": (constraints.simplex, T(0.2, 0.8), T(-0.2, 1.2)),
    "lower_triangular": (constraints.lower_triangular, N(2, 3, 3).tril(), torch.ones(2, 2)),
    "lower_cholesky": (constraints.lower_cholesky, torch.eye(2), torch.zeros(2, 2)),
    "corr_cholesky": (constraints.corr_cholesky, torch.eye(2), 2 * torch.eye(2)),
    "square": (constraints.square, N(2, 2), N(2, 3)),
    "symmetric": (constraints.symmetric, torch.ones(2, 2), N(2, 2)),
    "positive_semidefinite": (constraints.positive_semidefinite, torch.eye(2), -torch.eye(2)),
    "positive_definite": (constraints.positive_definite, torch.eye(2), torch.zeros(2, 2)),
    "independent": (constraints.independent(constraints.positive, 1), T(1.0, 2.0), T(1.0, 0.0)),
    "cat": (constraints.cat([constraints.positive, constraints.real], -1, [1, 2]), T(1.0, -1.0, -1.0), T(-1.0, 0.0, 0.0)),
    "stack": (constraints.stack([constraints.positive, constraints.real], -1), T(1.0, -1.0), T(-1.0, -1.0)),
}


@pytest.mark.parametrize("name", INSIDE)
def test_constraints_tell_inside_from_outside(name):
    constraint, inside, outside = INSIDE[name]
    assert constraint.check(inside).all()
    assert constraint.check(inside).dtype == torch.bool
    assert not constraint.check(outside).all()
    assert isinstance(repr(constraint), str) and constraint.is_discrete in (True, False)


def test_matrices_of_a_batch_are_told_apart():
    batch = torch.stack([torch.eye(2), torch.zeros(2, 2), -torch.eye(2), torch.tensor([[1.0, 2.0], [0.0, 1.0]]), torch.full((2, 2), np.nan)])
    assert constraints.positive_definite.check(batch).tolist() == [True, False, False, False, False]
    assert constraints.positive_semidefinite.check(batch).tolist() == [True, True, False, False, False]
    assert constraints.positive_definite.check(torch.ones(3, 2, 4)).tolist() == [False] * 3
    assert constraints.real_vector.check(torch.empty(0, 3)).shape == (0,)


@pytest.mark.parametrize("registry", [biject_to, transform_to])
@pytest.mark.parametrize("name", INSIDE)
def test_transforms_lead_to_the_constraints_region(registry, name):
    constraint, inside, _ = INSIDE[name]
    try:
        transform = registry(constraint)
    except NotImplementedError:
        assert constraint.is_discrete or constraint.event_dim == 2
        return
    x = transform.inv(inside.double())
    y = transform(N(*x.shape))
    assert constraint.check(y).all() and y.shape == inside.shape
    if registry is biject_to:
        assert transform.bijective
        assert torch.allclose(transform.inv(y), N(*x.shape), atol=1e-8)


def test_regions_between_tensors():
    low, high = T(0.0, -1.0), T(1.0, 5.0)
    y = biject_to(constraints.interval(low, high))(N(2))
    assert ((low < y) & (y < high)).all()
    assert (biject_to(constraints.greater_than(low))(N(2)) > low).all() and (biject_to(constraints.less_than(high))(N(2)) < high).all()


def test_further_constraints_are_registered():
    class Even(constraints.Constraint):
        def check(self, value):
            return value % 2 == 0

    try:
        transform_to.register(Even())(lambda constraint: transforms.AffineTransform(0, 2))
        assert transform_to(Even())(T(3.0)).item() == 6
        with pytest.raises(NotImplementedError):
            biject_to(Even())
    finally:
        del transform_to._registry[Even]
    with pytest.raises(TypeError):
        biject_to.register(int, None)(lambda constraint: None)


def test_dependent_constraints_wait_for_the_parameters():
    assert constraints.is_dependent(D.Binomial.support) and D.Binomial.support.is_discrete
    assert not constraints.is_dependent(D.Binomial(3, T(0.5)).support)
    assert constraints.dependent(event_dim=1).event_dim == 1
    with pytest.raises(NotImplementedError):
        constraints.dependent.is_discrete
    with pytest.raises(ValueError):
        constraints.dependent.check(T(1.0))
    with pytest.raises(ValueError):
        constraints.independent(constraints.real, -1)
    with pytest.raises(ValueError):
        constraints.independent(constraints.real, 2).check(T(1.0))


@pytest.mark.parametrize("diagonal", range(-3, 4))
def test_triangles_are_vectors_and_back(diagonal):
    matrices = N(2, 4, 4)
    vector = utils.tril_matrix_to_vec(matrices, diagonal)
    rows, columns = np.tril_indices(4, diagonal)
    np.testing.assert_array_equal(vector.numpy(), matrices.numpy()[:, rows, columns])
    np.testing.assert_array_equal(utils.vec_to_tril_matrix(vector, diagonal).numpy(), np.tril(matrices.numpy(), diagonal))


def test_helpers_refuse():
    for wrong in (lambda: utils.vec_to_tril_matrix(N(5)), lambda: utils.tril_matrix_to_vec(N(2, 2), 2), lambda: utils.broadcast_all("x")):
        with pytest.raises(ValueError):
            wrong()


def test_numbers_take_the_dtype_of_tensors():
    one, two = utils.broadcast_all(1, T(2.0, 3.0))
    assert one.dtype == F64 and one.shape == two.shape == (2,)
    assert utils.broadcast_all(1)[0].dtype == torch.float32


def test_lazy_properties_are_computed_once_and_have_gradients():
    logits = T(0.3).requires_grad_()
    distribution = D.Bernoulli(logits=logits)
    assert "probs" not in vars(distribution)
    with torch.no_grad():
        probs = distribution.probs
    assert probs is distribution.probs and probs.requires_grad
    assert isinstance(D.Bernoulli.probs, utils.lazy_property)
