//! `grid_sample(x, grid)`: images at the places of a grid.

use opforge_tile::forms::{Between, MAX_SPATIAL, Outside, Sampled, Sampling, Windowed};

use crate::autograd::{self, BackwardOptions};
use crate::family::pool::one;
use crate::family::window::{PerDim, spatial_lengths};
use crate::functional::nn::grid::sampled;
use crate::ops::prelude::*;

/// The operator of [`grid_sample`], or of one of its gradients, which are only called where nothing is recorded.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Attributes)]
pub struct GridSample {
    /// How images are sampled.
    pub sampling: Sampling,
    /// What is computed.
    pub part: Sampled,
    /// The image's lengths where its gradient is computed, missing ones first; else 1.
    pub lengths: PerDim,
}

/// Longer images are sampled by other operators: the kernel counts places in floats, and elements in 32 bits.
const MOST: usize = 1 << 22;

impl GridSample {
    fn of(sampling: Sampling, part: Sampled) -> Self {
        GridSample { sampling, part, lengths: [1; MAX_SPATIAL] }
    }
}

impl Operator for GridSample {
    fn name(&self) -> &'static str {
        match self.part {
            Sampled::Output => "grid_sample",
            Sampled::Image => "grid_sample_image_grad",
            Sampled::Grid => "grid_sample_grid_grad",
        }
    }

    fn infer(&self, inputs: &[&Meta]) -> Result<Metas> {
        let op = self.name();
        arity(op, inputs, if self.part == Sampled::Grid { 3 } else { 2 })?;
        let (first, grid) = (inputs[0], inputs[inputs.len() - 1]);
        let rank = first.rank();
        for input in inputs {
            ensure(input.dtype == first.dtype, || Error::dtypes(op, first.dtype, input.dtype))?;
        }
        ensure(first.dtype.is_float(), || Error::dtype(op, "input", first.dtype, "a floating-point dtype"))?;
        let fits = matches!(rank, 4 | 5)
            && inputs.iter().all(|input| input.rank() == rank && input.dims()[0] == first.dims()[0])
            && grid.dims()[rank - 1] == rank - 2
            && (self.part == Sampled::Output || first.dims()[2..] == grid.dims()[1..rank - 1])
            && (self.part != Sampled::Grid || first.dims()[1] == inputs[1].dims()[1]);
        ensure(fits, || Error::shapes(op, first.shape(), grid.shape(), ACCEPTED))?;
        let shape: Shape = match self.part {
            Sampled::Output => first.dims()[..2].iter().chain(&grid.dims()[1..rank - 1]).copied().collect(),
            Sampled::Image => {
                first.dims()[..2].iter().chain(&self.lengths[MAX_SPATIAL + 2 - rank..]).copied().collect()
            }
            Sampled::Grid => grid.shape().clone(),
        };
        shape.check(op, first.dtype.size_in_bytes())?;
        Ok(one(Meta::contiguous(first.dtype, shape)))
    }

    fn axes(&self, inputs: &[&Meta]) -> AxisMap {
        let (places, whole) = if inputs[0].rank() == 4 { ("pq", "..") } else { ("pqr", "...") };
        let (image, samples, grid) = (format!("nc{whole}"), format!("nc{places}"), format!("n{places}."));
        match self.part {
            Sampled::Output => AxisMap::letters(&format!("{image},{grid}->{samples}"), &[]),
            Sampled::Image => {
                let sums: Vec<_> = places.chars().map(|place| (place, Role::Sum)).collect();
                AxisMap::letters(&format!("{samples},{grid}->{image}"), &sums)
            }
            Sampled::Grid => AxisMap::letters(&format!("{samples},{image},{grid}->{grid}"), &[('c', Role::Sum)]),
        }
    }

    fn lower(&self, _: &[&Meta], _: &[&Meta]) -> Result<Lowering> {
        Ok(Lowering::Windowed(Windowed::Sample { sampling: self.sampling, part: self.part }))
    }

    fn differentiable(&self) -> bool {
        self.part == Sampled::Output
    }

    fn saves(&self) -> Saves {
        Saves::INPUTS
    }

    fn saves_for(&self, i: usize) -> Saves {
        if i == 0 { Saves::inputs([1]) } else { Saves::INPUTS }
    }

    fn backward(&self, ctx: &Backward<'_>) -> Result<Grads> {
        let (grad, grid) = (ctx.grad(0)?, ctx.input(1)?);
        if is_grad_enabled() {
            return self.composed_gradients(ctx, &grad, &grid);
        }
        let x = ctx.input_meta(0);
        let image = ctx.when(0, || {
            let lengths = spatial_lengths(&x.dims()[2..]);
            dispatch1(&GridSample { lengths, ..Self::of(self.sampling, Sampled::Image) }, &[&grad, &grid])
        })?;
        let places = ctx.when(1, || match self.sampling.between {
            Between::Nearest => grid.zeros_like(),
            _ => dispatch1(&Self::of(self.sampling, Sampled::Grid), &[&grad, &ctx.input(0)?, &grid]),
        })?;
        Ok(smallvec![image, places])
    }
}

