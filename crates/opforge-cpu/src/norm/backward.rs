//! Gradients of the norms over rows, a row at a time.

use super::{expect_like, stats_dtype, with_contiguous_rows};
use crate::loops::plan::{LoopDim, LoopDims, Walk, iterations};
use crate::loops::tasks::{Job, prepare};
use crate::simd::stored::{StoredFloat, VectorOf, each_vector, load_strided, store_strided};
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

/// The sums that outputs are for: over as many chunks as they have, where there are any. Parts of a tensor may have as many as the whole.
fn sums_of(x: &Meta, outputs: &[&Meta]) -> Meta {
    let usual = parameter_sums(x);
    match outputs.get(1).filter(|given| given.rank() == 2 && given.dims()[0] > 0) {
        Some(given) => Meta::contiguous(usual.dtype, (given.dims()[0], usual.dims()[1])),
        None => usual,
    }
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
    let sums = sums_of(x, outputs);
    outputs[1..].iter().try_for_each(|output| expect_like(op, "sums", output, &sums))?;
    weight.map_or(Ok(()), |w| expect_like(op, "weight", w, &Meta::contiguous(x.dtype, len)))?;
    with_contiguous_rows(&[x, dy], |inputs| {
        let (x, dy) = (inputs[0], inputs[1]);
        let outer = rows([x, dy, outputs[0]]);
        let norm =
            Norm { centered, weight: weight.is_some(), sums: outputs.len() - 1, chunks: sums.dims()[0], outer, len };
        match x.dtype {
            DType::F16 => Ok(NormRows::<f16>::prepare(norm)),
            DType::BF16 => Ok(NormRows::<bf16>::prepare(norm)),
            DType::F32 => Ok(NormRows::<f32>::prepare(norm)),
            DType::F64 => Ok(NormRows::<f64>::prepare(norm)),
            other => Err(Error::UnsupportedDTypeForOp(other, op)),
        }
    })
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

/// The loops over rows, in row-major order.
fn rows(tensors: [&Meta; 3]) -> LoopDims<3> {
    let dim = |d: usize| LoopDim { len: tensors[0].dims()[d], stride: tensors.map(|t| t.layout.stride()[d]) };
    (0..tensors[0].rank() - 1).map(dim).collect()
}

/// Pairs of vectors added up in line before they enter the whole sum.
const BLOCK: usize = 64;

struct Norm {
    centered: bool,
    weight: bool,
    /// Outputs besides the input's gradient.
    sums: usize,
    /// Into how many about equal parts the rows are divided.
    chunks: usize,
    outer: LoopDims<3>,
    len: usize,
}

struct NormRows<E> {
    norm: Norm,
    element: PhantomData<E>,
}

/// A row of `len` elements: its numbers and addresses.
struct Row<E: StoredFloat, S: Simd> {
    len: usize,
    x: *const E,
    dy: *const E,
    out: *mut E,
    mean: VectorOf<E, S>,
    rstd: VectorOf<E, S>,
    /// Null where there is none.
    weight: *const E,
    /// The sums of `dy h` and `dy`; null where they are not wanted.
    sums: [*mut E::Compute; 2],
}

impl<E: StoredFloat, S: Simd> Row<E, S> {
    const LANES: usize = VectorOf::<E, S>::LANES;

    /// `dy`, `g` and `h` of `n` elements from position `i`; lanes of the first two past them are zero.
    ///
    /// # Safety
    /// These elements are the row's.
    #[inline(always)]
    unsafe fn load(&self, i: usize, n: usize) -> [VectorOf<E, S>; 3] {
        // SAFETY: positions `i..i + n` are the row's in `x` and `dy`, and in the weight if there is one.
        unsafe {
            let (x, dy) = (load_strided::<S, E>(self.x.add(i), n, 1), load_strided::<S, E>(self.dy.add(i), n, 1));
            let g = if self.weight.is_null() { dy } else { dy * load_strided::<S, E>(self.weight.add(i), n, 1) };
            [dy, g, (x - self.mean) * self.rstd]
        }
    }

    /// The sums of `g` and `g h`.
    ///
    /// # Safety
    /// The row's addresses are valid.
    #[inline(always)]
    unsafe fn totals(&self) -> [f64; 2] {
        let mut totals = [0.0; 2];
        for first in (0..self.len).step_by(2 * BLOCK * Self::LANES) {
            // Two of each, which do not wait for each other.
            let mut sums = [[VectorOf::<E, S>::splat(0.0); 2]; 2];
            let end = self.len.min(first + 2 * BLOCK * Self::LANES);
            let mut i = first;
            // SAFETY: vectors begin at `i` and end at or before `end <= len`, within the row.
            unsafe {
                while i + 2 * Self::LANES <= end {
                    sums[0] = add(sums[0], self.load(i, Self::LANES));
                    sums[1] = add(sums[1], self.load(i + Self::LANES, Self::LANES));
                    i += 2 * Self::LANES;
                }
                while i < end {
                    sums[0] = add(sums[0], self.load(i, Self::LANES.min(end - i)));
                    i += Self::LANES;
                }
            }
            // Not in a closure: one that is not inlined is compiled without the vectors' instructions.
            for (k, total) in totals.iter_mut().enumerate() {
                *total += (sums[0][k] + sums[1][k]).reduce_sum().to_f64();
            }
        }
        totals
    }

    /// Writes the gradient, and adds to the sums.
    ///
    /// # Safety
    /// The row's addresses are valid; the sums are null or as long as the row.
    #[inline(always)]
    unsafe fn write(&self, [mean_g, mean_gh]: [f64; 2]) {
        let (mean_g, mean_gh) = (VectorOf::<E, S>::splat(mean_g), VectorOf::<E, S>::splat(mean_gh));
        each_vector(
            self.len,
            Self::LANES,
            #[inline(always)]
            |i, n| {
                // SAFETY: these elements are the row's.
                unsafe {
                    let [dy, g, h] = self.load(i, n);
                    store_strided::<S, E>(self.rstd * (g - mean_g - h * mean_gh), n, self.out.add(i), 1);
                    for (sums, term) in self.sums.into_iter().zip([dy * h, dy]) {
                        if !sums.is_null() {
                            let sum = load_strided::<S, E::Compute>(sums.add(i), n, 1) + term;
                            store_strided::<S, E::Compute>(sum, n, sums.add(i), 1);
                        }
                    }
                }
            },
        );
    }
}

/// The sums of `g` and of `g h` with those of a vector more.
#[inline(always)]
fn add<V: Float>([sum_g, sum_gh]: [V; 2], [_, g, h]: [V; 3]) -> [V; 2] {
    [sum_g + g, sum_gh + g * h]
}

impl<E: StoredFloat> NormRows<E> {
    fn prepare(norm: Norm) -> Arc<dyn HostKernel> {
        let (chunks, rows, len) = (norm.chunks, iterations(&norm.outer), norm.len);
        prepare(NormRows::<E> { norm, element: PhantomData }, chunks, rows.div_ceil(chunks.max(1)) * len, 0)
    }

    /// A chunk's sums, set to zero.
    ///
    /// # Safety
    /// The job's outputs after the first hold `len` sums for each chunk; no other task has this one.
    unsafe fn sums(&self, job: &Job, chunk: usize) -> [*mut E::Compute; 2] {
        let mut sums = [std::ptr::null_mut(); 2];
        for (i, sums) in sums.iter_mut().enumerate().take(self.norm.sums) {
            // SAFETY: output `1 + i` has `len` sums for each chunk, and no other task has this chunk's.
            unsafe {
                *sums = job.outputs[1 + i].cast::<E::Compute>().add(chunk * self.norm.len);
                std::slice::from_raw_parts_mut(*sums, self.norm.len).fill(E::Compute::default());
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
        let Norm { centered, outer, len, chunks, .. } = &self.norm;
        let (rows, count) = (iterations(outer), *len as f64);
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
                    let [x, dy, out] = walk.offset();
                    let stat =
                        |input: usize| Vector::splat_elem(job.inputs[input].cast::<E::Compute>().add(index).read());
                    let row = Row::<E, S> {
                        len: *len,
                        x: job.inputs[0].cast::<E>().add(x),
                        dy: job.inputs[1].cast::<E>().add(dy),
                        out: job.outputs[0].cast::<E>().add(out),
                        mean: if *centered { stat(2) } else { Float::splat(0.0) },
                        rstd: stat(rstd_input),
                        weight,
                        sums,
                    };
                    let [sum_g, sum_gh] = row.totals();
                    row.write([if *centered { sum_g / count } else { 0.0 }, sum_gh / count]);
                    walk.step();
                }
            }
        }
    }
}
