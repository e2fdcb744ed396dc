"""Tensors with sparse layouts: how they are made, what they hold, copies, files, texts, errors."""

import copy
import pickle

import pytest

import opforge as torch

INDICES, VALUES = [[0, 1, 1, 0], [2, 0, 2, 2]], [3.0, 4.0, 5.0, 6.0]
DENSE = [[0.0, 0.0, 9.0], [4.0, 0.0, 5.0]]


def coo(**options):
    return torch.sparse_coo_tensor(INDICES, VALUES, (2, 3), **options)


def csr(**options):
    return torch.sparse_csr_tensor([0, 1, 3], [2, 0, 2], [9.0, 4.0, 5.0], (2, 3), **options)


def test_what_a_tensor_of_indices_and_values_is():
    s = coo()
    assert isinstance(s, torch.Tensor) and torch.is_tensor(s)
    assert s.is_sparse and not s.is_sparse_csr and s.layout is torch.sparse_coo
    assert (tuple(s.shape), s.dim(), s.size(-1), len(s), s.numel()) == ((2, 3), 2, 3, 2, 6)
    assert (s.sparse_dim(), s.dense_dim(), s._nnz(), s.is_coalesced()) == (2, 0, 4, False)
    assert s.dtype == torch.float32 and s.device.type == "cpu" and not s.is_meta and not s.requires_grad
    assert s._indices().tolist() == INDICES and s._values().tolist() == VALUES
    assert s.to_dense().tolist() == DENSE
    plain = torch.ones(2)
    assert not plain.is_sparse and plain.layout is torch.strided


def test_coalesced_indices_are_in_order_and_there_once():
    s = coo().coalesce()
    assert s.is_coalesced() and s.coalesce() is s
    assert s.indices().tolist() == [[0, 1, 1], [2, 0, 2]] and s.values().tolist() == [9.0, 4.0, 5.0]
    for name in ("indices", "values"):
        with pytest.raises(RuntimeError, match=f"Cannot get {name} on an uncoalesced tensor"):
            getattr(coo(), name)()


def test_values_may_have_dimensions_and_any_dtype():
    s = torch.sparse_coo_tensor([[1, 1]], torch.arange(4).reshape(2, 2))
    assert tuple(s.shape) == (2, 2) and s.sparse_dim() == s.dense_dim() == 1
    assert s.to_dense().tolist() == [[0, 0], [2, 4]]
    assert torch.sparse_coo_tensor([[0, 0]], [True, True]).to_dense().tolist() == [True]
    small = torch.sparse_coo_tensor([[0, 0]], torch.tensor([100, 100], dtype=torch.int8)).to_dense()
    assert small.tolist() == [-56] and small.dtype == torch.int8
    assert torch.sparse_coo_tensor([[0]], [1], dtype=torch.float64).dtype == torch.float64
    assert torch.sparse_coo_tensor([[0]], [1j]).to_dense().tolist() == [1j]


def test_the_size_is_by_default_the_least():
    assert tuple(torch.sparse_coo_tensor([[0, 3], [1, 0]], [1, 2]).shape) == (4, 2)
    empty = torch.sparse_coo_tensor(size=(2, 3))
    assert empty._nnz() == 0 and empty.to_dense().tolist() == [[0.0] * 3] * 2
    assert torch.sparse_coo_tensor(torch.empty(2, 0, dtype=torch.int64), torch.empty(0), (0, 3)).to_dense().shape == (0, 3)


def test_a_tensor_has_copies_of_what_it_is_made_of():
    indices, values = torch.tensor(INDICES), torch.tensor(VALUES)
    s = torch.sparse_coo_tensor(indices, values)
    indices.zero_(), values.zero_()
    assert s.to_dense().tolist() == DENSE


