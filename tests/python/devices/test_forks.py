"""What a device's driver holds does not follow into processes that are forked."""

import subprocess
import sys

from chosen_device import DEVICE

PROGRAM = f"""
import os, opforge as torch
x = torch.ones(2, device="{DEVICE}")
child = os.fork()
if child == 0:
    assert (torch.ones(2) + 1).tolist() == [2.0, 2.0]
    try:
        x + 1
        (x + 1).tolist()
    except RuntimeError as error:
        assert "forked after {DEVICE}:0 was opened" in str(error), error
        os._exit(7)
    os._exit(1)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
assert (x + 1).tolist() == [2.0, 2.0]
"""


def test_forked_processes_are_told():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
