//! Convolutions with a hint for CUDA's library, which candle's programs may give.

use crate::{Result, Tensor};

/// An algorithm of cuDNN. A hint: kernels of the CPU choose by themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum CudnnFwdAlgo {
    ImplicitGemm,
    ImplicitPrecompGemm,
    Gemm,
    Direct,
    Fft,
    FftTiling,
    Winograd,
    WinogradNonFused,
    Count,
}

impl Tensor {
    /// As [`Tensor::conv1d`]; the hint is for CUDA.
    ///
    /// # Errors
    /// As [`Tensor::conv1d`].
    #[track_caller]
    pub fn conv1d_with_algo(
        &self,
        kernel: &Tensor,
        padding: usize,
        stride: usize,
        dilation: usize,
        groups: usize,
        _cudnn_fwd_algo: Option<CudnnFwdAlgo>,
    ) -> Result<Tensor> {
        self.conv1d(kernel, padding, stride, dilation, groups)
    }

    /// As [`Tensor::conv2d`]; the hint is for CUDA.
    ///
    /// # Errors
    /// As [`Tensor::conv2d`].
    #[track_caller]
    pub fn conv2d_with_algo(
        &self,
        kernel: &Tensor,
        padding: usize,
        stride: usize,
        dilation: usize,
        groups: usize,
        _cudnn_fwd_algo: Option<CudnnFwdAlgo>,
    ) -> Result<Tensor> {
        self.conv2d(kernel, padding, stride, dilation, groups)
    }
}