@pytest.mark.parametrize(
    ("error", "text", "arguments"),
    [
        (IndexError, "for dim 0, size is 2 but found index 5", ([[5]], [1.0], (2,))),
        (IndexError, "found index -1", ([[-1]], [1.0], (2,))),
        (ValueError, "as many values as indices", ([[0, 1]], [1.0], (2,))),
        (ValueError, "1 sparse and 0 dense dimensions", ([[0]], [1.0], (2, 2))),
        (ValueError, r"values of shape \(nnz, 3\)", ([[0]], [[1.0, 2.0]], (2, 3))),
        (ValueError, "indices of 2 dimensions", ([0], [1.0])),
        (ValueError, "a sequence of integers from 0", ([[0]], [1.0], "ab")),
        (ValueError, "a sequence of integers from 0", ([[0]], [1.0], (-1,))),
        (ValueError, "a sequence of integers from 0", ()),
        (TypeError, "indices of integers", ([[0.5]], [1.0], (2,))),
    ],
)
def test_what_does_not_fit_is_an_error(error, text, arguments):
    with pytest.raises(error, match=text) as found:
        torch.sparse_coo_tensor(*arguments)
    assert isinstance(found.value, RuntimeError) and "sparse_coo_tensor" in str(found.value)


def test_indices_said_to_be_coalesced_are_checked():
    assert torch.sparse_coo_tensor([[0, 1], [2, 0]], VALUES[:2], is_coalesced=True).is_coalesced()
    with pytest.raises(ValueError, match="is_coalesced"):
        torch.sparse_coo_tensor(INDICES, VALUES, is_coalesced=True)


@pytest.mark.parametrize(
    ("error", "text", "arguments"),
    [
        (IndexError, "plain indices from 0 to 1", ([0, 1], [2], [1.0], (1, 2))),
        (ValueError, "rise from 0", ([0, 2, 1], [0], [1.0])),
        (ValueError, "as many values as plain indices", ([0, 1], [0], [1.0, 2.0])),
        (ValueError, "two sizes, of which number 0 is 1", ([0, 1], [0], [1.0], (2, 2))),
        (ValueError, "of one dimension", ([[0, 1]], [[0]], [[1.0]])),
    ],
)
def test_rows_that_do_not_fit_are_an_error(error, text, arguments):
    with pytest.raises(error, match=text):
        torch.sparse_csr_tensor(*arguments)


def test_what_a_matrix_by_rows_is():
    c = csr()
    assert c.is_sparse_csr and not c.is_sparse and c.layout is torch.sparse_csr and tuple(c.shape) == (2, 3)
    assert c.crow_indices().tolist() == [0, 1, 3] and c.col_indices().tolist() == [2, 0, 2] and c.values().tolist() == [9.0, 4.0, 5.0]
    assert c.to_dense().tolist() == DENSE and c._nnz() == 3
    assert coo().to_sparse_csr().crow_indices().tolist() == [0, 1, 3]
    assert c.to_sparse().is_sparse and c.to_sparse().to_dense().tolist() == DENSE
    assert torch.tensor(DENSE).to_sparse_csr().values().tolist() == [9.0, 4.0, 5.0]
    mixed = torch.sparse_csr_tensor([0, 3], [2, 0, 2], [1.0, 2.0, 3.0])
    assert mixed.to_dense().tolist() == [[2.0, 0.0, 4.0]] and (mixed * 2).col_indices().tolist() == [0, 2]


def test_dense_tensors_become_sparse():
    dense = torch.tensor(DENSE)
    s = dense.to_sparse()
    assert s.is_coalesced() and s.indices().tolist() == [[0, 1, 1], [2, 0, 2]] and torch.equal(s.to_dense(), dense)
    rows = torch.tensor([[0.0, 0.0], [1.0, 0.0]]).to_sparse(1)
    assert rows.indices().tolist() == [[1]] and rows.values().tolist() == [[1.0, 0.0]]
    assert torch.tensor(0.0).to_sparse()._nnz() == 0 and torch.tensor(2.0).to_sparse().to_dense().item() == 2.0
    assert dense.to_sparse(layout=torch.sparse_csr).is_sparse_csr
    assert dense.sparse_mask(coo().coalesce()).values().tolist() == [9.0, 4.0, 5.0]
    with pytest.raises(NotImplementedError, match="sparse_bsr"):
        dense.to_sparse(layout=torch.sparse_bsr)
    with pytest.raises(RuntimeError, match="sparse_dim from 0 to 2"):
        dense.to_sparse(3)


