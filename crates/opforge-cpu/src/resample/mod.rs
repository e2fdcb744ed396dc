//! Images of another size: new elements along each of the last dimensions are weighted sums of old ones, and the transpose of that map, its
//! gradient.

mod columns;
pub(crate) mod filter;
mod lines;
mod nearest;
mod taps;

use std::sync::Arc;

use opforge_core::{DType, Error, Meta, Result, bf16, f16};
use opforge_runtime::HostKernel;

use crate::conv::MAX_SPATIAL;
use crate::loops::planned::planned;
use crate::loops::staged::with_contiguous;
use filter::taps;
pub use opforge_tile::forms::{Filter, Stretch, Stretches};
use taps::Taps;

/// The kernel for x resampled along its last `spatial` dimensions.
///
/// Input: x, of any strides. Output: y, contiguous, like x but for those dimensions. `f16` and `bf16` are summed in `f32` and rounded once. Where
/// each new element is one old one, they may be of any dtype.
///
/// # Errors
/// Other dtypes than floats for other filters, shapes that do not go together, dimensions without elements.
pub fn resample(op: &'static str, how: &Stretches, spatial: usize, x: &Meta, y: &Meta) -> Result<Arc<dyn HostKernel>> {
    let lengths = Lengths::new(op, spatial, x, y)?;
    check_output(op, x, y)?;
    let (how, dtype) = (*how, x.dtype);
    let make = move || {
        let planes = Planes::new(&lengths, &how)?;
        if planes.taps.iter().all(Taps::copies) { nearest::prepare(planes, dtype) } else { planes.summed(op, dtype) }
    };
    with_contiguous(&[x], |_| planned(lengths.sum(), make))
}

/// The kernel for the gradient of [`resample`]: `dx`, contiguous, from `dy` of any strides.
///
/// # Errors
/// As [`resample`], and for other dtypes than floats.
pub fn resample_gradient(
    op: &'static str,
    how: &Stretches,
    spatial: usize,
    dy: &Meta,
    dx: &Meta,
) -> Result<Arc<dyn HostKernel>> {
    let lengths = Lengths::new(op, spatial, dx, dy)?;
    check_output(op, dy, dx)?;
    let (how, dtype) = (*how, dy.dtype);
    let make = move || Planes::new(&lengths, &how)?.transposed()?.summed(op, dtype);
    with_contiguous(&[dy], |_| planned(lengths.sum(), make))
}

fn check_output(op: &'static str, input: &Meta, output: &Meta) -> Result<()> {
    if output.dtype != input.dtype {
        return Err(Error::dtypes(op, input.dtype, output.dtype));
    }
    if !output.layout.is_contiguous() {
        return Err(Error::shape(op, "output", format!("{:?}", output.layout), "contiguous"));
    }
    Ok(())
}

/// How many planes there are, and their lengths on both sides.
#[derive(Clone, Copy)]
struct Lengths {
    count: usize,
    from: [usize; MAX_SPATIAL],
    to: [usize; MAX_SPATIAL],
}

/// Planes of up to three dimensions, and what along each of them the elements of one side are made of.
struct Planes {
    count: usize,
    from: [usize; MAX_SPATIAL],
    taps: [Taps; MAX_SPATIAL],
}

impl Lengths {
    /// From the planes of `x` to those of `y`.
    fn new(op: &'static str, spatial: usize, x: &Meta, y: &Meta) -> Result<Self> {
        if x.rank() != y.rank() || x.rank() < spatial || !(1..=MAX_SPATIAL).contains(&spatial) {
            let accepted = format!("tensors that differ in their last {spatial} dimensions, 1 to 3, only");
            return Err(Error::shapes(op, x.shape(), y.shape(), accepted));
        }
        let (lead, from) = x.dims().split_at(x.rank() - spatial);
        let (lead_y, to) = y.dims().split_at(y.rank() - spatial);
        let fits = |n: &usize| *n <= i32::MAX as usize;
        if lead != lead_y || from.contains(&0) || !from.iter().chain(to).all(fits) {
            let accepted = "tensors that differ in their last dimensions only, of 1 to 2^31 - 1 elements";
            return Err(Error::shapes(op, x.shape(), y.shape(), accepted));
        }
        let length = |lengths: &[usize], d: usize| (d + spatial).checked_sub(MAX_SPATIAL).map_or(1, |d| lengths[d]);
        let [from, to] = [from, to].map(|lengths| std::array::from_fn(|d| length(lengths, d)));
        Ok(Lengths { count: lead.iter().product(), from, to })
    }

    /// Elements of all lines, to which their taps are proportional.
    fn sum(&self) -> usize {
        self.from.iter().chain(&self.to).sum()
    }
}

impl Planes {
    fn new(lengths: &Lengths, how: &Stretches) -> Result<Self> {
        let taps = |d: usize| taps(&how[d], lengths.from[d], lengths.to[d]);
        Ok(Planes { count: lengths.count, from: lengths.from, taps: [taps(0)?, taps(1)?, taps(2)?] })
    }

    /// The other direction.
    fn transposed(&self) -> Result<Self> {
        let [a, b, c] = &self.taps;
        let taps = [a.transposed(self.from[0])?, b.transposed(self.from[1])?, c.transposed(self.from[2])?];
        Ok(Planes { count: self.count, from: [a.len(), b.len(), c.len()], taps })
    }

    fn summed(self, op: &'static str, dtype: DType) -> Result<Arc<dyn HostKernel>> {
        match dtype {
            DType::F16 => lines::prepare::<f16>(self),
            DType::BF16 => lines::prepare::<bf16>(self),
            DType::F32 => lines::prepare::<f32>(self),
            DType::F64 => lines::prepare::<f64>(self),
            other => Err(Error::UnsupportedDTypeForOp(other, op)),
        }
    }

    /// Lines of a plane that is made.
    fn lines(&self) -> usize {
        self.taps[0].len() * self.taps[1].len()
    }
}
