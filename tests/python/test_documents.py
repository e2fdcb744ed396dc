"""What the documents name is there."""

import itertools
import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).parents[2]
FOLDERS = [ROOT / name for name in ("bench", "crates", "demo", "docs", "python", "tests", "tools")]
# What CONTRIBUTING.md has its reader write.
TO_BE_WRITTEN = {"crates/opforge/src/ops/pointwise/cube.rs", "scale.cc"}


def expanded(path):
    """`a/{b,c}.rs` as `a/b.rs` and `a/c.rs`."""
    parts = [part.split(",") for part in re.split(r"[{}]", path)]
    return map("".join, itertools.product(*parts))


def named(document):
    """Files and folders in backticks, from the root or from anywhere below it."""
    text = (ROOT / document).read_text()
    paths = re.findall(r"`([\w./{},-]+(?:\.(?:rs|py|pyi|h|c|cc|sh|md|toml)|/))`", text)
    return sorted({path for group in paths for path in expanded(group)} - TO_BE_WRITTEN)


def exists(path):
    if (ROOT / path).exists():
        return True
    return any(True for folder in FOLDERS for _ in folder.glob(f"**/{path.strip('/')}"))


@pytest.mark.parametrize("path", named("ARCHITECTURE.md") + named("CONTRIBUTING.md"))
def test_what_the_documents_name_is_there(path):
    assert exists(path)


def test_what_is_not_there_is_found():
    assert not exists("crates/opforge/src/nowhere.rs")
    assert list(expanded("a/{b,c}.rs")) == ["a/b.rs", "a/c.rs"]
