//! `lstm(input, hx, params, ..)`: long short-term memory over a sequence; and the operator of all recurrent layers.

use opforge_tile::forms::{self, CellKind};

use crate::functional::{Layers, recurrent_gradient, run};
use crate::ops::prelude::*;

/// One layer over a sequence in one direction: the input's gates `[steps, batch, gates hidden]`, the state's weight `[gates hidden, hidden]` and
/// bias `[gates hidden]`, the first hidden state `[batch, hidden]` and, for cells that have one, cell state. Gives the states of all steps and what
/// the gradient needs. All inputs are contiguous.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Attributes)]
pub struct Recurrent {
    /// The cell.
    pub cell: CellKind,
    /// Whether the last step comes first.
    pub reverse: bool,
}

/// The gradient of [`Recurrent`], where it need not be differentiated again.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Attributes)]
struct RecurrentGrad(Recurrent);

impl Recurrent {
    fn states(&self) -> usize {
        1 + usize::from(self.cell.has_cell())
    }

    /// The lengths of steps, batch and hidden state.
    fn sizes(&self, gates: &Meta, weight: &Meta) -> Result<[usize; 3]> {
        match (gates.dims(), weight.dims()) {
            (&[steps, batch, wide], &[rows, hidden])
                if rows == wide && self.cell.gates().checked_mul(hidden) == Some(wide) =>
            {
                Ok([steps, batch, hidden])
            }
            _ => {
                let accepted = "gates [steps, batch, gates hidden] and a weight [gates hidden, hidden]";
                Err(Error::shapes("recurrent", gates.shape(), weight.shape(), accepted))
            }
        }
    }
}

/// No axis may be split; outputs have these ranks.
fn whole(inputs: &[&Meta], outputs: impl Iterator<Item = usize>) -> AxisMap {
    let none = |rank: usize| SmallVec::from_elem(None, rank);
    AxisMap {
        inputs: inputs.iter().map(|m| none(m.rank())).collect(),
        outputs: outputs.map(none).collect(),
        roles: SmallVec::new(),
    }
}

impl Operator for Recurrent {
    fn name(&self) -> &'static str {
        "recurrent"
    }

    fn infer(&self, inputs: &[&Meta]) -> Result<Metas> {
        arity("recurrent", inputs, 3 + self.states())?;
        let [steps, batch, hidden] = self.sizes(inputs[0], inputs[1])?;
        let like = |blocks: usize| Meta::contiguous(inputs[0].dtype, [steps, batch, blocks * hidden]);
        let mut outputs: Metas = smallvec![like(1); self.states()];
        outputs.push(like(self.cell.saved()));
        Ok(outputs)
    }

    fn axes(&self, inputs: &[&Meta]) -> AxisMap {
        whole(inputs, std::iter::repeat_n(3, self.states() + 1))
    }

    fn lower(&self, _: &[&Meta], _: &[&Meta]) -> Result<Lowering> {
        Ok(Lowering::Recurrent(forms::Recurrent { cell: self.cell, reverse: self.reverse, gradient: false }))
    }

    fn saves(&self) -> Saves {
        Saves { inputs: 0b11010, outputs: u32::MAX }
    }

    fn backward(&self, ctx: &Backward<'_>) -> Result<Grads> {
        let (y, first, weight) = (ctx.output(0)?, ctx.input(3)?, ctx.input(1)?);
        let saved = ctx.output(self.states())?;
        let mut inputs = vec![saved, y.clone(), first.clone(), weight.clone(), ctx.grad(0)?.contiguous()?];
        if self.cell.has_cell() {
            inputs.extend([ctx.output(1)?, ctx.input(4)?, ctx.grad(1)?.contiguous()?]);
        }
        // Gradients of what is saved come from gradients by operators.
        let of_saved = ctx.grad_opt(self.states());
        let grads = if is_grad_enabled() || of_saved.is_some() {
            recurrent_gradient(self.cell, self.reverse, &inputs, of_saved)?
        } else {
            dispatch(&RecurrentGrad(self.clone()), &inputs.iter().collect::<Vec<_>>())?
        };
        let by_state = grads[1].flatten(0, 1)?;
        let by_weight = ctx.when(1, || by_state.t()?.matmul(&self.before(&y, &first)?.flatten(0, 1)?))?;
        let by_bias = ctx.when(2, || by_state.sum(0))?;
        let mut all: Grads = smallvec![Some(grads[0].clone()), by_weight, by_bias];
        all.extend(grads[2..].iter().cloned().map(Some));
        Ok(all)
    }
}

impl Recurrent {
    /// The hidden state that each step begins with.
    #[track_caller]
    fn before(&self, y: &Tensor, first: &Tensor) -> Result<Tensor> {
        let (Some(others), first) = (y.dims()[0].checked_sub(1), first.unsqueeze(0)?) else { return Ok(y.clone()) };
        let others = y.narrow(0, self.reverse.into(), others)?;
        if self.reverse { Tensor::cat(&[&others, &first], 0) } else { Tensor::cat(&[&first, &others], 0) }
    }
}