@pytest.mark.parametrize("make", [coo, lambda: coo().coalesce(), csr, lambda: csr().to_sparse_csc()])
def test_copies_of_all_kinds(make, tmp_path):
    s = make()
    torch.save({"s": s}, tmp_path / "s.safetensors")
    others = [pickle.loads(pickle.dumps(s)), copy.copy(s), copy.deepcopy(s), s.clone(), s.detach(), torch.load(tmp_path / "s.safetensors")["s"]]
    for other in others:
        assert type(other) is type(s) and other._nnz() == s._nnz() and torch.equal(other.to_dense(), s.to_dense())
    for other in (s.double(), s.to(torch.float64), s.to(torch.zeros(1, dtype=torch.float64)), s.type(torch.float64)):
        assert other.dtype == torch.float64 and other.to_dense().tolist() == DENSE
    assert not s.is_sparse or s.cpu() is s and s.float() is s
    with pytest.raises(TypeError, match="SparseCs[rc]Tensor|SparseTensor"):
        torch.save({"s": s}, tmp_path / "s.pt")
    leaf = pickle.loads(pickle.dumps(s.detach().requires_grad_()))
    assert leaf.requires_grad and leaf.is_leaf


def test_files_are_not_trusted(tmp_path):
    s = coo()
    s._sizes = (1, 1)
    torch.save(s, tmp_path / "s.safetensors")
    with pytest.raises(torch.FormatError):
        torch.load(tmp_path / "s.safetensors")


def test_texts():
    assert repr(torch.sparse_coo_tensor([[0, 1], [2, 0]], [3.0, 4.0], requires_grad=True)) == (
        "tensor(indices=tensor([[0, 1],\n"
        "                       [2, 0]]),\n"
        "       values=tensor([3., 4.]),\n"
        f"       size=(2, 3), nnz=2, layout={torch.sparse_coo}, requires_grad=True)"
    )
    assert repr(torch.sparse_coo_tensor(size=(2, 3), dtype=torch.float64)) == (
        "tensor(indices=tensor([], size=(2, 0)),\n"
        "       values=tensor([], size=(0,)),\n"
        f"       size=(2, 3), nnz=0, dtype=opforge.float64, layout={torch.sparse_coo})"
    )
    assert repr(csr().int()) == (
        "tensor(crow_indices=tensor([0, 1, 3]),\n"
        "       col_indices=tensor([2, 0, 2]),\n"
        "       values=tensor([9, 4, 5]),\n"
        f"       size=(2, 3), nnz=3, dtype=opforge.int32, layout={torch.sparse_csr})"
    )


def test_modules_have_sparse_buffers():
    class Graph(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("adjacency", coo())
            self.weight = torch.nn.Parameter(torch.ones(3, 2))

        def forward(self):
            return self.adjacency @ self.weight

    model, other = Graph().double(), Graph()
    assert model.adjacency.dtype == torch.float64 and model().tolist() == [[9.0, 9.0], [9.0, 9.0]]
    model.adjacency.mul_(2)
    other.load_state_dict(model.state_dict())
    assert other.adjacency.dtype == torch.float32 and other().tolist() == [[18.0, 18.0], [18.0, 18.0]]
    with pytest.raises(NotImplementedError, match="Parameter"):
        torch.nn.Parameter(coo())


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("exp", lambda s: s.exp()),
        ("eq", lambda s: s == s),
        ("max", lambda s: torch.max(s)),
        ("reshape", lambda s: s.reshape(6)),
        ("where", lambda s: torch.where(torch.ones(2, 3) > 0, s, s)),
        ("data_ptr", lambda s: s.data_ptr()),
        ("tolist", lambda s: s.tolist()),
        ("softmax", lambda s: torch.nn.functional.softmax(s, 1)),
        ("integers expected, got slice", lambda s: s[0:1]),
    ],
)
def test_what_is_not_there_is_an_error_that_names_it(name, call):
    for s in (coo(), csr()):
        with pytest.raises(NotImplementedError, match=name):
            call(s)


