"""What is built from this repository is made of the same builds of kernels, which take minutes: same features of all that they are made of."""

import collections
import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).parents[2]
EXTENSION = ["--package", "opforge-python", "--edges", "normal,build"]


def packages(*selection):
    """The features of each package that cargo builds for a selection; of a package that is built for macros too, both."""
    command = ["cargo", "tree", "--locked", "--prefix", "none", "--format", "{p}|{f}", *selection]
    told = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    features = collections.defaultdict(set)
    for line in filter(None, told.splitlines()):
        package, listed = line.split("|")
        features[package.split(" (")[0]].add(listed.removesuffix(" (*)"))
    return features


@pytest.mark.parametrize(
    "part, selection",
    [
        ("opforge", ["--package", "opforge-demo", "--edges", "normal,build"]),  # `make demo`
        ("opforge-cpu", ["--workspace", "--edges", "normal,build,dev"]),  # `make test`
    ],
)
def test_kernels_are_built_once_for_the_extension_and(part, selection):
    made_of, extension, other = packages("--package", part, "--edges", "normal,build"), packages(*EXTENSION), packages(*selection)
    assert any(name.startswith("opforge-core ") for name in made_of)
    assert {name: other[name] for name in made_of} == {name: extension[name] for name in made_of}
