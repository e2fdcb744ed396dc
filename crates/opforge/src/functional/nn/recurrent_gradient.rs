//! The gradients of a recurrent layer by operators, which can be differentiated again. What they read of a step is an output of its forward pass, so
//! that their own gradients go there.

use opforge_tile::forms::CellKind;

use crate::operator::Tensors;
use crate::ops::prelude::*;

/// What a step's gradient reads: the blocks that were saved and their gradients, the state before it, and its gates' weight.
struct Step<'a> {
    cell: CellKind,
    saved: &'a [Tensor],
    of_saved: Option<&'a [Tensor]>,
    before: &'a [Tensor],
    now: &'a [Tensor],
}

/// The gradients of the input's gates, of the state's, and of the state before but for what comes through the gates.
struct Found {
    input: Tensor,
    state: Tensor,
    direct: Vec<Tensor>,
}

/// Inputs and outputs as those of the kernel: what was saved, the hidden states, the first one, the weight, the hidden states' gradients, and the
/// same of cell states; the gates' gradients, the input's and the state's, and those of the first states. `of_saved` is a gradient of what was saved.
#[track_caller]
pub(crate) fn recurrent_gradient(
    cell: CellKind,
    reverse: bool,
    inputs: &[Tensor],
    of_saved: Option<&Tensor>,
) -> Result<Tensors> {
    let [saved, y, first, weight, grad, rest @ ..] = inputs else {
        return Err(Error::value("recurrent", "inputs", inputs.len(), "5 or 8 tensors"));
    };
    let (states, firsts, grads): (Vec<_>, Vec<_>, Vec<_>) = match rest {
        [c, first_c, grad_c] => (vec![y, c], vec![first, first_c], vec![grad, grad_c]),
        _ => (vec![y], vec![first], vec![grad]),
    };
    let (steps, hidden) = (y.dims()[0], y.dims()[2]);
    let blocks = |t: &Tensor, time: usize| {
        let t = t.get(time)?;
        (0..cell.saved()).map(|g| t.narrow(1, g * hidden, hidden)).collect::<Result<Vec<_>>>()
    };
    let at = |all: &[&Tensor], time: usize| all.iter().map(|t| t.get(time)).collect::<Result<Vec<_>>>();
    let mut after = firsts.iter().map(|t| t.zeros_like()).collect::<Result<Vec<_>>>()?;
    let (mut of_input, mut of_state) = (vec![None; steps], vec![None; steps]);
    for step in (0..steps).rev() {
        let time = if reverse { steps - 1 - step } else { step };
        let before = match step {
            0 => firsts.iter().map(|&t| t.clone()).collect(),
            _ => at(&states, if reverse { time + 1 } else { time - 1 })?,
        };
        let of_saved = of_saved.map(|t| blocks(t, time)).transpose()?;
        let (saved, now) = (blocks(saved, time)?, at(&states, time)?);
        let of_step = Step { cell, saved: &saved, of_saved: of_saved.as_deref(), before: &before, now: &now };
        let incoming = at(&grads, time)?.iter().zip(&after).map(|(a, b)| a.add(b)).collect::<Result<Vec<_>>>()?;
        let Found { input, state, direct } = of_step.gradient(&incoming)?;
        after = direct;
        after[0] = after[0].add(&state.matmul(weight)?)?;
        (of_input[time], of_state[time]) = (Some(input), Some(state));
    }
    let stacked = |all: Vec<Option<Tensor>>| match all.into_iter().flatten().collect::<Vec<_>>() {
        none if none.is_empty() => Tensor::zeros((0, y.dims()[1], weight.dims()[0]), y.dtype(), y.device()),
        all => Tensor::stack(&all, 0),
    };
    Ok([stacked(of_input)?, stacked(of_state)?].into_iter().chain(after).collect())
}

/// `1 - x`.
#[track_caller]
fn rest(x: &Tensor) -> Result<Tensor> {
    x.affine(-1.0, 1.0)
}

/// What becomes of a gradient where `y` is a sigmoid.
#[track_caller]
fn through_sigmoid(grad: &Tensor, y: &Tensor) -> Result<Tensor> {
    grad.mul(&y.mul(&rest(y)?)?)
}

/// What becomes of a gradient where `y` is a hyperbolic tangent.
#[track_caller]
fn through_tanh(grad: &Tensor, y: &Tensor) -> Result<Tensor> {
    grad.mul(&rest(&y.sqr()?)?)
}

impl Step<'_> {
    /// The gradients of the step's gates from those of its states.
    #[track_caller]
    fn gradient(&self, grad: &[Tensor]) -> Result<Found> {
        match self.cell {
            CellKind::Lstm => self.lstm(grad),
            CellKind::Gru => self.gru(grad),
            CellKind::Tanh | CellKind::Relu => self.plain(grad),
        }
    }

    /// A gradient of block `g` of what was saved, and the one that comes from outside.
    #[track_caller]
    fn with_saved(&self, g: usize, grad: Tensor) -> Result<Tensor> {
        self.of_saved.map_or(Ok(grad.clone()), |all| grad.add(&all[g]))
    }

    fn lstm(&self, grad: &[Tensor]) -> Result<Found> {
        let ([i, f, g, o], [dh, dc], [_, before], [_, now]) = (self.saved, grad, self.before, self.now) else {
            return Err(Error::value("recurrent", "saved", self.saved.len(), "4 blocks and 2 states"));
        };
        let tanh = now.tanh()?;
        let dc = dc.add(&through_tanh(&dh.mul(o)?, &tanh)?)?;
        let gates = [
            through_sigmoid(&self.with_saved(0, dc.mul(g)?)?, i)?,
            through_sigmoid(&self.with_saved(1, dc.mul(before)?)?, f)?,
            through_tanh(&self.with_saved(2, dc.mul(i)?)?, g)?,
            through_sigmoid(&self.with_saved(3, dh.mul(&tanh)?)?, o)?,
        ];
        let gates = Tensor::cat(&gates, 1)?;
        Ok(Found { input: gates.clone(), state: gates, direct: vec![dh.zeros_like()?, dc.mul(f)?] })
    }

    fn gru(&self, grad: &[Tensor]) -> Result<Found> {
        let ([r, z, n, of_state], [dh], [before]) = (self.saved, grad, self.before) else {
            return Err(Error::value("recurrent", "saved", self.saved.len(), "4 blocks and 1 state"));
        };
        let dn = through_tanh(&self.with_saved(2, dh.mul(&rest(z)?)?)?, n)?;
        let dr = through_sigmoid(&self.with_saved(0, dn.mul(of_state)?)?, r)?;
        let dz = through_sigmoid(&self.with_saved(1, dh.mul(&before.sub(n)?)?)?, z)?;
        let through_reset = self.with_saved(3, dn.mul(r)?)?;
        Ok(Found {
            input: Tensor::cat(&[&dr, &dz, &dn], 1)?,
            state: Tensor::cat(&[&dr, &dz, &through_reset], 1)?,
            direct: vec![dh.mul(z)?],
        })
    }

    fn plain(&self, grad: &[Tensor]) -> Result<Found> {
        let ([y], [dh]) = (self.saved, grad) else {
            return Err(Error::value("recurrent", "saved", self.saved.len(), "1 block and 1 state"));
        };
        let dh = self.with_saved(0, dh.clone())?;
        let gates = match self.cell {
            CellKind::Relu => y.gt(0.0)?.where_cond(&dh, &dh.zeros_like()?)?,
            _ => through_tanh(&dh, y)?,
        };
        Ok(Found { input: gates.clone(), state: gates, direct: vec![dh.zeros_like()?] })
    }
}
