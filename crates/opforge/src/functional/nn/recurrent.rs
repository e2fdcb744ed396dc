//! Recurrent layers stacked, and single steps of their cells.

use crate::functional as f;
use opforge_tile::forms::CellKind;

use crate::ops::nn::lstm::Recurrent;
use crate::ops::prelude::*;

functions! { gru, rnn_tanh, rnn_relu, lstm_cell, gru_cell, rnn_tanh_cell, rnn_relu_cell }

/// Gated recurrent units over a sequence; arguments as those of [`lstm`](fn@crate::functional::lstm), with one first state. Gates are in the
/// order reset, update, new. Gives the outputs and the last hidden states.
///
/// # Errors
/// For shapes that do not go together, and dtypes other than floats.
#[function]
#[python(torch)]
pub fn gru(
    input: &Tensor,
    hx: &Tensor,
    params: &[Tensor],
    has_biases: bool,
    num_layers: i64,
    dropout: f64,
    train: bool,
    bidirectional: bool,
    batch_first: bool,
) -> Result<(Tensor, Tensor)> {
    let layers =
        Layers { op: OP, cell: CellKind::Gru, has_biases, num_layers, dropout, train, bidirectional, batch_first };
    one_state(&layers, input, hx, params)
}

/// Plain recurrent layers with the hyperbolic tangent; arguments as those of [`gru`].
///
/// # Errors
/// As [`gru`].
#[function]
#[python(torch)]
pub fn rnn_tanh(
    input: &Tensor,
    hx: &Tensor,
    params: &[Tensor],
    has_biases: bool,
    num_layers: i64,
    dropout: f64,
    train: bool,
    bidirectional: bool,
    batch_first: bool,
) -> Result<(Tensor, Tensor)> {
    let cell = CellKind::Tanh;
    let layers = Layers { op: OP, cell, has_biases, num_layers, dropout, train, bidirectional, batch_first };
    one_state(&layers, input, hx, params)
}

/// Plain recurrent layers with the positive part; arguments as those of [`gru`].
///
/// # Errors
/// As [`gru`].
#[function]
#[python(torch)]
pub fn rnn_relu(
    input: &Tensor,
    hx: &Tensor,
    params: &[Tensor],
    has_biases: bool,
    num_layers: i64,
    dropout: f64,
    train: bool,
    bidirectional: bool,
    batch_first: bool,
) -> Result<(Tensor, Tensor)> {
    let cell = CellKind::Relu;
    let layers = Layers { op: OP, cell, has_biases, num_layers, dropout, train, bidirectional, batch_first };
    one_state(&layers, input, hx, params)
}

/// One step of long short-term memory: the hidden and the cell state after `input` (`[batch, width]` or `[width]`), from those in `hx`. Gates are
/// in the order input, forget, cell, output.
///
/// # Errors
/// For shapes that do not go together.
#[function(b_ih = None, b_hh = None)]
#[python(torch)]
pub fn lstm_cell(
    input: &Tensor,
    hx: &[Tensor],
    w_ih: &Tensor,
    w_hh: &Tensor,
    b_ih: Option<&Tensor>,
    b_hh: Option<&Tensor>,
) -> Result<(Tensor, Tensor)> {
    let [h, c] = hx else {
        return Err(Error::value(OP, "hx", hx.len(), "two tensors"));
    };
    let gates = projected(OP, input, w_ih, b_ih)?.add(&projected(OP, h, w_hh, b_hh)?)?;
    let [i, f, g, o] = blocks::<4>(OP, &gates)?;
    let c = f.sigmoid()?.mul(c)?.add(&i.sigmoid()?.mul(&g.tanh()?)?)?;
    Ok((o.sigmoid()?.mul(&c.tanh()?)?, c))
}

/// One step of a gated recurrent unit: the hidden state after `input` (`[batch, width]` or `[width]`). Gates are in the order reset, update, new.
///
/// # Errors
/// For shapes that do not go together.
#[function(b_ih = None, b_hh = None)]
#[python(torch)]
pub fn gru_cell(
    input: &Tensor,
    hx: &Tensor,
    w_ih: &Tensor,
    w_hh: &Tensor,
    b_ih: Option<&Tensor>,
    b_hh: Option<&Tensor>,
) -> Result<Tensor> {
    let [xr, xz, xn] = blocks::<3>(OP, &projected(OP, input, w_ih, b_ih)?)?;
    let [hr, hz, hn] = blocks::<3>(OP, &projected(OP, hx, w_hh, b_hh)?)?;
    let (r, z) = (xr.add(&hr)?.sigmoid()?, xz.add(&hz)?.sigmoid()?);
    let n = xn.add(&r.mul(&hn)?)?.tanh()?;
    n.add(&z.mul(&hx.sub(&n)?)?)
}

/// One step of a plain recurrent cell with the hyperbolic tangent.
///
/// # Errors
/// For shapes that do not go together.
#[function(b_ih = None, b_hh = None)]
#[python(torch)]
pub fn rnn_tanh_cell(
    input: &Tensor,
    hx: &Tensor,
    w_ih: &Tensor,
    w_hh: &Tensor,
    b_ih: Option<&Tensor>,
    b_hh: Option<&Tensor>,
) -> Result<Tensor> {
    projected(OP, input, w_ih, b_ih)?.add(&projected(OP, hx, w_hh, b_hh)?)?.tanh()
}

/// One step of a plain recurrent cell with the positive part.
///
/// # Errors
/// For shapes that do not go together.
#[function(b_ih = None, b_hh = None)]
#[python(torch)]
pub fn rnn_relu_cell(
    input: &Tensor,
    hx: &Tensor,
    w_ih: &Tensor,
    w_hh: &Tensor,
    b_ih: Option<&Tensor>,
    b_hh: Option<&Tensor>,
) -> Result<Tensor> {
    projected(OP, input, w_ih, b_ih)?.add(&projected(OP, hx, w_hh, b_hh)?)?.relu()
}

