//! `convolution(x, weight)`: windows of an input times a kernel, summed; over one to three spatial dimensions.
//!
//! Input, weight and output are tied to each other by a [`Geometry`]; the operator computes any one of the three from the other two. One from
//! the others' gradients is what differentiating it asks for, so its derivatives are itself.

use opforge_tile::forms::{Geometry, MAX_SPATIAL, Part, Window, Windowed};

use crate::family::window::{PerDim, batched, per_dim, spatial_lengths};
use crate::functional::nn::conv_arguments::Arguments;
use crate::ops::prelude::*;

/// The operator behind convolutions. It computes one [`Part`]; its inputs are the other two, the weight last, and a bias for each channel of
/// the result, if wanted and the result is not the weight.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Attributes)]
pub struct Convolution {
    /// How positions of input, weight and output meet.
    pub geometry: Geometry,
    /// What is computed.
    pub part: Part,
    /// Its lengths along the spatial dimensions, missing ones first and 1.
    pub lengths: PerDim,
}

impl Convolution {
    /// The parts that the two inputs are.
    fn given(&self) -> [Part; 2] {
        match self.part {
            Part::Output => [Part::Input, Part::Weight],
            Part::Input => [Part::Output, Part::Weight],
            Part::Weight => [Part::Input, Part::Output],
        }
    }

    /// The first two dimensions of what is computed; `None` if the inputs do not go together.
    fn lead(&self, a: &Meta, b: &Meta) -> Option<[usize; 2]> {
        let groups = self.geometry.groups;
        let ([a0, a1], [b0, b1]) = ([a.dims()[0], a.dims()[1]], [b.dims()[0], b.dims()[1]]);
        let divides = |n: usize| groups > 0 && n.is_multiple_of(groups);
        match self.part {
            Part::Output => (Some(a1) == b1.checked_mul(groups) && divides(b0)).then_some([a0, b0]),
            Part::Input => (a1 == b0 && divides(b0)).then_some([a0, b1.checked_mul(groups)?]),
            Part::Weight => (a0 == b0 && divides(a1) && divides(b1)).then(|| [b1, a1 / groups]),
        }
    }

    /// Computes a part from the gradient of what this operator computes, and from its other input.
    fn derived(&self, part: Part, like: &Meta, grad: &Tensor, other: &Tensor) -> Result<Tensor> {
        let lengths = spatial_lengths(&like.dims()[2..]);
        let op = Convolution { geometry: self.geometry, part, lengths };
        let inputs = if op.given()[0] == self.part { [grad, other] } else { [other, grad] };
        dispatch1(&op, &inputs)
    }
}

