//! `window(x, starts, lengths)`: a box of a tensor.

use crate::ops::prelude::*;

/// The view of [`window`].
#[derive(Debug, Clone, PartialEq, Eq, Hash, Attributes)]
pub struct Window {
    /// The first element along each dimension.
    pub starts: SmallVec<[usize; 6]>,
    /// The number of elements along each dimension.
    pub lengths: SmallVec<[usize; 6]>,
}

impl View for Window {
    const NAME: &'static str = "window";

    fn layout(&self, input: &Layout) -> Result<Layout> {
        if self.starts.len() != input.rank() || self.lengths.len() != input.rank() {
            let given = format!("{} and {}", self.starts.len(), self.lengths.len());
            return Err(Error::value("window", "starts and lengths", given, format!("{} numbers each", input.rank())));
        }
        let places = self.starts.iter().zip(&self.lengths).enumerate();
        places.into_iter().try_fold(input.clone(), |layout, (d, (&start, &len))| layout.narrow(d, start, len))
    }

    fn axes(&self, input: &Meta) -> AxisMap {
        // The lengths are of the whole.
        same_axes(input, &(0..input.rank()).collect::<Vec<_>>())
    }
}

/// The elements from `starts[d]` on, `lengths[d]` of them, along each dimension `d`: a view.
///
/// # Errors
/// Unless there is a start and a length for each dimension, within it.
#[function]
#[python(hidden)]
#[view]
#[operator(DTypes::ALL, samples, Window)]
pub fn window(input: &Tensor, starts: &[i64], lengths: &[i64]) -> Result<Tensor> {
    let natural = |n: &i64| usize::try_from(*n).map_err(|_| Error::value(OP, "starts or lengths", n, "0 or more"));
    let natural = |all: &[i64]| all.iter().map(natural).collect::<Result<SmallVec<[usize; 6]>>>();
    view(Window { starts: natural(starts)?, lengths: natural(lengths)? }, input)
}

fn samples() -> Vec<Sample> {
    let window = || Window { starts: smallvec![1, 0, 2], lengths: smallvec![2, 2, 1] };
    let read = Sample::new(ViewOp(window()), vec![Array::spread(&[4, 2, 3], -2.0..2.0)], |x| {
        Array::from_fn(&[2, 2, 1], |i| x[0].at(&[1 + i[0], i[1], 2]))
    });
    let inputs = vec![Array::spread(&[4, 2, 3], -2.0..2.0), Array::spread(&[2, 2, 1], 3.0..5.0)];
    let written = Sample::new(OverlayOp(window()), inputs, |x| {
        let mut out = x[0].clone();
        each_index(&[2, 2, 1], |i| out.data[((1 + i[0]) * 2 + i[1]) * 3 + 2] = x[1].at(i));
        out
    });
    vec![read, written]
}
