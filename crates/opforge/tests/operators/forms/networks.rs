//! Attention and recurrent cells.

use opforge::DType;
use opforge::declaration::{Array, each_index};
use opforge_tile::forms::{Attention, CellKind, Recurrent};

/// Leading dimensions of `x` as one, at an index of q's; heads may be shared.
fn lead(x: &Array, at: &[usize], of: &[usize]) -> Vec<usize> {
    at.iter().enumerate().map(|(d, &i)| i * x.shape[d] / of[d]).collect()
}

/// The scores' softmax for a query: nothing at all where it is let nowhere.
fn weights(form: &Attention, [q, k]: [&Array; 2], mask: Option<(&Array, DType)>, at: &[usize], row: usize) -> Vec<f64> {
    let (of, rank) = (&q.shape[..at.len()], q.shape.len());
    let scores: Vec<f64> = (0..k.shape[rank - 2])
        .map(|j| {
            let kept = mask.map(|(mask, dtype)| (mask.at_broadcast(&[at, &[row, j]].concat()), dtype));
            if form.causal && j > row || matches!(kept, Some((0.0, DType::Bool))) {
                return f64::NEG_INFINITY;
            }
            let dot: f64 = (0..q.shape[rank - 1])
                .map(|d| q.at(&[at, &[row, d]].concat()) * k.at(&[&lead(k, at, of)[..], &[j, d]].concat()))
                .sum();
            dot * form.scale.to_f64() + kept.filter(|(_, dtype)| *dtype != DType::Bool).map_or(0.0, |(add, _)| add)
        })
        .collect();
    let greatest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if greatest == f64::NEG_INFINITY {
        return vec![0.0; scores.len()];
    }
    let total: f64 = scores.iter().map(|s| (s - greatest).exp()).sum();
    scores.iter().map(|s| (s - greatest).exp() / total).collect()
}

/// `last` is the last input's dtype, which is the mask's where there is one.
pub fn attention(form: &Attention, x: &[Array], last: DType) -> Vec<Array> {
    let (q, k, v, rank) = (&x[0], &x[1], &x[2], x[0].shape.len());
    let mask = x.get(if form.gradient { 4 } else { 3 }).map(|mask| (mask, last));
    let (of, rows, size) = (&q.shape[..rank - 2], q.shape[rank - 2], v.shape[rank - 1]);
    if !form.gradient {
        return vec![Array::from_fn(&[of, &[rows, size]].concat(), |index| {
            let (at, row, column) = (&index[..rank - 2], index[rank - 2], index[rank - 1]);
            let shared = lead(v, at, of);
            let terms = weights(form, [q, k], mask, at, row).into_iter().enumerate();
            terms.map(|(j, p)| p * v.at(&[&shared[..], &[j, column]].concat())).sum()
        })];
    }
    let dy = &x[3];
    let mut grads = [q, k, v].map(|t| Array::from_fn(&t.shape, |_| 0.0));
    let mut add = |which: usize, index: &[usize], value: f64| {
        let flat = index.iter().zip(&x[which].shape).fold(0, |flat, (&i, &len)| flat * len + i);
        grads[which].data[flat] += value;
    };
    each_index(&[of, &[rows]].concat(), |index| {
        let (at, row) = (&index[..rank - 2], index[rank - 2]);
        let (of_k, of_v) = (lead(k, at, of), lead(v, at, of));
        let p = weights(form, [q, k], mask, at, row);
        let place = |lead: &[usize], i: usize, d: usize| [lead, &[i, d]].concat();
        let by_p: Vec<f64> = (0..p.len())
            .map(|j| (0..size).map(|d| dy.at(&place(at, row, d)) * v.at(&place(&of_v, j, d))).sum())
            .collect();
        let inner: f64 = p.iter().zip(&by_p).map(|(p, d)| p * d).sum();
        for j in 0..p.len() {
            let by_score = p[j] * (by_p[j] - inner) * form.scale.to_f64();
            for d in 0..q.shape[rank - 1] {
                add(0, &place(at, row, d), by_score * k.at(&place(&of_k, j, d)));
                add(1, &place(&of_k, j, d), by_score * q.at(&place(at, row, d)));
            }
            (0..size).for_each(|d| add(2, &place(&of_v, j, d), p[j] * dy.at(&place(at, row, d))));
        }
    });
    grads.into()
}

