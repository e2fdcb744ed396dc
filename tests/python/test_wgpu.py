"""Devices by wgpu where the package that has the driver is not installed; `make test-wgpu` runs `wgpu/` and `devices/` with it."""

import os
import pathlib
import subprocess
import sys

import opforge as torch

PROGRAM = """
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


def lines(program, package):
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(package), str(pathlib.Path(torch.__file__).parents[1])])}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_without_a_driver_questions_have_answers(tmp_path):
    # A module that has no driver is as good as none.
    (tmp_path / "opforge_wgpu.py").write_text("")
    found = lines(PROGRAM, tmp_path)
    assert found[0] == "False 0 False False wgpu:1"
    assert found[1:3] == ["DeviceAbsentError wgpu: there is no device: no GPU, no driver, or no package opforge-wgpu"] * 2
    assert all(line.startswith("DeviceError device: type: ") or "opforge-wgpu" in line for line in found[3:]) and len(found) == 5, found
