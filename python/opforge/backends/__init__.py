"""What programs ask of, and tell, the libraries behind PyTorch. Of these opforge uses cuBLAS and cuDNN on CUDA devices, where they are found; switches for others change nothing."""

from __future__ import annotations

from . import cpu, cuda, cudnn, mha, mkl, mkldnn, mps, openmp, opt_einsum

__all__ = ["cpu", "cuda", "cudnn", "mha", "mkl", "mkldnn", "mps", "openmp", "opt_einsum"]
