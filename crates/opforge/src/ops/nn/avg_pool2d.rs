//! `avg_pool2d(x, kernel_size)`: the average of the elements under each position of a window; the operator is for one to three dimensions.

use opforge_tile::forms::{Average, Divisor, MAX_SPATIAL, Window, Windowed, Windows};

use crate::family::pool::{Pooling, one, plane_axes, with_lengths};
use crate::family::window::{PerDim, spatial_lengths};
use crate::functional as f;
use crate::ops::prelude::*;
use crate::ops::reduce::sum::mean_over;

/// The operator of average pooling over the last `spatial` dimensions, or of its gradient, which is its transpose as a linear map.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Attributes)]
pub struct AvgPool {
    /// The windows and what their sums are divided by.
    pub average: Average,
    /// The dimensions they move along.
    pub spatial: usize,
    /// The result's lengths along them, missing ones first and 1.
    pub lengths: PerDim,
    /// Whether this is the gradient: from the averages' gradients to the elements'.
    pub gradient: bool,
}

impl Operator for AvgPool {
    fn name(&self) -> &'static str {
        if self.gradient { "avg_pool_grad" } else { "avg_pool" }
    }

    fn infer(&self, inputs: &[&Meta]) -> Result<Metas> {
        arity(self.name(), inputs, 1)?;
        let shape = with_lengths(self.name(), inputs[0], self.spatial, &self.lengths)?;
        Ok(one(Meta::contiguous(inputs[0].dtype, shape)))
    }

    fn axes(&self, inputs: &[&Meta]) -> AxisMap {
        plane_axes(inputs, self.spatial, 1)
    }

    fn lower(&self, inputs: &[&Meta], outputs: &[&Meta]) -> Result<Lowering> {
        let &AvgPool { average, spatial, gradient, .. } = self;
        let is_mean = !gradient && !matches!(average.divisor, Divisor::Number(_));
        if let (true, Some(axes)) = (is_mean, whole_planes(average.windows, spatial, inputs[0], outputs[0])) {
            return mean_over(self.name(), inputs[0], &axes);
        }
        Ok(Lowering::Windowed(Windowed::Average { average, spatial, gradient }))
    }

    fn backward(&self, ctx: &Backward<'_>) -> Result<Grads> {
        let x = ctx.input_meta(0);
        let lengths = spatial_lengths(&x.dims()[x.rank() - self.spatial..]);
        let op = AvgPool { lengths, gradient: !self.gradient, ..self.clone() };
        Ok(smallvec![Some(dispatch1(&op, &[&ctx.grad(0)?])?)])
    }
}

/// The last `spatial` dimensions, where adaptive windows are one over each plane: a reduction.
pub(super) fn whole_planes(windows: Windows, spatial: usize, x: &Meta, y: &Meta) -> Option<Vec<usize>> {
    let axes = x.rank() - spatial..x.rank();
    let is_one = matches!(windows, Windows::Adaptive) && y.dims()[axes.clone()].iter().all(|&n| n == 1);
    is_one.then(|| axes.collect())
}

/// The averages under sliding or adaptive windows.
#[track_caller]
pub(crate) fn avg_pool(pooling: &Pooling, divisor: Divisor, input: &Tensor) -> Result<Tensor> {
    if input.dtype() == DType::I64 {
        return average_of_integers(pooling, divisor, input);
    }
    let lengths = pooling.lengths(input)?;
    let average = Average { windows: pooling.windows, divisor };
    dispatch1(&AvgPool { average, spatial: pooling.spatial, lengths, gradient: false }, &[input])
}