def test_leaves_of_the_graph():
    s = coo(requires_grad=True)
    (s @ torch.ones(3, 1)).sum().backward()
    assert s.grad.is_sparse and s.grad._values().tolist() == [1.0] * 4
    with pytest.raises(RuntimeError, match="leaf"):
        s.mul_(2)
    s.grad = None
    assert s.grad is None
    with torch.no_grad():
        s.mul_(2)
    assert s.to_dense().tolist() == [[0.0, 0.0, 18.0], [8.0, 0.0, 10.0]]


def test_checks_can_be_asked_for():
    checks = torch.sparse.check_sparse_tensor_invariants
    assert not checks.is_enabled()
    with checks():
        assert checks.is_enabled()
    assert not checks.is_enabled() and checks(True)(checks.is_enabled)()


def test_older_names():
    s = torch.sparse.FloatTensor(torch.tensor(INDICES), torch.tensor(VALUES), torch.Size([2, 3]))
    assert s.is_sparse and s.to_dense().tolist() == DENSE and isinstance(s, torch.sparse.FloatTensor)
    assert not isinstance(s, torch.FloatTensor) and not isinstance(s.to_dense(), torch.sparse.FloatTensor)
    assert torch.sparse.LongTensor(2, 3).to_dense().tolist() == [[0] * 3] * 2 and s.type() == "torch.sparse.FloatTensor"
    with pytest.raises(TypeError, match="expected values"):
        torch.sparse.DoubleTensor(torch.tensor(INDICES), torch.tensor(VALUES))
    assert torch.dsmm(s, torch.ones(3, 1)).tolist() == torch.spmm(s, torch.ones(3, 1)).tolist() == [[9.0], [9.0]]


def test_indices_of_rows_and_back():
    rows, cols = torch.tensor([0, 1, 1, 3]), torch.tensor([2, 0, 1, 2])
    starts = torch._convert_indices_from_coo_to_csr(rows, 5)
    assert starts.tolist() == [0, 1, 3, 3, 4, 4] and torch._convert_indices_from_coo_to_csr(rows, 4, out_int32=True).dtype == torch.int32
    assert torch._convert_indices_from_csr_to_coo(starts, cols).tolist() == [rows.tolist(), cols.tolist()]
    assert torch._convert_indices_from_csr_to_coo(starts, cols, transpose=True).tolist() == [cols.tolist(), rows.tolist()]


def test_matrices_by_columns():
    c = torch.sparse_csc_tensor([0, 1, 1, 3], [1, 0, 1], [4.0, 9.0, 5.0], (2, 3))
    assert c.layout is torch.sparse_csc and not c.is_sparse and not c.is_sparse_csr and c.to_dense().tolist() == DENSE
    assert c.ccol_indices().tolist() == [0, 1, 1, 3] and c.row_indices().tolist() == [1, 0, 1]
    for other in (coo().to_sparse_csc(), csr().to_sparse_csc(), torch.tensor(DENSE).to_sparse_csc(), csr().to_sparse(layout=torch.sparse_csc), c * 1, c.clone()):
        assert other.layout is torch.sparse_csc and other.values().tolist() == c.values().tolist() and other.row_indices().tolist() == [1, 0, 1]
    assert csr().t().layout is torch.sparse_csc and c.t().layout is torch.sparse_csr and c.T.to_dense().tolist() == torch.tensor(DENSE).t().tolist()
    assert csr().t().ccol_indices().tolist() == csr().crow_indices().tolist() and c.to_sparse_csr().col_indices().tolist() == [2, 0, 2]
    assert (c @ torch.ones(3, 1)).tolist() == [[9.0], [9.0]] and (torch.ones(1, 2) @ c).tolist() == [[4.0, 0.0, 14.0]]
    assert torch.sparse_csc_tensor([0, 1], [2], [1.0]).shape == (3, 1)
    assert torch.sparse_compressed_tensor([0, 1], [2], [1.0], layout=torch.sparse_csr).shape == (1, 3)
    with pytest.raises(RuntimeError, match="ccol_indices and row_indices"):
        c.crow_indices()
    with pytest.raises(NotImplementedError, match="accepted: sparse_csr, sparse_csc"):
        torch.sparse_compressed_tensor([0, 1], [2], [1.0], layout=torch.sparse_bsr)
