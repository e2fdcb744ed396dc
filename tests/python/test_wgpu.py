"""Devices by wgpu where the package that has the driver is not installed; `make test-wgpu` runs `wgpu/` and `devices/` with it."""

import os
import pathlib
import runpy
import subprocess
import sys

import pytest

import opforge as torch

PROGRAM = """
import sys
sys.modules["opforge_wgpu"] = None
import opforge as torch
from opforge import wgpu
print(wgpu.is_available(), wgpu.device_count(), wgpu.is_initialized(), torch.backends.mps.is_available(), torch.device("wgpu:1"))
wgpu.synchronize()
for use in (wgpu.current_device, wgpu.get_device_name, lambda: torch.ones(1, device="wgpu"), lambda: torch.ones(1).to("wgpu:1")):
    try:
        use()
    except (AssertionError, RuntimeError) as error:
        print(type(error).__name__, error)
"""


def ended(program, *folders):
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, [*folders, pathlib.Path(torch.__file__).parents[1]]))}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done


def test_without_the_package_questions_have_answers():
    done = ended(PROGRAM)
    found = done.stdout.splitlines()
    assert found[0] == "False 0 False False wgpu:1" and done.stderr == ""
    assert found[1:3] == ["DeviceAbsentError wgpu: there is no device: no GPU, no driver, or no package opforge-wgpu"] * 2
    assert len(found) == 5 and all(line.startswith("DeviceError") and "opforge-wgpu" in line for line in found[3:]), found


def test_apple_s_gpus_are_absent_elsewhere_and_wgpu_s_there(monkeypatch):
    assert not torch.mps.is_available() and torch.mps.device_count() == 0
    with pytest.raises(torch.DeviceError, match="mps"):
        torch.ones(1).mps()
    monkeypatch.setattr(sys, "platform", "darwin")
    there = runpy.run_path(torch.mps.__file__, run_name="opforge.mps")
    assert there["is_available"] is torch.wgpu.is_available and there["synchronize"] is torch.wgpu.synchronize
    there["manual_seed"](3)
    assert torch.initial_seed() == 3
    with pytest.raises(RuntimeError, match="MPS: calls have one queue"):
        there["Event"]()


def test_a_package_that_has_no_driver_of_this_version_is_told(tmp_path):
    (tmp_path / "opforge_wgpu.py").write_text("")
    done = ended("import opforge; print(opforge.wgpu.is_available())", tmp_path)
    assert done.stdout == "False\n" and "RuntimeWarning: opforge_wgpu:" in done.stderr
