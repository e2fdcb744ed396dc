"""MindSpore's scripts with their import lines changed. `make compare-mindspore` runs the same ones with MindSpore itself."""

import numpy as np
import pytest
from translate import SCRIPTS, cases, translated

CASES = {f"{path.stem}-{name}": case for path in SCRIPTS for name, case in cases(path).items()}


@pytest.mark.parametrize("name", CASES)
def test_script(name):
    results, expected = CASES[name]()
    several = isinstance(results, list)
    for ours, wanted in zip(results, expected, strict=True) if several else [(results, expected)]:
        if wanted is not None:
            assert ours.asnumpy().dtype == np.asarray(wanted).dtype
            np.testing.assert_allclose(ours.asnumpy(), wanted, rtol=1e-6)


def test_only_import_lines_change():
    text = "import mindspore as ms\nfrom mindspore.nn import Cell\nimport mindspore.ops as ops\nx = 'import mindspore'  # mindspore\n"
    changed = translated(text)
    assert changed.splitlines()[:3] == [
        "import opforge.mindspore as ms",
        "from opforge.mindspore.nn import Cell",
        "import opforge.mindspore.ops as ops",
    ]
    assert changed.splitlines()[3] == text.splitlines()[3]
