//! Recurrent layers: against single steps of their cells, with gradients against differences.

use opforge::autograd::{BackwardOptions, grad};
use opforge::declaration::Array;
use opforge::functional as f;
use opforge::{DType, Device, ErrorKind, Result, Tensor};

const CPU: &Device = &Device::Cpu;
const SIZES: (usize, usize, usize, usize) = (4, 3, 2, 5);

fn numbers(dims: &[usize], shift: f64) -> Tensor {
    let array = Array::spread(dims, -1.0 + shift..1.0);
    Tensor::from_vec(array.data, dims, CPU).unwrap()
}

/// Weights and biases of two layers in two directions.
fn params(gates: usize) -> Vec<Tensor> {
    let (_, _, width, hidden) = SIZES;
    let layer = |inputs: usize, k: f64| {
        let wide = gates * hidden;
        let shapes: [&[usize]; 4] = [&[wide, inputs], &[wide, hidden], &[wide], &[wide]];
        shapes.into_iter().enumerate().map(move |(i, dims)| numbers(dims, k + 0.01 * i as f64)).collect::<Vec<_>>()
    };
    [layer(width, 0.0), layer(width, 0.1), layer(2 * hidden, 0.2), layer(2 * hidden, 0.3)].concat()
}

type Step = fn(&Tensor, &[Tensor], &[Tensor]) -> Result<Vec<Tensor>>;

/// Both layers, step by step with a cell.
fn by_steps(x: &Tensor, first: &[Tensor], params: &[Tensor], step: Step) -> Result<Tensor> {
    let mut x = x.clone();
    for (layer, params) in params.chunks(8).enumerate() {
        let mut sides = Vec::new();
        for (side, params) in params.chunks(4).enumerate() {
            let mut state: Vec<Tensor> = first.iter().map(|t| t.get(2 * layer + side)).collect::<Result<_>>()?;
            let mut all = vec![x.clone(); x.dims()[0]];
            for t in 0..all.len() {
                let t = if side == 1 { all.len() - 1 - t } else { t };
                state = step(&x.get(t)?, &state, params)?;
                all[t] = state[0].clone();
            }
            sides.push(Tensor::stack(&all, 0)?);
        }
        x = Tensor::cat(&sides, 2)?;
    }
    Ok(x)
}

type Layer<'a> = dyn Fn(&Tensor, &[Tensor], &[Tensor]) -> Result<Tensor> + 'a;
type Whole = fn(&Tensor, &[Tensor], &[Tensor]) -> Result<Tensor>;

/// The gradients of the sum of all gradients' squares, and of theirs again.
fn higher(y: &Tensor, all: &[&Tensor]) -> Result<Vec<Tensor>> {
    let (mut total, mut found) = (y.mul(&numbers(y.dims(), 0.2))?.sum_all()?, Vec::new());
    for create_graph in [true, true, false] {
        let options = BackwardOptions { create_graph, ..BackwardOptions::default() };
        let grads = grad(&[(total, None)], all, options)?;
        let grads = grads.into_iter().zip(all).map(|(grad, x)| grad.map_or_else(|| x.zeros_like(), Ok));
        let grads = grads.collect::<Result<Vec<_>>>()?;
        let sums = grads.iter().map(|t| t.sqr()?.sum_all()).collect::<Result<Vec<_>>>()?;
        total = Tensor::stack(&sums, 0)?.sum_all()?;
        found.extend(grads.iter().map(Tensor::detach));
    }
    Ok(found)
}

