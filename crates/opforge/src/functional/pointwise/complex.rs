//! Complex numbers as pairs of real ones. Kernels only move them; functions of them are composed of functions of their parts, which are views. So
//! gradients follow from those of real numbers, by PyTorch's convention: the derivative by the real part and, times i, that by the imaginary part
//! (twice Wirtinger's derivative by the conjugate).

use std::sync::Arc;

use crate::autograd::record_view;
use crate::functional as f;
use crate::ops::prelude::*;

functions! { view_as_real, view_as_complex, complex, polar, imag }

/// The parts of complex numbers, in a new last dimension of 2: a view.
///
/// # Errors
/// For real numbers.
///
/// ```
/// # use opforge::{Complex, Device, Tensor};
/// let z = Tensor::new(&[Complex::new(1f32, 2.0)], &Device::Cpu)?;
/// assert_eq!(opforge::functional::view_as_real(&z)?.to_vec2::<f32>()?, [[1.0, 2.0]]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
#[python(torch)]
#[view]
pub fn view_as_real(input: &Tensor) -> Result<Tensor> {
    let part = part_dtype(input.dtype()).ok_or(Error::UnsupportedDTypeForOp(input.dtype(), OP))?;
    let parts = input.detach().unsqueeze(input.rank())?.bits_as(part)?;
    seen_as(OP, input, parts, |grad| view_as_complex(&grad.contiguous()?))
}

/// Pairs of real numbers, the last dimension of 2, as complex ones: a view.
///
/// # Errors
/// For a last dimension of another length, or whose elements do not lie side by side, and dtypes other than f32 and f64.
///
/// ```
/// # use opforge::{Complex, Device, Tensor};
/// let x = Tensor::new(&[[1f32, 2.0]], &Device::Cpu)?;
/// assert_eq!(opforge::functional::view_as_complex(&x)?.to_vec1::<Complex<f32>>()?, [Complex::new(1.0, 2.0)]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
#[python(torch)]
#[view]
pub fn view_as_complex(input: &Tensor) -> Result<Tensor> {
    let whole = complex_dtype(input.dtype()).ok_or(Error::UnsupportedDTypeForOp(input.dtype(), OP))?;
    if input.dims().last() != Some(&2) {
        let given = format!("{:?}", input.shape());
        return Err(Error::shape(OP, "input", given, "a last dimension of 2"));
    }
    let pairs = input.detach().bits_as(whole)?.squeeze(input.rank() - 1)?;
    seen_as(OP, input, pairs, view_as_real)
}

/// Complex numbers of their real and imaginary parts.
///
/// # Errors
/// For parts of different shapes or dtypes, and dtypes other than f32 and f64.
///
/// ```
/// # use opforge::{Complex, Device, Tensor};
/// let (re, im) = (Tensor::new(&[1f32], &Device::Cpu)?, Tensor::new(&[2f32], &Device::Cpu)?);
/// assert_eq!(opforge::functional::complex(&re, &im)?.to_vec1::<Complex<f32>>()?, [Complex::new(1.0, 2.0)]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
#[python(torch)]
pub fn complex(real: &Tensor, imag: &Tensor) -> Result<Tensor> {
    ensure(real.dtype() == imag.dtype(), || Error::dtypes(OP, real.dtype(), imag.dtype()))?;
    let shape = real.shape().broadcast(imag.shape(), OP)?;
    let part = |t: &Tensor| t.broadcast_as(shape.clone());
    view_as_complex(&Tensor::stack(&[part(real)?, part(imag)?], shape.rank())?)
}

/// Complex numbers of their magnitudes and angles.
///
/// # Errors
/// As [`complex`].
///
/// ```
/// # use opforge::{Complex, Device, Tensor};
/// let (abs, angle) = (Tensor::new(&[2f32], &Device::Cpu)?, Tensor::new(&[0f32], &Device::Cpu)?);
/// assert_eq!(opforge::functional::polar(&abs, &angle)?.to_vec1::<Complex<f32>>()?, [Complex::new(2.0, 0.0)]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
#[python(torch)]
pub fn polar(abs: &Tensor, angle: &Tensor) -> Result<Tensor> {
    ensure(abs.dtype() == angle.dtype(), || Error::dtypes(OP, abs.dtype(), angle.dtype()))?;
    complex(&abs.broadcast_mul(&angle.cos()?)?, &abs.broadcast_mul(&angle.sin()?)?)
}

