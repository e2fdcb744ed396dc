"""Models and weights of folders and files."""

import pathlib

import pytest

import opforge as torch


def test_hub_reads_folders_and_files(tmp_path):
    (tmp_path / "hubconf.py").write_text("dependencies = ['numpy']\ndef five(n=5):\n    'Five.'\n    return n\n")
    assert torch.hub.load(str(tmp_path), "five", source="local", n=6) == 6
    assert torch.hub.list(str(tmp_path)) == ["five"] and torch.hub.help(str(tmp_path), "five") == "Five."
    with pytest.raises(RuntimeError, match="six"):
        torch.hub.load(str(tmp_path), "six", source="local")
    with pytest.raises(NotImplementedError, match="local"):
        torch.hub.load("owner/repository", "five")
    torch.save({"x": torch.arange(3)}, tmp_path / "weights.safetensors")
    url = pathlib.Path(tmp_path / "weights.safetensors").as_uri()
    loaded = torch.hub.load_state_dict_from_url(url, tmp_path / "cache", progress=False)
    assert loaded["x"].tolist() == [0, 1, 2] and (tmp_path / "cache" / "weights.safetensors").exists()
    with pytest.raises(RuntimeError, match="hash"):
        torch.hub.download_url_to_file(url, tmp_path / "other", "0000", progress=False)
    assert not (tmp_path / "other").exists()
