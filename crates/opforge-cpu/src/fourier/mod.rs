//! Fourier transforms of lines, by `rustfft` and `realfft`: pure Rust, any length in `n log n` operations. A line is worked on by one thread.
//!
//! Complex numbers are pairs of real ones here, as in all kernels that compute.

mod line;
mod plan;

use std::sync::Arc;

use opforge_core::{DType, Error, Meta, Result};
use opforge_runtime::HostKernel;
use opforge_tile::forms::{Fourier, Spectrum};

use crate::copy::{Axis, Nest, Shared, byte_steps};
use crate::loops::fallible::try_parallel_for;
use crate::loops::planned::planned;
use crate::loops::work::grain;
use crate::memory::scratch::with_scratch;
use line::Line;
use plan::{Plan, Real};

/// The kernel of a transform of all lines, which lie along the last axis but that of complex numbers' parts, in f32 or f64 on both sides. Strides are free,
/// but the output may not overlap itself.
///
/// # Errors
/// Other dtypes, and lengths that do not go together.
pub fn fourier(op: &'static str, form: Fourier, input: &Meta, output: &Meta) -> Result<Arc<dyn HostKernel>> {
    if input.dtype != output.dtype {
        return Err(Error::dtypes(op, input.dtype, output.dtype));
    }
    if output.layout.may_overlap_itself() {
        return Err(Error::value(op, "output", format!("{:?}", output.layout), "a layout without overlaps"));
    }
    match input.dtype {
        DType::F32 => prepare::<f32>(op, form, input, output),
        DType::F64 => prepare::<f64>(op, form, input, output),
        other => Err(Error::UnsupportedDTypeForOp(other, op)),
    }
}

fn prepare<T: Real>(op: &'static str, form: Fourier, input: &Meta, output: &Meta) -> Result<Arc<dyn HostKernel>> {
    let pairs = match form.spectrum {
        Spectrum::Complex { .. } => [true, true],
        Spectrum::OfReal | Spectrum::OfRealToAll => [false, true],
        Spectrum::ToReal { .. } => [true, false],
    };
    let mismatch = || Error::shapes(op, input.shape(), output.shape(), "lines of lengths that go together");
    let (from, lead) = Line::last(input, pairs[0]).ok_or_else(mismatch)?;
    let (to, output_lead) = Line::last(output, pairs[1]).ok_or_else(mismatch)?;
    let fits = match form.spectrum {
        Spectrum::Complex { .. } | Spectrum::OfRealToAll => from.len == to.len,
        Spectrum::OfReal => to.len == from.len / 2 + 1,
        Spectrum::ToReal { odd } => from.len == to.len / 2 + 1 && odd == (to.len % 2 == 1),
    };
    let n = if form.spectrum == Spectrum::OfReal { from.len } else { to.len };
    if !fits || n == 0 || input.dims()[..lead] != output.dims()[..output_lead] {
        return Err(mismatch());
    }
    let steps = byte_steps(input).zip(byte_steps(output));
    let axes = input.dims()[..lead].iter().zip(steps).map(|(&len, (src, dst))| Axis { len, step: [src, dst] });
    let lines = Nest::collapse(axes);
    planned(n, move || {
        let plan = Plan::<T>::new(form.spectrum, n);
        Ok(Arc::new(Transform { plan, lines: lines.clone(), from, to, factor: T::of(form.factor.to_f64()) }))
    })
}

struct Transform<T> {
    plan: Plan<T>,
    lines: Nest<2>,
    from: Line,
    to: Line,
    factor: T,
}

impl<T: Real> HostKernel for Transform<T> {
    unsafe fn run(&self, inputs: &[*const u8], outputs: &[*mut u8]) -> Result<()> {
        let (src, dst) = (Shared(inputs[0]), Shared(outputs[0]));
        try_parallel_for(self.lines.count(), grain(self.plan.work()), |range| {
            with_scratch(self.plan.room_bytes(), |bytes| {
                // SAFETY: working memory has as many bytes, aligned to 64 and initialised, for this call alone.
                let mut room = unsafe { self.plan.room(bytes) };
                self.lines.for_each(range, |[from, to]| {
                    // SAFETY: the offset is that of a line within the input, of whose layout the line was made.
                    unsafe { self.from.read(src.get().offset(from), self.plan.entry(&mut room)) };
                    self.plan.carry_out(&mut room);
                    // SAFETY: the offset is that of a line within the output, whose lines do not overlap and are written by one thread each.
                    unsafe { self.to.write(self.plan.result(&mut room), self.factor, dst.get().offset(to)) };
                });
            })
        })
    }

    fn cost(&self) -> u64 {
        20 + (self.lines.count() as u64).saturating_mul(self.plan.work() as u64)
    }
}