impl GridSample {
    /// The gradients with a history: those of the same, composed of other operators.
    fn composed_gradients(&self, ctx: &Backward<'_>, grad: &Tensor, grid: &Tensor) -> Result<Grads> {
        // Without the grid's gradient images are not kept: their own is the same for all, as samples are linear in them.
        let x = if ctx.needs(1) { ctx.input(0)? } else { zeros_with_gradient(ctx)? };
        let samples = sampled(&x, grid, self.sampling)?;
        let inputs = [&x, grid];
        let wanted: Vec<&Tensor> = (0..2).filter(|&i| ctx.needs(i)).map(|i| inputs[i]).collect();
        let options = BackwardOptions { create_graph: true, ..BackwardOptions::default() };
        let mut found = autograd::grad(&[(samples, Some(grad.clone()))], &wanted, options)?.into_iter();
        Ok((0..2).map(|i| if ctx.needs(i) { found.next().flatten() } else { None }).collect())
    }
}

fn zeros_with_gradient(ctx: &Backward<'_>) -> Result<Tensor> {
    let meta = ctx.input_meta(0);
    let zeros = Tensor::zeros(meta.shape(), meta.dtype, ctx.device())?;
    zeros.set_requires_grad(true)?;
    Ok(zeros)
}

const ACCEPTED: &str =
    "[n, channels, height, width] and [n, .., 2], or [n, channels, depth, height, width] and [n, .., 3]";

/// `input`, `[n, channels, height, width]` or `[n, channels, depth, height, width]`, at the places of `grid`, `[n, .., 2]` or `[n, .., 3]`: x, y (and
/// z) from -1 to 1, which are the centres of the corners with `align_corners`, else the outer edges. `mode` is `"bilinear"`, `"nearest"`
/// or, in two dimensions, `"bicubic"`; beyond the edges lie zeros, with `padding_mode` `"border"` what is at the border, with
/// `"reflection"` the mirror's image.
///
/// # Errors
/// For shapes and dtypes that do not go together, images without elements, and other modes.
///
/// ```
/// # use opforge::{Device, Tensor, functional as f};
/// let x = Tensor::new(&[[[[1f32, 2.0], [3.0, 4.0]]]], &Device::Cpu)?;
/// let grid = Tensor::new(&[[[[0f32, 0.0], [1.0, -1.0]]]], &Device::Cpu)?;
/// let y = f::grid_sample(&x, &grid, "bilinear", "zeros", Some(true))?;
/// assert_eq!(y.flatten_all()?.to_vec1::<f32>()?, [2.5, 2.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(mode = "bilinear", padding_mode = "zeros", align_corners = None)]
#[python(nn)]
#[operator(DTypes::FLOATS, samples, GridSample)]
pub fn grid_sample(
    input: &Tensor,
    grid: &Tensor,
    mode: &str,
    padding_mode: &str,
    align_corners: Option<bool>,
) -> Result<Tensor> {
    check(input, grid)?;
    let between = between(mode, input.rank() - 2)?;
    let sampling = Sampling { between, outside: outside(padding_mode)?, corners: align_corners.unwrap_or(false) };
    let lengths = &input.dims()[2..];
    let has_kernel = input.device().is_cpu()
        && lengths.iter().all(|&len| len <= MOST)
        && lengths.iter().product::<usize>() <= i32::MAX as usize;
    match has_kernel {
        true => dispatch1(&GridSample::of(sampling, Sampled::Output), &[input, grid]),
        false => sampled(input, grid, sampling),
    }
}

fn check(input: &Tensor, grid: &Tensor) -> Result<()> {
    let (x, g) = (input.dims(), grid.dims());
    let fits = matches!(x.len(), 4 | 5) && g.len() == x.len() && g[0] == x[0] && g[x.len() - 1] == x.len() - 2;
    ensure(fits && !x[2..].contains(&0), || Error::shapes("grid_sample", input.shape(), grid.shape(), ACCEPTED))?;
    ensure(input.dtype() == grid.dtype() && input.dtype().is_float(), || {
        Error::dtypes("grid_sample", input.dtype(), grid.dtype())
    })
}

fn between(mode: &str, spatial: usize) -> Result<Between> {
    match (mode, spatial) {
        ("nearest", _) => Ok(Between::Nearest),
        ("bilinear", _) => Ok(Between::Linear),
        ("bicubic", 2) => Ok(Between::Cubic),
        (other, n) => {
            let accepted =
                if n == 2 { "\"bilinear\", \"nearest\" or \"bicubic\"" } else { "\"bilinear\" or \"nearest\"" };
            Err(Error::value("grid_sample", "mode", other, accepted))
        }
    }
}