/// The imaginary parts: a view.
///
/// # Errors
/// For real numbers.
///
/// ```
/// # use opforge::{Complex, Device, Tensor};
/// let z = Tensor::new(&[Complex::new(1f32, 2.0)], &Device::Cpu)?;
/// assert_eq!(opforge::functional::imag(&z)?.to_vec1::<f32>()?, [2.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
#[python(torch)]
#[view]
pub fn imag(input: &Tensor) -> Result<Tensor> {
    view_as_real(input)?.get_on_dim(input.rank(), 1)
}

/// The dtype of a complex dtype's parts.
pub(crate) fn part_dtype(dtype: DType) -> Option<DType> {
    match dtype {
        DType::C64 => Some(DType::F32),
        DType::C128 => Some(DType::F64),
        _ => None,
    }
}

/// The complex dtype whose parts are of a dtype.
pub(crate) fn complex_dtype(part: DType) -> Option<DType> {
    match part {
        DType::F32 => Some(DType::C64),
        DType::F64 => Some(DType::C128),
        _ => None,
    }
}

/// `view`, which shows the memory of `input`, with the gradient that `back` makes of its own.
#[track_caller]
fn seen_as(name: &str, input: &Tensor, view: Tensor, back: fn(&Tensor) -> Result<Tensor>) -> Result<Tensor> {
    let backward = move |grads: &[Option<Tensor>], _: &[bool]| Ok(vec![grads[0].as_ref().map(back).transpose()?]);
    Ok(record_view(name, input, view, Arc::new(backward)))
}

impl Tensor {
    /// [`view_as_real`].
    pub(crate) fn as_parts(&self) -> Result<Tensor> {
        view_as_real(self)
    }

    /// [`view_as_complex`].
    pub(crate) fn of_parts(&self) -> Result<Tensor> {
        view_as_complex(self)
    }
}

/// A linear reduction; of complex numbers, one part by one.
#[track_caller]
pub(crate) fn reduced<R: Reduction>(reduction: R, axes: Axes, keepdim: bool, input: &Tensor) -> Result<Tensor> {
    if input.dtype().is_complex() {
        return view_as_complex(&reduced(reduction, axes, keepdim, &view_as_real(input)?)?);
    }
    dispatch1(&ReduceOp { reduction, axes, keepdim }, &[input])
}

/// What a function of real numbers makes of both parts alike, as sums are made.
#[track_caller]
pub(crate) fn of_both_parts(
    a: &Tensor,
    b: &Tensor,
    function: impl Fn(&Tensor, &Tensor) -> Result<Tensor>,
) -> Result<Tensor> {
    view_as_complex(&function(&view_as_real(a)?, &view_as_real(b)?)?)
}

/// Complex numbers by their parts.
pub(crate) struct Parts {
    pub re: Tensor,
    pub im: Tensor,
}

/// The product of complex matrices, `[.., m, k]` and `[.., k, n]`, as one of real ones: `[.., m, 2 k]` by `[.., 2 k, 2 n]`. A row holds its numbers'
/// `re, im`; for each row of the other matrix there are two, of `re, im` and of `-im, re`. What comes of it is the complex product as it lies in memory.
/// Broadcast matrices, which would be made in full for that, are multiplied part by part.
#[track_caller]
pub(crate) fn complex_matmul(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    if [a, b].iter().any(|t| t.layout().may_overlap_itself()) {
        return Parts::of(a)?.matmul(&Parts::of(b)?)?.join();
    }
    let [m, k, n] = [a.dims()[a.rank() - 2], a.dims()[a.rank() - 1], b.dims()[b.rank() - 1]];
    let (rows, parts) = (view_as_real(b)?, Parts::of(b)?);
    let turned = Tensor::stack(&[&parts.im.neg()?, &parts.re], b.rank())?;
    let both = Tensor::stack(&[&rows, &turned], b.rank() - 1)?;
    let both = both.reshape([&b.dims()[..b.rank() - 2], &[2 * k, 2 * n]].concat())?;
    let left = view_as_real(a)?.reshape([&a.dims()[..a.rank() - 2], &[m, 2 * k]].concat())?;
    let product = f::matmul(&left, &both)?;
    let pairs = [&product.dims()[..product.rank() - 1], &[n, 2]].concat();
    view_as_complex(&product.reshape(pairs)?)
}