/// Results and gradients of the whole, up to the third, are those of the steps.
fn check(gates: usize, states: usize, whole: Whole, step: Step) -> Result<()> {
    let (steps, batch, width, hidden) = SIZES;
    let run = |by: &Layer<'_>| -> Result<Vec<Vec<f64>>> {
        let x = numbers(&[steps, batch, width], 0.0);
        let first: Vec<Tensor> = (0..states).map(|k| numbers(&[4, batch, hidden], 0.1 * k as f64)).collect();
        let params = params(gates);
        let all: Vec<&Tensor> = [&x].into_iter().chain(&first).chain(&params).collect();
        all.iter().try_for_each(|t| t.set_requires_grad(true))?;
        let y = by(&x, &first, &params)?;
        let grads = y.mul(&numbers(y.dims(), 0.2))?.sum_all()?.backward()?;
        let values = |t: &Tensor| t.flatten_all()?.to_vec1::<f64>();
        let found = all.iter().map(|t| values(grads.get(t).expect("a gradient")));
        let higher = higher(&by(&x, &first, &params)?, &all)?;
        [values(&y)].into_iter().chain(found).chain(higher.iter().map(values)).collect()
    };
    let (got, want) = (run(&whole)?, run(&|x, first, params| by_steps(x, first, params, step))?);
    for (i, (got, want)) in got.iter().zip(&want).enumerate() {
        let near = got.iter().zip(want).all(|(a, b)| (a - b).abs() < 1e-12 * (1.0 + b.abs()));
        assert!(near && got.len() == want.len(), "{i}: {got:?}, expected {want:?}");
    }
    Ok(())
}

#[test]
fn lstm_is_its_steps() -> Result<()> {
    check(
        4,
        2,
        |x, first, params| Ok(f::lstm(x, first, params, true, 2, 0.0, true, true, false)?.0),
        |x, state, p| {
            let (h, c) = f::lstm_cell(x, state, &p[0], &p[1], Some(&p[2]), Some(&p[3]))?;
            Ok(vec![h, c])
        },
    )
}

#[test]
fn gru_is_its_steps() -> Result<()> {
    check(
        3,
        1,
        |x, first, params| Ok(f::gru(x, &first[0], params, true, 2, 0.0, true, true, false)?.0),
        |x, state, p| Ok(vec![f::gru_cell(x, &state[0], &p[0], &p[1], Some(&p[2]), Some(&p[3]))?]),
    )
}

#[test]
fn plain_layers_are_their_steps() -> Result<()> {
    check(
        1,
        1,
        |x, first, params| Ok(f::rnn_tanh(x, &first[0], params, true, 2, 0.0, true, true, false)?.0),
        |x, state, p| Ok(vec![f::rnn_tanh_cell(x, &state[0], &p[0], &p[1], Some(&p[2]), Some(&p[3]))?]),
    )?;
    check(
        1,
        1,
        |x, first, params| Ok(f::rnn_relu(x, &first[0], params, true, 2, 0.0, true, true, false)?.0),
        |x, state, p| Ok(vec![f::rnn_relu_cell(x, &state[0], &p[0], &p[1], Some(&p[2]), Some(&p[3]))?]),
    )
}

#[test]
fn last_states_are_those_of_the_last_steps() -> Result<()> {
    let (steps, batch, width, hidden) = SIZES;
    let x = numbers(&[batch, steps, width], 0.0);
    let first = [numbers(&[4, batch, hidden], 0.0), numbers(&[4, batch, hidden], 0.1)];
    let (y, h, c) = f::lstm(&x, &first, &params(4), true, 2, 0.0, false, true, true)?;
    assert_eq!((y.dims(), c.dims()), (&[batch, steps, 2 * hidden][..], &[4, batch, hidden][..]));
    let ends = Tensor::cat(&[&y.get_on_dim(1, steps - 1)?.narrow(1, 0, hidden)?], 1)?;
    assert_eq!(ends.to_vec2::<f64>()?, h.get(2)?.to_vec2::<f64>()?);
    let starts = y.get_on_dim(1, 0)?.narrow(1, hidden, hidden)?;
    assert_eq!(starts.to_vec2::<f64>()?, h.get(3)?.to_vec2::<f64>()?);
    Ok(())
}

#[test]
fn what_does_not_fit_is_refused() {
    let (steps, batch, width, hidden) = SIZES;
    let x = numbers(&[steps, batch, width], 0.0);
    let state = numbers(&[4, batch, hidden], 0.0);
    let kind = |params: &[Tensor], state: &Tensor| {
        f::gru(&x, state, params, true, 2, 0.0, false, true, false).unwrap_err().kind()
    };
    assert_eq!(kind(&params(3)[1..], &state), ErrorKind::Value);
    assert_eq!(kind(&params(4), &state), ErrorKind::Shape);
    assert_eq!(kind(&params(3), &state.narrow(0, 0, 3).unwrap()), ErrorKind::Shape);
    assert_eq!(kind(&params(3), &state.to_dtype(DType::F32).unwrap()), ErrorKind::DType);
}
