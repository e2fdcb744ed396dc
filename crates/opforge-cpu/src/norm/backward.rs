//! Gradients of the norms over rows, a row at a time.

use super::{expect_like, stats_dtype};
use crate::loops::plan::{LoopDim, LoopDims, Walk, iterations};
use crate::loops::tasks::{Job, prepare};
use crate::simd::stored::{StoredFloat, VectorOf, load_strided, store_strided};
use crate::simd::{Float, Routine, Simd, Vector};
use opforge_core::{DType, Error, Meta, Result, WithDType, bf16, f16};
use opforge_runtime::HostKernel;
use std::marker::PhantomData;
use std::sync::Arc;

/// The gradients of layer norm.
///
/// With `g = dy weight` and `h = (x - mean) rstd`: `rstd (g - mean(g) - h mean(g h))` for the input, the first output, contiguous, of x's shape
/// and dtype. Inputs: x and dy of any strides, then mean and rstd (`stats`) as layer norm leaves them, then weight if given. Further outputs
/// are the sums of `dy h` and of `dy` over chunks of rows, of the shape and dtype that [`parameter_sums`] tells: what weight and bias get,
/// summed over the chunks.
///
/// # Errors
/// As layer norm.
pub fn layer_norm_backward(
    op: &'static str,
    x: &Meta,
    dy: &Meta,
    stats: &[&Meta],
    weight: Option<&Meta>,
    outputs: &[&Meta],
) -> Result<Arc<dyn HostKernel>> {
    norm_backward(op, x, dy, stats, weight, true, outputs)
}

/// The gradients of RMS norm: as [`layer_norm_backward`], without means and without the sum of `dy`.
///
/// # Errors
/// As layer norm.
pub fn rms_norm_backward(
    op: &'static str,
    x: &Meta,
    dy: &Meta,
    stats: &[&Meta],
    weight: Option<&Meta>,
    outputs: &[&Meta],
) -> Result<Arc<dyn HostKernel>> {
    norm_backward(op, x, dy, stats, weight, false, outputs)
}

/// `[chunks, n]`, in the statistics' dtype, for `x [.., n]`: the sums over chunks of rows that the gradients of parameters are made of.
pub fn parameter_sums(x: &Meta) -> Meta {
    /// Rows of a chunk at most, so that their sum in single precision stays accurate; and chunks at least, where there are as many rows.
    const ROWS: usize = 256;
    const CHUNKS: usize = 32;
    let (&len, lead) = x.dims().split_last().unwrap_or((&1, &[]));
    let rows: usize = lead.iter().product();
    Meta::contiguous(stats_dtype(x.dtype), (rows.div_ceil(ROWS).max(rows.min(CHUNKS)), len))
}

fn norm_backward(
    op: &'static str,
    x: &Meta,
    dy: &Meta,
    stats: &[&Meta],
    weight: Option<&Meta>,
    centered: bool,
    outputs: &[&Meta],
) -> Result<Arc<dyn HostKernel>> {
    let Some((&len, rows_of_x)) = x.dims().split_last() else {
        return Err(Error::shape(op, "input", "[]", "at least one dimension"));
    };
    let statistic = Meta::contiguous(stats_dtype(x.dtype), rows_of_x);
    stats.iter().try_for_each(|given| expect_like(op, "statistics", given, &statistic))?;
    expect_same(op, "dy", dy, x)?;
    expect_like(op, "output", outputs[0], x)?;
    let sums = parameter_sums(x);
    outputs[1..].iter().try_for_each(|output| expect_like(op, "sums", output, &sums))?;
    weight.map_or(Ok(()), |w| expect_like(op, "weight", w, &Meta::contiguous(x.dtype, len)))?;
    let (outer, along) = rows([x, dy, outputs[0]], x.rank() - 1);
    let norm =
        Norm { centered, weight: weight.is_some(), sums: outputs.len() - 1, chunks: sums.dims()[0], outer, along };
    match x.dtype {
        DType::F16 => Ok(NormRows::<f16>::prepare(norm)),
        DType::BF16 => Ok(NormRows::<bf16>::prepare(norm)),
        DType::F32 => Ok(NormRows::<f32>::prepare(norm)),
        DType::F64 => Ok(NormRows::<f64>::prepare(norm)),
        other => Err(Error::UnsupportedDTypeForOp(other, op)),
    }
}

