//! Convolutions, also with a hint for CUDA's library.

use crate::family::window::{repeated, windows};
use crate::functional::nn::conv_arguments::Arguments;
use crate::{Error, Result, Tensor};

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
    #[track_caller]
    fn convolve(
        &self,
        op: &'static str,
        spatial: usize,
        kernel: &Tensor,
        window: [usize; 3],
        groups: usize,
    ) -> Result<Tensor> {
        check_ranks(op, spatial, [self, kernel])?;
        arguments(op, spatial, window, groups)?.convolve(self, kernel, None)
    }

    /// The convolution of `[batch, channels, length]` with a kernel `[out, channels / groups, k]`: see [`conv1d`](crate::functional::conv1d).
    ///
    /// # Errors
    /// As [`conv1d`](crate::functional::conv1d).
    #[track_caller]
    pub fn conv1d(
        &self,
        kernel: &Tensor,
        padding: usize,
        stride: usize,
        dilation: usize,
        groups: usize,
    ) -> Result<Tensor> {
        self.convolve("conv1d", 1, kernel, [stride, padding, dilation], groups)
    }

    /// The convolution of `[batch, channels, height, width]` with a kernel `[out, channels / groups, kh, kw]`: see [`conv2d`](crate::functional::conv2d).
    ///
    /// # Errors
    /// As [`conv2d`](crate::functional::conv2d).
    #[track_caller]
    pub fn conv2d(
        &self,
        kernel: &Tensor,
        padding: usize,
        stride: usize,
        dilation: usize,
        groups: usize,
    ) -> Result<Tensor> {
        self.convolve("conv2d", 2, kernel, [stride, padding, dilation], groups)
    }

    /// The transposed convolution of `[batch, channels, length]` with a kernel `[channels, out / groups, k]`: see [`conv_transpose1d`](crate::functional::conv_transpose1d).
    ///
    /// # Errors
    /// As [`conv_transpose1d`](crate::functional::conv_transpose1d).
    #[track_caller]
    pub fn conv_transpose1d(
        &self,
        kernel: &Tensor,
        padding: usize,
        output_padding: usize,
        stride: usize,
        dilation: usize,
        groups: usize,
    ) -> Result<Tensor> {
        check_ranks("conv_transpose1d", 1, [self, kernel])?;
        let arguments = arguments("conv_transpose1d", 1, [stride, padding, dilation], groups)?;
        arguments.transpose(self, kernel, None, repeated(output_padding, 1, 0))
    }

    /// The transposed convolution of `[batch, channels, height, width]` with a kernel `[channels, out, kh, kw]`: see [`conv_transpose2d`](crate::functional::conv_transpose2d).
    ///
    /// # Errors
    /// As [`conv_transpose2d`](crate::functional::conv_transpose2d).
    #[track_caller]
    pub fn conv_transpose2d(
        &self,
        kernel: &Tensor,
        padding: usize,
        output_padding: usize,
        stride: usize,
        dilation: usize,
    ) -> Result<Tensor> {
        check_ranks("conv_transpose2d", 2, [self, kernel])?;
        let arguments = arguments("conv_transpose2d", 2, [stride, padding, dilation], 1)?;
        arguments.transpose(self, kernel, None, repeated(output_padding, 2, 0))
    }

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

/// Both have a dimension of batches or outputs, one of channels, and the spatial ones.
fn check_ranks(op: &'static str, spatial: usize, tensors: [&Tensor; 2]) -> Result<()> {
    match tensors.into_iter().find(|t| t.rank() != spatial + 2) {
        Some(other) => Err(Error::rank(op, spatial + 2, other.shape()).bt()),
        None => Ok(()),
    }
}

/// Arguments that are the same along all spatial dimensions.
fn arguments(
    op: &'static str,
    spatial: usize,
    [stride, padding, dilation]: [usize; 3],
    groups: usize,
) -> Result<Arguments> {
    let all = |n, rest| repeated(n, spatial, rest);
    Arguments::of_windows(op, spatial, windows(all(stride, 1), all(padding, 0), all(dilation, 1)), groups)
}
