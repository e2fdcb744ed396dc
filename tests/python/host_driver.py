"""CUDA's driver for machines without a GPU: see crates/opforge-cuda/tests/host_driver."""

import os
import pathlib
import shutil
import subprocess

SOURCES = pathlib.Path(__file__).parents[2] / "crates/opforge-cuda/tests/host_driver"
LIBRARIES = {
    "driver.cpp": ("libcuda.so.1", "libnvrtc.so.13"),
    "blas.cpp": ("libcublas.so.13", "libcublasLt.so.13"),
    "dnn.cpp": ("libcudnn.so.9", "libcudnn_graph.so.9", "libcudnn_ops.so.9", "libcudnn_cnn.so.9"),
}
HAS_GPU = os.path.exists("/proc/driver/nvidia/version")


def environment(folder):
    """The environment in which there are CUDA devices: the machine's, or two of the host's, whose driver is made in the folder."""
    if HAS_GPU:
        return dict(os.environ)
    for name in ("device.h", "launch.h", "warp.h"):
        shutil.copy(SOURCES / name, folder)
    for source, (first, *others) in LIBRARIES.items():
        subprocess.run(["g++", "-std=c++17", "-O1", "-U_FORTIFY_SOURCE", "-shared", "-fPIC", "-o", folder / first, SOURCES / source, "-ldl"], check=True)
        for name in others:
            shutil.copy(folder / first, folder / name)
    return os.environ | {"OPFORGE_CUDA_PATH": str(folder), "OPFORGE_CUDA_CACHE": ""}