fn expect_same(op: &'static str, name: &'static str, given: &Meta, model: &Meta) -> Result<()> {
    if given.dtype != model.dtype {
        return Err(Error::dtype(op, name, given.dtype, model.dtype));
    }
    if given.shape() != model.shape() {
        return Err(Error::shape(op, name, format!("{:?}", given.shape()), format!("{:?}", model.shape())));
    }
    Ok(())
}

/// The loops over rows, in row-major order, and the loop along them.
fn rows<const N: usize>(tensors: [&Meta; N], axis: usize) -> (LoopDims<N>, LoopDim<N>) {
    let dim = |d: usize| LoopDim { len: tensors[0].dims()[d], stride: tensors.map(|t| t.layout.stride()[d]) };
    ((0..tensors[0].rank()).filter(|&d| d != axis).map(dim).collect(), dim(axis))
}

/// Vectors added up in line before they enter the whole sum.
const BLOCK: usize = 64;

/// One row of two inputs and an output.
#[derive(Clone, Copy)]
struct Row<E> {
    a: *const E,
    b: *const E,
    out: *mut E,
    along: LoopDim<3>,
}

impl<E: StoredFloat> Row<E> {
    /// # Safety
    /// The offsets are a row's, of the loops that the job's tensors were planned for.
    #[inline(always)]
    unsafe fn new(job: &Job, [a, b, out]: [usize; 3], along: LoopDim<3>) -> Self {
        // SAFETY: the caller's.
        unsafe {
            Row {
                a: job.inputs[0].cast::<E>().add(a),
                b: job.inputs[1].cast::<E>().add(b),
                out: job.outputs[0].cast::<E>().add(out),
                along,
            }
        }
    }

    /// Up to a vector of both inputs from position `i`; lanes past the row's end are zero.
    ///
    /// # Safety
    /// `i` is within the row, and the row's addresses are valid.
    #[inline(always)]
    unsafe fn load<S: Simd>(&self, i: usize) -> (VectorOf<E, S>, VectorOf<E, S>) {
        let n = VectorOf::<E, S>::LANES.min(self.along.len - i);
        let [a, b, _] = self.along.stride;
        // SAFETY: the caller's.
        unsafe { (load_strided::<S, E>(self.a.add(i * a), n, a), load_strided::<S, E>(self.b.add(i * b), n, b)) }
    }

    /// Writes up to a vector from position `i`.
    ///
    /// # Safety
    /// As [`Row::load`].
    #[inline(always)]
    unsafe fn store<S: Simd>(&self, v: VectorOf<E, S>, i: usize) {
        let n = VectorOf::<E, S>::LANES.min(self.along.len - i);
        let stride = self.along.stride[2];
        // SAFETY: the caller's.
        unsafe { store_strided::<S, E>(v, n, self.out.add(i * stride), stride) };
    }
}

struct Norm {
    centered: bool,
    weight: bool,
    /// Outputs besides the input's gradient.
    sums: usize,
    /// Into how many about equal parts the rows are divided.
    chunks: usize,
    outer: LoopDims<3>,
    along: LoopDim<3>,
}

struct NormRows<E> {
    norm: Norm,
    element: PhantomData<E>,
}

/// The numbers of a row, and the addresses that its elements go with.
struct RowOf<E: StoredFloat, S: Simd> {
    row: Row<E>,
    mean: VectorOf<E, S>,
    rstd: VectorOf<E, S>,
    weight: *const E,
    /// The sums of `dy h` and `dy`; null where they are not wanted.
    sums: [*mut E::Compute; 2],
}

impl<E: StoredFloat, S: Simd> RowOf<E, S> {
    /// `dy`, `g` and `h` of up to a vector from position `i`; lanes of the first two past the row's end are zero.
    ///
    /// # Safety
    /// `i` is within the row; the weight's address is null or as long as the row.
    #[inline(always)]
    unsafe fn load(&self, i: usize) -> [VectorOf<E, S>; 3] {
        let n = VectorOf::<E, S>::LANES.min(self.row.along.len - i);
        // SAFETY: the caller's.
        unsafe {
            let (x, dy) = self.row.load::<S>(i);
            let g = if self.weight.is_null() { dy } else { dy * load_strided::<S, E>(self.weight.add(i), n, 1) };
            [dy, g, (x - self.mean) * self.rstd]
        }
    }

