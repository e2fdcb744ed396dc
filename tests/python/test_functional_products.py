"""Products of groups of rows and columns."""

import pytest

import opforge as torch
from opforge.nn import functional as F


def test_products_of_groups():
    rows, matrices = torch.randn(10, 3), torch.randn(2, 3, 4)
    ends = torch.tensor([4, 8], dtype=torch.int32)
    found = F.grouped_mm(rows, matrices, offs=ends)
    assert torch.equal(found, torch.cat([rows[:4] @ matrices[0], rows[4:8] @ matrices[1], torch.zeros(2, 4)]))
    assert torch.equal(torch._grouped_mm(matrices, matrices.mT), matrices @ matrices.mT)
    columns = torch.randn(4, 10)
    found = F.grouped_mm(matrices, columns, offs=ends)
    assert torch.equal(found, torch.cat([matrices[0] @ columns[:, :4], matrices[1] @ columns[:, 4:8], torch.zeros(3, 2)], 1))
    found = F.grouped_mm(rows.T, rows, offs=ends)
    assert torch.equal(found, torch.stack([rows[:4].T @ rows[:4], rows[4:8].T @ rows[4:8]]))
    for wrong in (
        lambda: F.grouped_mm(rows, matrices),
        lambda: F.grouped_mm(rows, matrices, offs=ends.long()),
        lambda: F.grouped_mm(rows, matrices, offs=ends[:1]),
        lambda: F.grouped_mm(rows, matrices, offs=torch.tensor([8, 4], dtype=torch.int32)),
        lambda: F.grouped_mm(rows, matrices, offs=torch.tensor([8, 11], dtype=torch.int32)),
        lambda: F.grouped_mm(rows, matrices.mT, offs=ends),
        lambda: F.grouped_mm(rows, matrices, offs=ends, bias=ends),
    ):
        with pytest.raises(RuntimeError, match="grouped_mm"):
            wrong()
