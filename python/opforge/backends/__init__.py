"""What programs ask of, and tell, the libraries behind PyTorch. opforge's kernels are its own: no library is there, and switches for them change nothing."""

from __future__ import annotations

from . import cpu, cuda, cudnn, mha, mkl, mkldnn, mps, openmp, opt_einsum

__all__ = ["cpu", "cuda", "cudnn", "mha", "mkl", "mkldnn", "mps", "openmp", "opt_einsum"]
