"""The example `small`: what it writes is decided by the seed, and is what the other examples read."""

import pytest
from model_folders import failing, small

from decoder import llama  # isort: skip  found where model_folders says
from embeddings import bert  # isort: skip


@pytest.mark.parametrize("kind, load", [("bert", bert.load), ("llama", llama.load)])
def test_a_seed_decides_the_folder(tmp_path, kind, load):
    for name, seed in (("a", "1"), ("b", "1"), ("c", "2")):
        small([kind, str(tmp_path / name), "--seed", seed])
    model, config = load(tmp_path / "a")
    assert 300 < config.vocab_size <= 600 and not model.training
    for file in ("config.json", "tokenizer.json", "model.safetensors"):
        a, b, c = ((tmp_path / name / file).read_bytes() for name in "abc")
        assert a == b and (a == c) == (file != "model.safetensors")


def test_lines_have_labels(tmp_path):
    small(["lines", str(tmp_path / "a.tsv")])
    lines = (tmp_path / "a.tsv").read_text().splitlines()
    assert len(set(lines)) == len(lines) == 720
    assert {line.split("\t")[0] for line in lines} == {"weather", "cooking", "music", "sailing"}


def test_a_place_that_cannot_be_written(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    assert "file: " in failing(capsys, "small", small, "bert", tmp_path / "file")