impl Operator for Convolution {
    fn name(&self) -> &'static str {
        match self.part {
            Part::Output => "convolution",
            Part::Input => "conv_transpose",
            Part::Weight => "convolution_weight",
        }
    }

    fn infer(&self, inputs: &[&Meta]) -> Result<Metas> {
        let op = self.name();
        if !(inputs.len() == 3 && self.part != Part::Weight) {
            arity(op, inputs, 2)?;
        }
        let (a, b) = (inputs[0], inputs[1]);
        let spatial = a.rank().checked_sub(2).filter(|s| a.rank() == b.rank() && (1..=MAX_SPATIAL).contains(s));
        let lead = spatial.and_then(|_| self.lead(a, b));
        let (Some(spatial), Some(lead)) = (spatial, lead) else {
            let accepted = "an input [n, groups c, ..], a weight [groups o, c, ..] and an output [n, groups o, ..]";
            let given = format!("{:?} and {:?}, groups {}", a.shape(), b.shape(), self.geometry.groups);
            return Err(Error::shape(op, format!("{:?}", self.given()), given, accepted));
        };
        inputs[1..].iter().try_for_each(|other| check_dtypes(op, a, other))?;
        if let Some(bias) = inputs.get(2)
            && bias.dims() != [lead[1]]
        {
            return Err(wrong_shape(op, "bias", bias.shape(), format!("[{}]", lead[1])));
        }
        let shape: Shape = lead.into_iter().chain(self.lengths[MAX_SPATIAL - spatial..].iter().copied()).collect();
        Ok(smallvec![Meta::contiguous(a.dtype, shape)])
    }

    fn axes(&self, inputs: &[&Meta]) -> AxisMap {
        let letters = |part: Part| match (part, self.geometry.groups) {
            (Part::Input, 1) => "nc",
            (Part::Weight, 1) => "oc",
            (Part::Output, 1) => "no",
            (Part::Weight, _) => "..",
            (_, _) => "n.",
        };
        let spatial = ".".repeat(inputs[0].rank() - 2);
        let mut given: Vec<String> = self.given().iter().map(|&part| letters(part).to_owned() + &spatial).collect();
        let channels = letters(self.part).chars().nth(1).map(String::from);
        given.extend(channels.filter(|_| inputs.len() == 3));
        let sum = match self.part {
            Part::Output => 'c',
            Part::Input => 'o',
            Part::Weight => 'n',
        };
        AxisMap::letters(&format!("{}->{}{spatial}", given.join(","), letters(self.part)), &[(sum, Role::SumWith)])
    }

    fn lower(&self, _: &[&Meta], _: &[&Meta]) -> Result<Lowering> {
        Ok(Lowering::Windowed(Windowed::Convolution { geometry: self.geometry, part: self.part }))
    }

    fn saves(&self) -> Saves {
        Saves::inputs([0, 1])
    }

    fn backward(&self, ctx: &Backward<'_>) -> Result<Grads> {
        let grad = ctx.grad(0)?;
        let [a, b] = self.given();
        let by_a = ctx.when(0, || self.derived(a, ctx.input_meta(0), &grad, &ctx.input(1)?))?;
        let by_b = ctx.when(1, || self.derived(b, ctx.input_meta(1), &grad, &ctx.input(0)?))?;
        let mut grads: Grads = smallvec![by_a, by_b];
        if ctx.input_count() == 3 {
            let others: Vec<usize> = (0..grad.rank()).filter(|&d| d != 1).collect();
            grads.push(ctx.when(2, || grad.sum(others))?);
        }
        Ok(grads)
    }
}

/// A convolution, or with `transposed` its transpose, over one to three spatial dimensions: see
/// [`conv2d`](crate::functional::conv2d) and [`conv_transpose2d`](crate::functional::conv_transpose2d).
///
/// # Errors
/// As those.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[[[1f32, 2.0, 3.0]]], &Device::Cpu)?;
/// let w = Tensor::new(&[[[1f32, 10.0]]], &Device::Cpu)?;
/// let y = opforge::functional::convolution(&x, &w, None, &[1], &[0], &[1], false, &[0], 1)?;
/// assert_eq!(y.flatten_all()?.to_vec1::<f32>()?, [21.0, 32.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
#[python(torch)]
#[operator(DTypes::FLOATS, samples, Convolution)]
pub fn convolution(
    input: &Tensor,
    weight: &Tensor,
    bias: Option<&Tensor>,
    stride: &[i64],
    padding: &[i64],
    dilation: &[i64],
    transposed: bool,
    output_padding: &[i64],
    groups: i64,
) -> Result<Tensor> {
    let Some(spatial) = weight.rank().checked_sub(2).filter(|s| (1..=MAX_SPATIAL).contains(s)) else {
        return Err(wrong_shape(OP, "weight", weight.shape(), "1 to 3 spatial dimensions"));
    };
    let arguments = Arguments::new(OP, spatial, [stride, padding, dilation], groups)?;
    let extra = per_dim(OP, "output_padding", output_padding, spatial, 0)?;
    batched(OP, input, spatial, |input| match transposed {
        true => arguments.transpose(input, weight, bias, extra),
        false => arguments.convolve(input, weight, bias),
    })
}