    /// The sums of `g` and `g h`.
    ///
    /// # Safety
    /// As [`RowOf::load`], for the whole row.
    #[inline(always)]
    unsafe fn totals(&self) -> [f64; 2] {
        let (lanes, len) = (VectorOf::<E, S>::LANES, self.row.along.len);
        let mut totals = [0.0; 2];
        for block in (0..len).step_by(BLOCK * lanes) {
            let (mut sum_g, mut sum_gh) = (VectorOf::<E, S>::splat(0.0), VectorOf::<E, S>::splat(0.0));
            for i in (block..len.min(block + BLOCK * lanes)).step_by(lanes) {
                // SAFETY: the caller's.
                let [_, g, h] = unsafe { self.load(i) };
                sum_g = sum_g + g;
                sum_gh = sum_gh + g * h;
            }
            totals = [totals[0] + sum_g.reduce_sum().to_f64(), totals[1] + sum_gh.reduce_sum().to_f64()];
        }
        totals
    }

    /// Writes the gradient, and adds to the sums.
    ///
    /// # Safety
    /// As [`RowOf::totals`]; the sums are null or as long as the row.
    #[inline(always)]
    unsafe fn write(&self, [mean_g, mean_gh]: [f64; 2]) {
        let (lanes, len) = (VectorOf::<E, S>::LANES, self.row.along.len);
        let (mean_g, mean_gh) = (VectorOf::<E, S>::splat(mean_g), VectorOf::<E, S>::splat(mean_gh));
        for i in (0..len).step_by(lanes) {
            // SAFETY: the caller's.
            unsafe {
                let [dy, g, h] = self.load(i);
                self.row.store::<S>(self.rstd * (g - mean_g - h * mean_gh), i);
                for (sums, term) in self.sums.into_iter().zip([dy * h, dy]) {
                    if !sums.is_null() {
                        let (sums, n) = (sums.add(i), lanes.min(len - i));
                        (VectorOf::<E, S>::load_partial(sums, n) + term).store_partial(sums, n);
                    }
                }
            }
        }
    }
}

impl<E: StoredFloat> NormRows<E> {
    fn prepare(norm: Norm) -> Arc<dyn HostKernel> {
        let (chunks, rows, len) = (norm.chunks, iterations(&norm.outer), norm.along.len);
        prepare(NormRows::<E> { norm, element: PhantomData }, chunks, rows.div_ceil(chunks.max(1)) * len, 0)
    }

    /// A chunk's sums, set to zero.
    ///
    /// # Safety
    /// The job's outputs are valid.
    unsafe fn sums(&self, job: &Job, chunk: usize) -> [*mut E::Compute; 2] {
        let mut sums = [std::ptr::null_mut(); 2];
        for (i, sums) in sums.iter_mut().enumerate().take(self.norm.sums) {
            // SAFETY: by the contract.
            unsafe {
                *sums = job.outputs[1 + i].cast::<E::Compute>().add(chunk * self.norm.along.len);
                std::slice::from_raw_parts_mut(*sums, self.norm.along.len).fill(E::Compute::default());
            }
        }
        sums
    }
}

impl<E: StoredFloat> Routine for NormRows<E> {
    type Args = Job;
    type Output = ();

    #[inline(always)]
    unsafe fn run<S: Simd>(&self, job: Job) {
        let Norm { centered, outer, along, chunks, .. } = &self.norm;
        let (rows, count) = (iterations(outer), along.len as f64);
        let rstd_input = 2 + usize::from(*centered);
        let weight = if self.norm.weight { job.inputs[rstd_input + 1].cast::<E>() } else { std::ptr::null() };
        for chunk in job.tasks.clone() {
            // SAFETY: the plan's offsets stay within the tensors that the caller vouches for; there is a statistic for every row, and sums
            // for every chunk.
            unsafe {
                let sums = self.sums(&job, chunk);
                let first = chunk * rows / chunks;
                let mut walk = Walk::new(outer, first);
                for index in first..(chunk + 1) * rows / chunks {
                    let row = Row::<E>::new(&job, walk.offset(), *along);
                    let stat =
                        |input: usize| Vector::splat_elem(job.inputs[input].cast::<E::Compute>().add(index).read());
                    let mean = if *centered { stat(2) } else { Float::splat(0.0) };
                    let row = RowOf::<E, S> { row, mean, rstd: stat(rstd_input), weight, sums };
                    let [sum_g, sum_gh] = row.totals();
                    row.write([if *centered { sum_g / count } else { 0.0 }, sum_gh / count]);
                    walk.step();
                }
            }
        }
    }
}
