"""What programs ask about the version and the machine."""

import json

import opforge as torch


def test_versions_compare():
    version = torch.torch_version.TorchVersion("2.15.0+opforge")
    assert version > "2.9" and version >= (2, 15) and version < "2.16.0.dev1" and version > "2.15.0" and version != "2.15"
    assert version == "2.15.0+opforge" and hash(version) == hash("2.15.0+opforge") and not version == "no version"


def test_a_report_of_the_machine():
    text = torch.utils.collect_env.get_pretty_env_info()
    assert torch.__version__ in text and "CUDA available: False" in text
    assert json.dumps(text)
