"""What reports of faults should tell about the machine: `python -m opforge.utils.collect_env`."""

from __future__ import annotations

import os
import platform

__all__ = ["get_pretty_env_info", "main"]


def get_pretty_env_info() -> str:
    """Versions and the machine, a line each."""
    import numpy

    import opforge

    lines = {
        "opforge version": opforge.__version__,
        "PyTorch interface": opforge.version.__version__,
        "Python version": platform.python_version(),
        "numpy version": numpy.__version__,
        "OS": platform.platform(),
        "CPUs": f"{os.cpu_count()} ({platform.machine()})",
        "Threads": opforge.get_num_threads(),
        "Is CUDA available": opforge.cuda.is_available(),
    }
    return "\n".join(f"{name}: {value}" for name, value in lines.items())


def main() -> None:
    """Prints it."""
    print(get_pretty_env_info())


if __name__ == "__main__":
    main()
