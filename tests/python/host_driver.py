"""CUDA's driver for machines without a GPU: see crates/opforge-cuda/tests/host_driver."""

import os
import pathlib
import shutil
import subprocess

SOURCES = pathlib.Path(__file__).parents[2] / "crates/opforge-cuda/tests/host_driver"
HAS_GPU = os.path.exists("/proc/driver/nvidia/version")


def environment(folder):
    """The environment in which there are CUDA devices: the machine's, or two of the host's, whose driver is made in the folder."""
    if HAS_GPU:
        return dict(os.environ)
    for name in ("device.h", "launch.h"):
        shutil.copy(SOURCES / name, folder)
    driver = folder / "libcuda.so.1"
    subprocess.run(["g++", "-std=c++17", "-O1", "-shared", "-fPIC", "-o", driver, SOURCES / "driver.cpp", "-ldl"], check=True)
    for name in ("libnvrtc.so.13", "libcublas.so.13"):
        shutil.copy(driver, folder / name)
    return os.environ | {"OPFORGE_CUDA_PATH": str(folder), "OPFORGE_CUDA_CACHE": ""}
