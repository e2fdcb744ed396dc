"""Names of what moves the tensors of process groups."""

from __future__ import annotations


class Backend(str):
    """The name of a transport, in lower case: `Backend("GLOO") == "gloo"`. Which of them are there, `is_backend_available` tells.

    Raises ValueError for what is not a text.
    """

    UNDEFINED, GLOO, NCCL, UCC, MPI, XCCL, FAKE = "undefined", "gloo", "nccl", "ucc", "mpi", "xccl", "fake"
    backend_list = [UNDEFINED, GLOO, NCCL, XCCL, UCC, MPI, FAKE]
    default_device_backend_map = {"cpu": GLOO, "cuda": NCCL, "xpu": XCCL, "mps": GLOO}
    backend_capability = {GLOO: ["cpu", "cuda"], NCCL: ["cuda"], XCCL: ["xpu"], UCC: ["cpu", "cuda"], MPI: ["cpu", "cuda"]}

    def __new__(cls, name: str):
        if not isinstance(name, str):
            raise ValueError(f"Backend constructor parameter must be string-ish, not {type(name).__name__}")
        return super().__new__(cls, getattr(cls, name.upper(), name.lower()))

    @classmethod
    def register_backend(cls, name, func, extended_api=False, devices=None):
        """There are two transports, sockets and MPI: a NotImplementedError."""
        raise NotImplementedError(f"torch.distributed.Backend.register_backend: {name}: opforge's process groups use sockets or MPI")