/// `x w^T + b`, of a weight that is a matrix.
#[track_caller]
fn projected(op: &'static str, x: &Tensor, w: &Tensor, b: Option<&Tensor>) -> Result<Tensor> {
    ensure(w.rank() == 2, || wrong_shape(op, "weight", w.shape(), "[n, k]"))?;
    f::linear(x, w, b)
}

/// The last dimension in equal blocks.
#[track_caller]
fn blocks<const N: usize>(op: &'static str, gates: &Tensor) -> Result<[Tensor; N]> {
    let last = gates.rank() - 1;
    let wide = gates.dims()[last];
    ensure(wide.is_multiple_of(N), || wrong_shape(op, "gates", gates.shape(), format!("a multiple of {N} gates")))?;
    let parts = f::split(gates, (wide / N).max(1) as i64, -1)?;
    parts.try_into().map_err(|_| Error::shape(op, "gates", wide, format!("{N} gates")))
}

/// What stacked recurrent layers share.
pub(crate) struct Layers {
    pub op: &'static str,
    pub cell: CellKind,
    pub has_biases: bool,
    pub num_layers: i64,
    pub dropout: f64,
    pub train: bool,
    pub bidirectional: bool,
    pub batch_first: bool,
}

#[track_caller]
fn one_state(layers: &Layers, input: &Tensor, hx: &Tensor, params: &[Tensor]) -> Result<(Tensor, Tensor)> {
    let (y, mut last) = run(layers, input, &[hx], params)?;
    let h = last.pop().unwrap_or_else(|| y.clone());
    Ok((y, h))
}

/// All layers in all directions: the last layer's outputs, and each kind of state after the last step, `[layers directions, batch, hidden]`.
#[track_caller]
pub(crate) fn run(
    layers: &Layers,
    input: &Tensor,
    first: &[&Tensor],
    params: &[Tensor],
) -> Result<(Tensor, Vec<Tensor>)> {
    let directions = 1 + usize::from(layers.bidirectional);
    let each = if layers.has_biases { 4 } else { 2 };
    let count = usize::try_from(layers.num_layers).ok().and_then(|n| n.checked_mul(directions));
    let Some(count) = count.filter(|&n| n > 0 && n.checked_mul(each) == Some(params.len())) else {
        let accepted = format!("{each} for each of {} layers and {directions} directions", layers.num_layers);
        return Err(Error::value(layers.op, "params", params.len(), accepted));
    };
    if input.rank() != 3 || first.iter().any(|t| t.rank() != 3 || t.dims()[0] != count) {
        let accepted = format!("an input of rank 3 and states [{count}, batch, hidden]");
        return Err(Error::shapes(layers.op, input.shape(), first[0].shape(), accepted));
    }
    let mut x = if layers.batch_first { input.transpose(0, 1)? } else { input.clone() };
    let mut last = vec![Vec::new(); first.len()];
    for (layer, params) in params.chunks_exact(each * directions).enumerate() {
        let mut outputs = Vec::new();
        for (direction, params) in params.chunks_exact(each).enumerate() {
            let place = layer * directions + direction;
            let states = first.iter().map(|t| t.get(place)).collect::<Result<Vec<_>>>()?;
            let (y, ends) = one_layer(layers, &x, &states, params, direction == 1)?;
            outputs.push(y);
            last.iter_mut().zip(ends).for_each(|(all, end)| all.push(end));
        }
        x = if directions == 1 { outputs.swap_remove(0) } else { Tensor::cat(&outputs, 2)? };
        if layer + 1 < count / directions {
            x = f::dropout(&x, layers.dropout, layers.train, false)?;
        }
    }
    let last = last.iter().map(|all| Tensor::stack(all, 0)).collect::<Result<Vec<_>>>()?;
    Ok((if layers.batch_first { x.transpose(0, 1)? } else { x }, last))
}

/// One layer in one direction: all outputs, and the states after its last step. Halves are computed in f32.
#[track_caller]
fn one_layer(
    layers: &Layers,
    x: &Tensor,
    first: &[Tensor],
    params: &[Tensor],
    reverse: bool,
) -> Result<(Tensor, Vec<Tensor>)> {
    let dtype = x.dtype();
    let wide = if matches!(dtype, DType::F16 | DType::BF16) { DType::F32 } else { dtype };
    let gates = f::linear(x, &params[0], params.get(2))?.to_dtype(wide)?.contiguous()?;
    let bias = match params.get(3) {
        Some(bias) => bias.clone(),
        None => Tensor::zeros(params[1].dims().first().copied().unwrap_or(0), dtype, x.device())?,
    };
    let ready = |t: &Tensor| {
        if t.dtype() == dtype {
            t.to_dtype(wide)?.contiguous()
        } else {
            Err(Error::dtypes(layers.op, dtype, t.dtype()))
        }
    };
    let mut inputs = vec![gates, ready(&params[1])?, ready(&bias)?];
    for state in first {
        inputs.push(ready(state)?);
    }
    let outputs = dispatch(&Recurrent { cell: layers.cell, reverse }, &inputs.iter().collect::<Vec<_>>())?;
    let steps = x.dims()[0];
    let end = |(all, first): (&Tensor, &Tensor)| match steps {
        0 => Ok(first.clone()),
        n => all.get(if reverse { 0 } else { n - 1 })?.to_dtype(dtype),
    };
    let ends = outputs.iter().zip(first).map(end).collect::<Result<Vec<_>>>()?;
    Ok((outputs[0].to_dtype(dtype)?, ends))
}