/// Averages of i64 under sliding windows, rounded towards 0: sums are of integers, which floats cannot hold.
#[track_caller]
fn average_of_integers(pooling: &Pooling, divisor: Divisor, input: &Tensor) -> Result<Tensor> {
    let (lengths, spatial) = (pooling.lengths(input)?, pooling.spatial);
    let Windows::Sliding { kernel, windows } = pooling.windows else {
        return Err(Error::UnsupportedDTypeForOp(DType::I64, "adaptive_avg_pool"));
    };
    let (mut sums, mut counts) = (input.clone(), Tensor::new(1i64, input.device())?);
    for (place, d) in (input.rank() - spatial..input.rank()).zip(MAX_SPATIAL - spatial..) {
        let (own, Window { stride, padding, .. }) = (input.dims()[place], windows[d]);
        let end = (lengths[d] - 1) * stride + kernel[d];
        sums = sums.pad_with_zeros(place, padding, end.saturating_sub(own + padding))?;
        sums = sums.unfold(place, kernel[d], stride)?.sum(sums.rank())?;
        // What counts, from the padding's beginning on.
        let counted = if divisor == Divisor::Padded { 0..own + 2 * padding } else { padding..own + padding };
        let inside = |first: usize| (first + kernel[d]).min(counted.end) - first.max(counted.start);
        let inside: Vec<i64> = (0..lengths[d]).map(|i| inside(i * stride) as i64).collect();
        counts = counts.unsqueeze(counts.rank())?.broadcast_mul(&Tensor::new(inside, input.device())?)?;
    }
    match divisor {
        Divisor::Number(n) => f::div((&sums).into(), n.into(), Some("trunc")),
        _ => f::div((&sums).into(), (&counts).into(), Some("trunc")),
    }
}

/// The divisor that Python's arguments ask for.
pub(crate) fn divisor(op: &'static str, count_include_pad: bool, divisor_override: Option<i64>) -> Result<Divisor> {
    match divisor_override {
        Some(0) => Err(Error::value(op, "divisor_override", 0, "another number")),
        Some(n) => Ok(Divisor::Number(n)),
        None => Ok(if count_include_pad { Divisor::Padded } else { Divisor::Inside }),
    }
}

/// The average of the elements under each position of a window that moves over the last two dimensions of
/// `[batch, channels, height, width]` (the batch may be missing). Each argument of windows is one number, or one for each of the two
/// dimensions; `stride` is the kernel's size unless given. Zeros of the padding count as elements, unless `count_include_pad` is false;
/// `divisor_override` replaces the number of elements. With `ceil_mode` a last window may begin in the input and end beyond it. Averages of i64 are rounded
/// towards 0.
///
/// # Errors
/// For a kernel larger than the padded input, a padding of more than half the kernel, strides below 1 and a divisor of 0.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[[[1f32, 5.0, 2.0], [3.0, 4.0, 9.0]]], &Device::Cpu)?;
/// let y = opforge::functional::avg_pool2d(&x, &[2], Some(&[1]), &[0], false, true, None)?;
/// assert_eq!(y.to_vec3::<f32>()?, [[[3.25, 5.0]]]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(stride = None, padding = &[0], ceil_mode = false, count_include_pad = true, divisor_override = None)]
#[python(nn)]
#[operator(DTypes::FLOATS, samples, AvgPool)]
pub fn avg_pool2d(
    input: &Tensor,
    kernel_size: &[i64],
    stride: Option<&[i64]>,
    padding: &[i64],
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: Option<i64>,
) -> Result<Tensor> {
    let pooling = Pooling::new(OP, 2, kernel_size, stride, [padding, &[1]], ceil_mode)?;
    avg_pool(&pooling, divisor(OP, count_include_pad, divisor_override)?, input)
}

/// Shapes of input and output; of sliding windows kernel, stride, padding and dilation.
#[derive(Debug, Clone, Copy)]
pub(super) struct PoolCase {
    pub x: &'static [usize],
    pub y: &'static [usize],
    sliding: Option<[usize; 4]>,
}