impl Parts {
    /// Of complex numbers.
    #[track_caller]
    pub fn of(z: &Tensor) -> Result<Parts> {
        let both = view_as_real(z)?;
        Ok(Parts { re: both.get_on_dim(z.rank(), 0)?, im: both.get_on_dim(z.rank(), 1)? })
    }

    #[track_caller]
    pub fn join(&self) -> Result<Tensor> {
        complex(&self.re, &self.im)
    }

    /// Both parts by a linear function.
    pub fn map(&self, f: impl Fn(&Tensor) -> Result<Tensor>) -> Result<Parts> {
        Ok(Parts { re: f(&self.re)?, im: f(&self.im)? })
    }

    pub fn conj(&self) -> Result<Parts> {
        Ok(Parts { re: self.re.clone(), im: self.im.neg()? })
    }

    /// A product by a bilinear function of the parts.
    pub fn product(&self, other: &Parts, f: impl Fn(&Tensor, &Tensor) -> Result<Tensor>) -> Result<Parts> {
        let re = f(&self.re, &other.re)?.broadcast_sub(&f(&self.im, &other.im)?)?;
        let im = f(&self.re, &other.im)?.broadcast_add(&f(&self.im, &other.re)?)?;
        Ok(Parts { re, im })
    }

    pub fn mul(&self, other: &Parts) -> Result<Parts> {
        self.product(other, Tensor::broadcast_mul)
    }

    pub fn matmul(&self, other: &Parts) -> Result<Parts> {
        self.product(other, f::matmul)
    }

    /// The quotients, by Smith's method (1962): the divisor's smaller part is divided by its larger one `p`, so that no square overflows. A
    /// divisor of 0 makes each part what division by 0 does; one with a part that is NaN makes both NaN.
    pub fn div(&self, other: &Parts) -> Result<Parts> {
        let tall = f::gt((&other.im.abs()?).into(), (&other.re.abs()?).into())?;
        let choose = |a: &Tensor, b: &Tensor| f::where_cond(&tall, b.into(), a.into());
        let (p, q) = (choose(&other.re, &other.im)?, choose(&other.im, &other.re)?);
        let zero = f::logical_and((&p.eq(0.0)?).into(), (&q.eq(0.0)?).into())?;
        let unless_zero = |x: &Tensor| f::where_cond(&zero, 0.0.into(), x.into());
        let ratio = unless_zero(&q.div(&p)?)?;
        let divisor = unless_zero(&p.add(&q.mul(&ratio)?)?)?;
        let scaled = self.map(|part| part.broadcast_mul(&ratio))?;
        let re = choose(&self.re.broadcast_add(&scaled.im)?, &scaled.re.broadcast_add(&self.im)?)?;
        let im = choose(&self.im.broadcast_sub(&scaled.re)?, &scaled.im.broadcast_sub(&self.re)?)?;
        Ok(Parts { re: re.broadcast_div(&divisor)?, im: im.broadcast_div(&divisor)? })
    }

    /// `|z|`, without overflow; its gradient at 0 is 0.
    pub fn magnitude(&self) -> Result<Tensor> {
        let zero = f::logical_and((&self.re.eq(0.0)?).into(), (&self.im.eq(0.0)?).into())?;
        let re = f::where_cond(&zero, 1.0.into(), (&self.re).into())?;
        f::where_cond(&zero, 0.0.into(), (&f::hypot((&re).into(), (&self.im).into())?).into())
    }
}
