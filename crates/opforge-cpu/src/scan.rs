//! Running sums along an axis.

use std::sync::Arc;

use opforge_core::{Error, Meta, Result, bf16, f16};
use opforge_runtime::Kernel;
use opforge_runtime::parallel::parallel_for;

use crate::copy::{Axis, Nest, Shared, byte_steps, check_output};

/// Additions that a thread does at a time.
const GRAIN: usize = 1 << 14;

/// Sums that are formed side by side.
const LANES: usize = 16;

/// The kernel for `output[.., i, ..] = input[.., 0, ..] + .. + input[.., i, ..]`, `i` along `axis`.
///
/// Sums are formed in order, those of floats in f64; integers wrap. The output may be the input itself.
///
/// # Errors
/// Shape or dtype mismatch, an axis beyond the rank, bool and complex numbers.
pub fn cumsum(op: &'static str, input: &Meta, axis: usize, output: &Meta) -> Result<Arc<dyn Kernel>> {
    check_output(op, input, output)?;
    if input.dims() != output.dims() || axis >= input.rank() {
        let accepted = format!("equal shapes that have dim {axis}");
        return Err(Error::shapes(op, input.shape(), output.shape(), accepted));
    }
    let steps = byte_steps(input).zip(byte_steps(output));
    let mut axes: Vec<Axis<2>> =
        input.dims().iter().zip(steps).map(|(&len, (src, dst))| Axis { len, step: [src, dst] }).collect();
    let along = axes.remove(axis);
    let mut nest = Nest::collapse(axes.into_iter());
    let lanes = nest.axes.pop().unwrap_or(Axis { len: 1, step: [0, 0] });
    let run: Run = by_number!(op, input.dtype, T => run::<T>);
    Ok(Arc::new(CumSum { nest, lanes, along, run }))
}

/// Sums `n` lanes, at most [`LANES`], at the addresses of their first elements.
type Run = unsafe fn(lanes: Axis<2>, n: usize, along: Axis<2>, src: *const u8, dst: *mut u8);

struct CumSum {
    nest: Nest<2>,
    /// The innermost loop over sums.
    lanes: Axis<2>,
    /// The loop over a sum's elements.
    along: Axis<2>,
    run: Run,
}

impl Kernel for CumSum {
    unsafe fn run(&self, inputs: &[*const u8], outputs: &[*mut u8]) -> Result<()> {
        let (src, dst) = (Shared(inputs[0]), Shared(outputs[0]));
        let parts = self.lanes.len.div_ceil(LANES);
        let work = |range| {
            self.nest.for_each_part(parts, range, |offset, part| {
                let first = part * LANES;
                let n = LANES.min(self.lanes.len - first);
                let at = |t: usize| offset[t] + first as isize * self.lanes.step[t];
                // SAFETY: offsets are within the tensors; parts write disjoint elements.
                unsafe { (self.run)(self.lanes, n, self.along, src.get().offset(at(0)), dst.get().offset(at(1))) };
            });
        };
        parallel_for(self.nest.count() * parts, (GRAIN / (LANES * self.along.len.max(1))).max(1), work);
        Ok(())
    }

    fn cost(&self) -> u64 {
        20 + (self.nest.count() * self.lanes.len * self.along.len) as u64
    }
}

/// # Safety
/// Valid for all elements of the lanes.
unsafe fn run<T: Running>(lanes: Axis<2>, n: usize, along: Axis<2>, src: *const u8, dst: *mut u8) {
    let mut sums = [T::Sum::default(); LANES];
    for i in 0..along.len as isize {
        for (lane, sum) in sums[..n].iter_mut().enumerate() {
            let at = |t: usize| i * along.step[t] + lane as isize * lanes.step[t];
            // SAFETY: by the contract.
            unsafe {
                *sum = src.offset(at(0)).cast::<T>().read_unaligned().added_to(*sum);
                dst.offset(at(1)).cast::<T>().write_unaligned(T::round(*sum));
            }
        }
    }
}

/// An element type and the type of its running sums.
trait Running: Copy {
    type Sum: Copy + Default;
    fn added_to(self, sum: Self::Sum) -> Self::Sum;
    fn round(sum: Self::Sum) -> Self;
}

macro_rules! running {
    ($($ty:ty => $sum:ty: $add:expr, $round:expr;)*) => {
        $(impl Running for $ty {
            type Sum = $sum;
            #[inline(always)]
            fn added_to(self, sum: $sum) -> $sum {
                ($add)(sum, self)
            }
            #[inline(always)]
            fn round(sum: $sum) -> $ty {
                ($round)(sum)
            }
        })*
    };
}
running! {
    f64 => f64: |sum, x| sum + x, |sum| sum;
    f32 => f64: |sum, x| sum + f64::from(x), |sum| sum as f32;
    f16 => f64: |sum, x: f16| sum + x.to_f64(), f16::from_f64;
    bf16 => f64: |sum, x: bf16| sum + x.to_f64(), bf16::from_f64;
    u8 => u8: u8::wrapping_add, |sum| sum;
    u16 => u16: u16::wrapping_add, |sum| sum;
    u32 => u32: u32::wrapping_add, |sum| sum;
    u64 => u64: u64::wrapping_add, |sum| sum;
    i8 => i8: i8::wrapping_add, |sum| sum;
    i16 => i16: i16::wrapping_add, |sum| sum;
    i32 => i32: i32::wrapping_add, |sum| sum;
    i64 => i64: i64::wrapping_add, |sum| sum;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Array, layouts, noise, run};
    use opforge_core::DType;

    #[test]
    fn every_axis_layout_and_dtype() -> Result<()> {
        let dims = [3, 20, 4];
        for (dtype, layout) in [DType::F32, DType::F16, DType::I16, DType::U64]
            .into_iter()
            .flat_map(|dtype| layouts(&dims).into_iter().map(move |layout| (dtype, layout)))
        {
            let input = Array::new(dtype, layout, |i| (noise(i) * 3.0).round().abs());
            let output = Meta::contiguous(dtype, &dims);
            for axis in 0..3 {
                let kernel = cumsum("cumsum", &input.meta, axis, &output)?;
                let sums = run(&*kernel, &[&input], std::slice::from_ref(&output))[0].values();
                let (values, step) = (input.values(), [80, 4, 1][axis]);
                for (i, &sum) in sums.iter().enumerate() {
                    let before = if i / step % dims[axis] == 0 { 0.0 } else { sums[i - step] };
                    assert_eq!(sum, before + values[i], "{dtype} {:?} axis {axis} at {i}", input.meta.layout);
                }
            }
        }
        Ok(())
    }
}
