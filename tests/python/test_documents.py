"""What the documents name is there, and what they say of crates and settings is so."""

import itertools
import pathlib
import re
import tomllib

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


ARCHITECTURE = (ROOT / "ARCHITECTURE.md").read_text()
# In the order of the table, with the last column.
CRATES = re.findall(r"^\| `(opforge[\w-]*)`[^|]*\|[^|]*\|(.*)\|$", ARCHITECTURE, re.MULTILINE)


def test_each_crate_uses_what_the_table_says():
    assert sorted(name for name, _ in CRATES) == sorted(path.name for path in (ROOT / "crates").iterdir() if (path / "Cargo.toml").exists())
    above = set()
    for name, uses in CRATES:
        manifest = tomllib.loads((ROOT / "crates" / name / "Cargo.toml").read_text())
        used = {other.removeprefix("opforge-") for other in manifest.get("dependencies", {}) if other.startswith("opforge")}
        assert used == (above if uses.strip() == "all above" else set(uses.replace(",", " ").split())), name
        above.add(name.removeprefix("opforge-"))


def test_unsafe_code_is_where_the_document_says():
    crates, file = re.search(r"^- `unsafe` is in (.*) and one block\s+of `opforge` \(`(.*)`\)", ARCHITECTURE, re.MULTILINE | re.DOTALL).groups()
    sources = [path for name, _ in CRATES for path in (ROOT / "crates" / name / "src").rglob("*.rs")]
    found = [path.relative_to(ROOT / "crates") for path in sources if re.search(r"^[^/\"]*\bunsafe (\{|fn|impl|extern)", path.read_text(), re.MULTILINE)]
    assert [str(path) for path in found if path.parts[0] == "opforge"] == [f"opforge/src/{file}"]
    assert {path.parts[0] for path in found} - {"opforge"} == set(re.findall(r"`([\w-]+)`", crates))


def test_each_setting_has_a_row():
    """Names of variables in quotes are read there; what `#[cfg(test)]` begins is tests."""
    sources = [path for folder in ("crates/*/src", "python") for root in ROOT.glob(folder) for path in root.rglob("*") if path.suffix in (".rs", ".py")]
    texts = {path.as_posix(): path.read_text().partition("#[cfg(test)]")[0] for path in sources}
    read = {(name, path) for path, text in texts.items() for name in re.findall(r"\"(OPFORGE_[A-Z_]+)\"", text)}
    rows = re.findall(r"^\| `(OPFORGE_\w+)` .*\| `([\w./-]+)` \|$", (ROOT / "docs/settings.md").read_text(), re.MULTILINE)
    assert {name for name, _ in read} == {name for name, _ in rows} and len(rows) == len(set(rows))
    assert not [row for row in rows if not any(name == row[0] and path.endswith(row[1]) for name, path in read)]


def test_what_is_not_there_is_found():
    assert not exists("crates/opforge/src/nowhere.rs")
    assert list(expanded("a/{b,c}.rs")) == ["a/b.rs", "a/c.rs"]