fn logistic(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

/// A unit's next state and cell state, and what is saved of it, from its gates and the state before.
fn step(cell: CellKind, a: &[f64], b: &[f64], h: f64, c: f64) -> ([f64; 2], Vec<f64>) {
    match cell {
        CellKind::Lstm => {
            let [i, f, o] = [0, 1, 3].map(|k| logistic(a[k] + b[k]));
            let g = (a[2] + b[2]).tanh();
            let c = f * c + i * g;
            ([o * c.tanh(), c], vec![i, f, g, o])
        }
        CellKind::Gru => {
            let [r, z] = [0, 1].map(|k| logistic(a[k] + b[k]));
            let n = (a[2] + r * b[2]).tanh();
            ([n + z * (h - n), 0.0], vec![r, z, n, b[2]])
        }
        CellKind::Tanh => ([(a[0] + b[0]).tanh(), 0.0], vec![(a[0] + b[0]).tanh()]),
        CellKind::Relu => ([(a[0] + b[0]).max(0.0), 0.0], vec![(a[0] + b[0]).max(0.0)]),
    }
}

/// The gradients of a unit's gates, the input's and the state's, and of the state and cell state before, but for what comes through the gates.
fn step_back(
    cell: CellKind,
    saved: &[f64],
    [h, c]: [f64; 2],
    c_now: f64,
    [dh, dc]: [f64; 2],
) -> (Vec<f64>, Vec<f64>, [f64; 2]) {
    let of_logistic = |s: f64| s * (1.0 - s);
    let of_tanh = |t: f64| 1.0 - t * t;
    match cell {
        CellKind::Lstm => {
            let (i, f, g, o) = (saved[0], saved[1], saved[2], saved[3]);
            let dc = dc + dh * o * of_tanh(c_now.tanh());
            let gates = vec![
                dc * g * of_logistic(i),
                dc * c * of_logistic(f),
                dc * i * of_tanh(g),
                dh * c_now.tanh() * of_logistic(o),
            ];
            (gates.clone(), gates, [0.0, dc * f])
        }
        CellKind::Gru => {
            let (r, z, n, b2) = (saved[0], saved[1], saved[2], saved[3]);
            let dn = dh * (1.0 - z) * of_tanh(n);
            let (of_r, of_z) = (dn * b2 * of_logistic(r), dh * (h - n) * of_logistic(z));
            (vec![of_r, of_z, dn], vec![of_r, of_z, dn * r], [dh * z, 0.0])
        }
        CellKind::Tanh => (vec![dh * of_tanh(saved[0])], vec![dh * of_tanh(saved[0])], [0.0; 2]),
        CellKind::Relu => {
            let gate = if saved[0] > 0.0 { dh } else { 0.0 };
            (vec![gate], vec![gate], [0.0; 2])
        }
    }
}

pub fn recurrent(form: &Recurrent, x: &[Array]) -> Vec<Array> {
    if form.gradient { recurrent_gradient(form, x) } else { recurrent_forward(form, x) }
}

fn order(form: &Recurrent, steps: usize) -> Vec<usize> {
    if form.reverse { (0..steps).rev().collect() } else { (0..steps).collect() }
}

fn recurrent_forward(form: &Recurrent, x: &[Array]) -> Vec<Array> {
    let (gates, weight, bias, cell) = (&x[0], &x[1], &x[2], form.cell);
    let (steps, batch, hidden) = (gates.shape[0], gates.shape[1], weight.shape[1]);
    let like = |blocks: usize| Array::from_fn(&[steps, batch, blocks * hidden], |_| 0.0);
    let (mut h, mut c) = (x[3].clone(), x.get(4).cloned().unwrap_or_else(|| x[3].map(|_| 0.0)));
    let (mut states, mut cells, mut kept) = (like(1), like(1), like(cell.saved()));
    for t in order(form, steps) {
        let (h_before, c_before) = (h.clone(), c.clone());
        each_index(&[batch, hidden], |at| {
            let (row, unit) = (at[0], at[1]);
            let block = |k: usize| k * hidden + unit;
            let a: Vec<f64> = (0..cell.gates()).map(|k| gates.at(&[t, row, block(k)])).collect();
            let through =
                |k: usize| (0..hidden).map(|j| weight.at(&[block(k), j]) * h_before.at(&[row, j])).sum::<f64>();
            let b: Vec<f64> = (0..cell.gates()).map(|k| bias.data[block(k)] + through(k)).collect();
            let ([new, new_cell], saved) = step(cell, &a, &b, h_before.at(at), c_before.at(at));
            let flat = row * hidden + unit;
            (h.data[flat], c.data[flat]) = (new, new_cell);
            (states.data[t * batch * hidden + flat], cells.data[t * batch * hidden + flat]) = (new, new_cell);
            for (k, saved) in saved.into_iter().enumerate() {
                kept.data[(t * batch + row) * cell.saved() * hidden + block(k)] = saved;
            }
        });
    }
    if cell.has_cell() { vec![states, cells, kept] } else { vec![states, kept] }
}

fn recurrent_gradient(form: &Recurrent, x: &[Array]) -> Vec<Array> {
    let (saved, states, first, weight, grad, cell) = (&x[0], &x[1], &x[2], &x[3], &x[4], form.cell);
    let (steps, batch, hidden) = (states.shape[0], states.shape[1], states.shape[2]);
    let wide = cell.gates() * hidden;
    let mut of_gates = [(); 2].map(|()| Array::from_fn(&[steps, batch, wide], |_| 0.0));
    let (mut dh, mut dc) = (first.map(|_| 0.0), first.map(|_| 0.0));
    let order = order(form, steps);
    for (n, &t) in order.iter().enumerate().rev() {
        let before = |states: Option<&Array>, first: Option<&Array>, at: &[usize]| match n {
            0 => first.map_or(0.0, |first| first.at(at)),
            _ => states.map_or(0.0, |states| states.at(&[order[n - 1], at[0], at[1]])),
        };
        each_index(&[batch, hidden], |at| {
            let (row, unit, flat) = (at[0], at[1], at[0] * hidden + at[1]);
            let kept: Vec<f64> = (0..cell.saved()).map(|k| saved.at(&[t, row, k * hidden + unit])).collect();
            let now = |i: usize| x.get(i).map_or(0.0, |x| x.at(&[t, row, unit]));
            let state = [before(Some(states), Some(first), at), before(x.get(5), x.get(6), at)];
            let arriving = [dh.data[flat] + grad.at(&[t, row, unit]), dc.data[flat] + now(7)];
            let (by_a, by_b, direct) = step_back(cell, &kept, state, now(5), arriving);
            for k in 0..cell.gates() {
                let place = (t * batch + row) * wide + k * hidden + unit;
                (of_gates[0].data[place], of_gates[1].data[place]) = (by_a[k], by_b[k]);
            }
            [dh.data[flat], dc.data[flat]] = direct;
        });
        each_index(&[batch, hidden], |at| {
            let through = (0..wide).map(|g| of_gates[1].at(&[t, at[0], g]) * weight.at(&[g, at[1]]));
            dh.data[at[0] * hidden + at[1]] += through.sum::<f64>();
        });
    }
    let [by_input, by_state] = of_gates;
    if cell.has_cell() { vec![by_input, by_state, dh, dc] } else { vec![by_input, by_state, dh] }
}