fn outside(padding_mode: &str) -> Result<Outside> {
    match padding_mode {
        "zeros" => Ok(Outside::Zeros),
        "border" => Ok(Outside::Border),
        "reflection" => Ok(Outside::Reflection),
        other => Err(Error::value("grid_sample", "padding_mode", other, "\"zeros\", \"border\" or \"reflection\"")),
    }
}

/// How much of an element at a distance is in a sample (Keys, 1981, with -0.75).
fn share(distance: f64) -> f64 {
    match distance.abs() {
        x if x < 1.0 => (1.25 * x - 2.25) * x * x + 1.0,
        x if x < 2.0 => ((-0.75 * x + 3.75) * x - 6.0) * x + 3.0,
        x => x * 0.0,
    }
}

/// A place brought inside of `n` elements, unless zeros lie outside.
fn inside(sampling: Sampling, n: usize, mut at: f64) -> f64 {
    let end = n as f64 - 1.0;
    if sampling.outside == Outside::Zeros {
        return at;
    }
    if sampling.outside == Outside::Reflection {
        let (low, high) = if sampling.corners { (0.0, end) } else { (-0.5, end + 0.5) };
        at = if at.is_finite() && low < high { at } else { 0.0 };
        while at < low || at > high {
            at = if at < low { 2.0 * low - at } else { 2.0 * high - at };
        }
    }
    if at > 0.0 { at.min(end) } else { 0.0 }
}

/// The elements of `n` that the number `x` of a grid is made of, and how much of each; none lies outside.
fn taps(sampling: Sampling, n: usize, x: f64) -> Vec<(Option<usize>, f64)> {
    let len = n as f64;
    let at = if sampling.corners { (x + 1.0) / 2.0 * (len - 1.0) } else { ((x + 1.0) * len - 1.0) / 2.0 };
    let inside = |at: f64| inside(sampling, n, at);
    let element = |k: f64| (k >= 0.0 && k < len).then_some(k as usize);
    match sampling.between {
        Between::Nearest => vec![(element(inside(at).round_ties_even()), 1.0)],
        Between::Linear => {
            let (at, low) = (inside(at), inside(at).floor());
            vec![(element(low), 1.0 - (at - low)), (element(low + 1.0), at - low)]
        }
        Between::Cubic => {
            let near = [-1.0, 0.0, 1.0, 2.0].map(|k| at.floor() + k);
            near.map(|k| (element(inside(k)), share(at - k))).into()
        }
    }
}

fn samples() -> Vec<Sample> {
    let cases = [
        (Between::Linear, Outside::Zeros, false),
        (Between::Linear, Outside::Border, true),
        (Between::Linear, Outside::Reflection, false),
        (Between::Nearest, Outside::Zeros, true),
        (Between::Cubic, Outside::Zeros, false),
        (Between::Cubic, Outside::Reflection, true),
    ];
    let shapes: [[&[usize]; 2]; 2] = [[&[2, 2, 3, 4], &[2, 2, 3, 2]], [&[1, 2, 3, 2, 3], &[1, 1, 2, 2, 3]]];
    let fits = |between: Between, x: &[usize]| between != Between::Cubic || x.len() == 4;
    let mut all = Vec::new();
    for ((between, outside, corners), [x, grid]) in cases.into_iter().flat_map(|case| shapes.map(|s| (case, s))) {
        if fits(between, x) {
            all.push(sample(Sampling { between, outside, corners }, x, grid));
        }
    }
    all
}

fn sample(sampling: Sampling, x: &'static [usize], grid: &'static [usize]) -> Sample {
    // Not where the samples have no derivative.
    let inputs = vec![Array::spread(x, -1.0..1.0), Array::spread(grid, -1.27..1.31)];
    Sample::new(GridSample::of(sampling, Sampled::Output), inputs, move |inputs| {
        let rank = x.len();
        Array::from_fn(&[&x[..2], &grid[1..rank - 1]].concat(), |y| {
            let number = |d: usize| inputs[1].at(&[&y[..1], &y[2..], &[rank - 3 - d]].concat());
            let along: Vec<_> = (0..rank - 2).map(|d| taps(sampling, x[2 + d], number(d))).collect();
            let counts: Vec<usize> = along.iter().map(Vec::len).collect();
            let mut sum = 0.0;
            each_index(&counts, |which| {
                let taps = along.iter().zip(which).map(|(taps, &t)| taps[t]);
                let place = taps.clone().map(|(element, _)| element).collect::<Option<Vec<usize>>>();
                let weight: f64 = taps.map(|(_, share)| share).product();
                sum += weight * place.map_or(0.0, |place| inputs[0].at(&[&y[..2], &place[..]].concat()));
            });
            sum
        })
    })
}