impl Operator for RecurrentGrad {
    fn name(&self) -> &'static str {
        "recurrent_grad"
    }

    fn infer(&self, inputs: &[&Meta]) -> Result<Metas> {
        let count = 5 + 3 * (self.0.states() - 1);
        arity_within("recurrent_grad", inputs, count..=count, (2, 3))?;
        arity_within("recurrent_grad", &inputs[3..], 1..=count, (1, 1))?;
        let (y, first, weight) = (inputs[1], inputs[2], inputs[3]);
        let gates = Meta::contiguous(y.dtype, [y.dims()[0], y.dims()[1], weight.dims()[0]]);
        let state = Meta::contiguous(y.dtype, first.shape());
        let mut outputs: Metas = smallvec![gates.clone(), gates];
        outputs.extend(std::iter::repeat_n(state, self.0.states()));
        Ok(outputs)
    }

    fn axes(&self, inputs: &[&Meta]) -> AxisMap {
        whole(inputs, [3, 3].into_iter().chain(std::iter::repeat_n(inputs[2].rank(), self.0.states())))
    }

    fn lower(&self, _: &[&Meta], _: &[&Meta]) -> Result<Lowering> {
        Ok(Lowering::Recurrent(forms::Recurrent { cell: self.0.cell, reverse: self.0.reverse, gradient: true }))
    }
}

/// Long short-term memory over a sequence, `[steps, batch, width]` (or `[batch, steps, width]` with `batch_first`): the outputs, and the last
/// hidden and cell states. `hx` holds the first ones, `[layers directions, batch, hidden]`. `params` holds, for each layer and direction, the
/// weights of input and state and, with `has_biases`, their biases, gates in the order input, forget, cell, output. Between layers `dropout`
/// applies while training.
///
/// # Errors
/// For shapes that do not go together, and dtypes other than floats.
///
/// ```
/// # use opforge::{DType, Device, Tensor, functional as f};
/// let zeros = |dims: &[usize]| Tensor::zeros(dims, DType::F32, &Device::Cpu);
/// let (x, state) = (zeros(&[5, 2, 3])?, zeros(&[1, 2, 4])?);
/// let params = [zeros(&[16, 3])?, zeros(&[16, 4])?];
/// let (y, h, c) = f::lstm(&x, &[state.clone(), state], &params, false, 1, 0.0, false, false, false)?;
/// assert_eq!((y.dims(), h.dims(), c.dims()), (&[5, 2, 4][..], &[1, 2, 4][..], &[1, 2, 4][..]));
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
#[python(torch)]
#[operator(DTypes::FLOATS, samples, Recurrent, RecurrentGrad)]
pub fn lstm(
    input: &Tensor,
    hx: &[Tensor],
    params: &[Tensor],
    has_biases: bool,
    num_layers: i64,
    dropout: f64,
    train: bool,
    bidirectional: bool,
    batch_first: bool,
) -> Result<(Tensor, Tensor, Tensor)> {
    let layers =
        Layers { op: OP, cell: CellKind::Lstm, has_biases, num_layers, dropout, train, bidirectional, batch_first };
    let [h, c] = hx else {
        return Err(Error::value(OP, "hx", hx.len(), "two tensors"));
    };
    let (y, mut last) = run(&layers, input, &[h, c], params)?;
    let c = last.pop().unwrap_or_else(|| y.clone());
    let h = last.pop().unwrap_or_else(|| y.clone());
    Ok((y, h, c))
}

fn samples() -> Vec<Sample> {
    let inputs = vec![
        Array::spread(&[3, 2, 2], -1.0..1.0),
        Array::spread(&[1, 2, 3], -1.0..1.0),
        Array::spread(&[1, 2, 3], -0.5..1.0),
        Array::spread(&[12, 2], -1.0..1.0),
        Array::spread(&[12, 3], -0.9..1.0),
        Array::spread(&[12], -0.5..0.5),
        Array::spread(&[12], -0.4..0.5),
    ];
    let call = |x: &[&Tensor]| {
        let own = |from: usize, to: usize| x[from..to].iter().map(|&t| t.clone()).collect::<Vec<_>>();
        Ok(lstm(x[0], &own(1, 3), &own(3, 7), true, 1, 0.0, false, false, false)?.0)
    };
    vec![Sample::composed("lstm", call, inputs, reference)]
}

/// Step by step, unit by unit.
fn reference(x: &[Array]) -> Array {
    let sigmoid = |x: f64| 1.0 / (1.0 + (-x).exp());
    let (mut h, mut c) = (x[1].data.clone(), x[2].data.clone());
    let mut out = Vec::new();
    for t in 0..3 {
        let before = h.clone();
        for (b, j) in (0..2).flat_map(|b| (0..3).map(move |j| (b, j))) {
            let gate = |g: usize| {
                let row = g * 3 + j;
                let from_x: f64 = (0..2).map(|k| x[3].at(&[row, k]) * x[0].at(&[t, b, k])).sum();
                let from_h: f64 = (0..3).map(|k| x[4].at(&[row, k]) * before[b * 3 + k]).sum();
                from_x + from_h + x[5].at(&[row]) + x[6].at(&[row])
            };
            let unit = b * 3 + j;
            c[unit] = sigmoid(gate(1)) * c[unit] + sigmoid(gate(0)) * gate(2).tanh();
            h[unit] = sigmoid(gate(3)) * c[unit].tanh();
        }
        out.extend_from_slice(&h);
    }
    Array::new(&[3, 2, 3], out)
}