/// Cases for the samples of all pooling operators. The first two dimensions are planes.
pub(super) fn pool_cases() -> Vec<PoolCase> {
    let case = |x, y, sliding| PoolCase { x, y, sliding };
    vec![
        case(&[2, 1, 7], &[2, 1, 4], Some([3, 2, 1, 1])),
        case(&[1, 2, 4, 5], &[1, 2, 3, 4], Some([2, 1, 0, 1])),
        case(&[2, 2, 5, 4], &[2, 2, 3, 2], Some([2, 2, 0, 1])),
        case(&[1, 1, 5, 6], &[1, 1, 3, 4], Some([2, 1, 0, 2])),
        case(&[1, 2, 3, 4, 2], &[1, 2, 2, 2, 1], Some([2, 2, 0, 1])),
        case(&[2, 1, 7], &[2, 1, 3], None),
        case(&[1, 2, 5, 3], &[1, 2, 3, 4], None),
        case(&[1, 2, 6, 5], &[1, 2, 2, 2], None),
        case(&[2, 1, 3, 4], &[2, 1, 1, 1], None),
    ]
}

impl PoolCase {
    pub fn spatial(&self) -> usize {
        self.x.len() - 2
    }

    pub fn windows(&self) -> Windows {
        let Some([kernel, stride, padding, dilation]) = self.sliding else { return Windows::Adaptive };
        let missing = MAX_SPATIAL - self.spatial();
        let window = Window { stride, padding, dilation };
        Windows::Sliding {
            kernel: std::array::from_fn(|d| if d < missing { 1 } else { kernel }),
            windows: std::array::from_fn(|d| if d < missing { Window::UNIT } else { window }),
        }
    }

    pub fn lengths(&self) -> PerDim {
        spatial_lengths(&self.y[2..])
    }

    /// Elements of a plane of the input.
    pub fn plane(&self) -> usize {
        self.x[2..].iter().product()
    }

    /// The positions within dimension `d` of the window of output `i`.
    fn window(&self, d: usize, i: usize) -> Vec<usize> {
        let (n, m) = (self.x[d + 2], self.y[d + 2]);
        match self.sliding {
            Some([kernel, stride, padding, dilation]) => {
                let at = |k: usize| (i * stride + k * dilation).checked_sub(padding);
                (0..kernel).filter_map(at).filter(|&at| at < n).collect()
            }
            None => (i * n / m..((i + 1) * n).div_ceil(m)).collect(),
        }
    }

    /// `f` of each output: its plane, and the places in the plane that its window covers.
    pub fn outputs<R>(&self, mut f: impl FnMut(usize, &[usize]) -> R) -> Vec<R> {
        let mut results = Vec::new();
        each_index(self.y, |at| {
            let mut places = vec![0];
            for d in 0..self.spatial() {
                let window = self.window(d, at[d + 2]);
                let step = |p: &usize| window.iter().map(move |w| p * self.x[d + 2] + w).collect::<Vec<_>>();
                places = places.iter().flat_map(step).collect();
            }
            results.push(f(at[0] * self.x[1] + at[1], &places));
        });
        results
    }
}

fn samples() -> Vec<Sample> {
    let divisors = [Divisor::Padded, Divisor::Inside, Divisor::Number(3)];
    let sample = |(i, case): (usize, PoolCase), gradient: bool| {
        let divisor = divisors[i % 3];
        let average = Average { windows: case.windows(), divisor };
        let (from, to) = if gradient { (case.y, case.x) } else { (case.x, case.y) };
        let op = AvgPool { average, spatial: case.spatial(), lengths: spatial_lengths(&to[2..]), gradient };
        Sample::new(op, vec![Array::spread(from, -2.0..2.0)], move |x| {
            let mut out = Array::from_fn(to, |_| 0.0);
            let mut y = 0;
            case.outputs(|plane, places| {
                // No sample's window reaches beyond the padding.
                let whole = case.sliding.map(|s| s[0].pow(case.spatial() as u32));
                let count = match divisor {
                    Divisor::Padded => whole.unwrap_or(places.len()) as f64,
                    Divisor::Inside => places.len() as f64,
                    Divisor::Number(n) => n as f64,
                };
                for place in places {
                    let at = plane * case.plane() + place;
                    if gradient { out.data[at] += x[0].data[y] / count } else { out.data[y] += x[0].data[at] / count }
                }
                y += 1;
            });
            out
        })
    };
    let cases = || pool_cases().into_iter().enumerate();
    cases().map(|case| sample(case, false)).chain(cases().map(|case| sample(case, true))).collect()
}