fn samples() -> Vec<Sample> {
    // Shapes of input, weight and output; stride, padding, dilation; groups; bias.
    type Case = (&'static [usize], &'static [usize], &'static [usize], [usize; 3], usize, bool);
    const CASES: &[Case] = &[
        (&[2, 3, 5], &[4, 3, 3], &[2, 4, 5], [1, 1, 1], 1, true),
        (&[2, 2, 4, 5], &[2, 2, 3, 2], &[2, 2, 2, 3], [2, 1, 1], 1, false),
        (&[1, 4, 5, 3], &[2, 2, 2, 2], &[1, 2, 3, 1], [1, 0, 2], 2, true),
        (&[1, 3, 4, 4], &[3, 1, 2, 2], &[1, 3, 3, 3], [1, 0, 1], 3, false),
        (&[1, 2, 3, 2, 2], &[2, 2, 2, 1, 2], &[1, 2, 2, 2, 1], [1, 0, 1], 1, true),
    ];
    let sample = |part: Part, case: &Case| {
        let &(x, w, y, [stride, padding, dilation], groups, bias) = case;
        let window = Window { stride, padding, dilation };
        let spatial = x.len() - 2;
        let windows = std::array::from_fn(|d| if d + spatial < MAX_SPATIAL { Window::UNIT } else { window });
        let shapes = [x, w, y];
        let result = shapes[part as usize];
        let lengths = spatial_lengths(&result[2..]);
        let op = Convolution { geometry: Geometry { windows, groups }, part, lengths };
        let given = op.given();
        let mut inputs: Vec<Array> = given.iter().map(|&p| Array::spread(shapes[p as usize], -2.0..2.0)).collect();
        if bias && part != Part::Weight {
            inputs.push(Array::spread(&result[1..2], -2.0..2.0));
        }
        Sample::new(op, inputs, move |inputs| {
            let mut out = Array::from_fn(result, |at| inputs.get(2).map_or(0.0, |bias| bias.at(&at[1..2])));
            each_product(shapes, window, groups, part, |places| {
                let value = |i: usize| places[given[i] as usize].map_or(0.0, |at| inputs[i].data[at]);
                if let Some(at) = places[part as usize] {
                    out.data[at] += value(0) * value(1);
                }
            });
            out
        })
    };
    let parts = [Part::Output, Part::Input, Part::Weight];
    CASES.iter().flat_map(|case| parts.map(|part| sample(part, case))).collect()
}

/// Calls `f` with the flat places in input, weight and output of every product that a part is a sum of; `None` is a place outside, where
/// zeros are.
fn each_product(
    shapes: [&[usize]; 3],
    window: Window,
    groups: usize,
    part: Part,
    mut f: impl FnMut([Option<usize>; 3]),
) {
    let [x, w, y] = shapes;
    let flat = |shape: &[usize], lead: [usize; 2], at: &[usize]| {
        shape.iter().zip(lead.iter().chain(at)).fold(0, |flat, (n, i)| flat * n + i)
    };
    let Window { stride, padding, dilation } = window;
    let (walked, met) = if part == Part::Input { (x, y) } else { (y, x) };
    // Where an element of the kernel meets the other tensor: nowhere between two strides.
    let meet = |at: usize, k: usize| match part {
        Part::Input => (at + padding).wrapping_sub(k * dilation) as isize,
        _ => ((at * stride + k * dilation) as isize - padding as isize) * stride as isize,
    };
    each_index(w, |of| {
        each_index(&[&x[..1], &walked[2..]].concat(), |index| {
            let (n, at) = (index[0], &index[1..]);
            let places: Vec<isize> = at.iter().zip(&of[2..]).map(|(&at, &k)| meet(at, k)).collect();
            if places.iter().any(|place| place % stride as isize != 0) {
                return;
            }
            let inside =
                |(place, &n): (&isize, &usize)| usize::try_from(place / stride as isize).ok().filter(|&i| i < n);
            let other: Option<Vec<usize>> = places.iter().zip(&met[2..]).map(inside).collect();
            let (at_x, at_y) =
                if part == Part::Input { (Some(at), other.as_deref()) } else { (other.as_deref(), Some(at)) };
            let channel = of[0] / (w[0] / groups) * w[1] + of[1];
            f([
                at_x.map(|at| flat(x, [n, channel], at)),
                Some(flat(w, [of[0], of[1]], &of[2..])),
                at_y.map(|at| flat(y, [n, of[0]], at)),
            ]);
        });
    });
}
