//! Recurrent cells: a launch for each step, a thread for each unit.

use opforge_core::{DType, Result};
use opforge_tile::forms::{CellKind, Recurrent};

use crate::code::Code;
use crate::lower::Call;
use crate::program::{Place, Program};
use crate::tensor::Tensor;
use crate::value::Value;

use super::math::{sigmoid, tanh};

/// Steps that are launched one by one, at most.
const MOST_STEPS: usize = 4096;

/// A call of a cell.
struct Cell<'c> {
    call: &'c Call<'c>,
    kind: CellKind,
    dtype: DType,
    batch: usize,
    hidden: usize,
}

pub(crate) fn recurrent(call: &Call<'_>, form: &Recurrent) -> Result<Program> {
    call.real(call.inputs)?;
    let states = if form.gradient { call.inputs[1] } else { call.outputs[0] };
    let &[steps, batch, hidden] = states.dims() else {
        return Err(call.refuse("input", format!("{:?}", states.shape()), "steps, batches and units"));
    };
    if steps > MOST_STEPS {
        return Err(call.refuse("input", format!("{steps} steps"), &format!("at most {MOST_STEPS} steps")));
    }
    let cell = Cell { call, kind: form.cell, dtype: states.dtype.compute(), batch, hidden };
    let mut program = Program::default();
    let at = |n: usize| if form.reverse { steps - 1 - n } else { n };
    if !form.gradient {
        for n in 0..steps {
            cell.step(&mut program, at(n), n.checked_sub(1).map(at))?;
        }
        return Ok(program);
    }
    let arriving = [0, 1].map(|_| program.scratch(cell.dtype, batch * hidden));
    cell.clear(&mut program, arriving)?;
    for n in (0..steps).rev() {
        cell.step_back(&mut program, at(n), n.checked_sub(1).map(at), arriving)?;
        cell.through_weight(&mut program, at(n), arriving[0])?;
    }
    cell.hand_over(&mut program, arriving)?;
    Ok(program)
}

impl Cell<'_> {
    fn launch(&self, program: &mut Program, write: impl FnOnce(&Code)) -> Result<()> {
        program.launch(self.call.target, |k| {
            write(k);
            Ok(())
        })
    }

    fn input<'a>(&self, k: &'a Code, i: usize) -> Tensor<'a> {
        k.input(i, self.call.inputs[i])
    }

    fn output<'a>(&self, k: &'a Code, i: usize) -> Tensor<'a> {
        k.output(i, self.call.outputs[i])
    }

    fn own<'a>(&self, k: &'a Code, place: Place, written: bool) -> Tensor<'a> {
        k.strided(place, self.dtype, &[self.batch, self.hidden], &[self.hidden, 1], written)
    }

    /// Step `t`, after step `before` or the first state.
    fn step(&self, program: &mut Program, t: usize, before: Option<usize>) -> Result<()> {
        let kind = self.kind;
        self.launch(program, |k| {
            let (gates, weight, bias) = (self.input(k, 0), self.input(k, 1), self.input(k, 2));
            let (states, saved) = (self.output(k, 0), self.output(k, if kind.has_cell() { 2 } else { 1 }));
            let first = before.is_none().then(|| self.input(k, 3));
            let cells = kind.has_cell().then(|| (self.output(k, 1), before.is_none().then(|| self.input(k, 4))));
            let (t, before, hidden) =
                (k.parameter(t as u32), k.parameter(before.unwrap_or(0) as u32), k.size(self.hidden));
            k.each_of(&[self.batch, self.hidden], |at| {
                let (row, unit) = (at[0], at[1]);
                let block = |n: usize| hidden * k.index(n) + unit;
                let h_at = |unit| match &first {
                    Some(first) => first.load(&[row, unit]),
                    None => states.load(&[before, row, unit]),
                };
                let a: Vec<Value<'_>> = (0..kind.gates()).map(|n| gates.load(&[t, row, block(n)])).collect();
                let sums: Vec<_> = (0..kind.gates()).map(|_| k.var(k.constant(0.0, self.dtype))).collect();
                k.repeat(hidden, |j| {
                    let h = h_at(j);
                    for (n, sum) in sums.iter().enumerate() {
                        sum.set(weight.load(&[block(n), j]).mul_add(h, sum.get()));
                    }
                });
                let biased = |n: usize| bias.load(&[block(n)]) + sums[n].get();
                let b: Vec<Value<'_>> = (0..kind.gates()).map(biased).collect();
                let c = cells.as_ref().map(|(cells, first)| match first {
                    Some(first) => first.load(at),
                    None => cells.load(&[before, row, unit]),
                });
                let next = next_state(kind, &a, &b, h_at(unit), c);
                states.store(&[t, row, unit], next.state);
                if let (Some((cells, _)), Some(cell)) = (&cells, next.cell) {
                    cells.store(&[t, row, unit], cell);
                }
                for (n, number) in next.saved.into_iter().enumerate() {
                    saved.store(&[t, row, block(n)], number);
                }
            });
        })
    }

    /// What arrives after the last step: nothing.
    fn clear(&self, program: &mut Program, arriving: [Place; 2]) -> Result<()> {
        self.launch(program, |k| {
            let arriving = arriving.map(|place| self.own(k, place, true));
            k.each_of(&[self.batch, self.hidden], |at| {
                arriving.iter().for_each(|tensor| tensor.store(at, k.constant(0.0, self.dtype)));
            });
        })
    }

    /// The gradients of step `t`'s gates, and of the states before it but for what comes through the gates.
    fn step_back(&self, program: &mut Program, t: usize, before: Option<usize>, arriving: [Place; 2]) -> Result<()> {
        let kind = self.kind;
        self.launch(program, |k| {
            let (saved, states, grad) = (self.input(k, 0), self.input(k, 1), self.input(k, 4));
            let first = self.input(k, 2);
            let cells = kind.has_cell().then(|| [5, 6, 7].map(|i| self.input(k, i)));
            let by = [0, 1].map(|i| self.output(k, i));
            let [dh, dc] = arriving.map(|place| self.own(k, place, true));
            let is_first = before.is_none();
            let (t, before, hidden) =
                (k.parameter(t as u32), k.parameter(before.unwrap_or(0) as u32), k.size(self.hidden));
            k.each_of(&[self.batch, self.hidden], |at| {
                let (row, unit) = (at[0], at[1]);
                let block = |n: usize| hidden * k.index(n) + unit;
                let kept: Vec<Value<'_>> = (0..kind.saved()).map(|n| saved.load(&[t, row, block(n)])).collect();
                let past = [before, row, unit];
                let h = if is_first { first.load(at) } else { states.load(&past) };
                let now = [t, row, unit];
                let cell = cells.as_ref().map(|[own, first, grad]| Moved {
                    before: if is_first { first.load(at) } else { own.load(&past) },
                    now: own.load(&now),
                    arriving: dc.load(at) + grad.load(&now),
                });
                let back = gate_slopes(kind, &kept, h, dh.load(at) + grad.load(&now), cell);
                for (tensor, slopes) in by.iter().zip([&back.input, &back.state]) {
                    slopes.iter().enumerate().for_each(|(n, &slope)| tensor.store(&[t, row, block(n)], slope));
                }
                dh.store(at, back.direct[0]);
                dc.store(at, back.direct[1]);
            });
        })
    }

    /// What arrives at the state before through the gates.
    fn through_weight(&self, program: &mut Program, t: usize, arriving: Place) -> Result<()> {
        self.launch(program, |k| {
            let (weight, slopes, dh) = (self.input(k, 3), self.output(k, 1), self.own(k, arriving, true));
            let t = k.parameter(t as u32);
            k.each_of(&[self.batch, self.hidden], |at| {
                let sum = k.var(dh.load(at));
                k.repeat(slopes.last(1), |gate| {
                    let slope = slopes.load(&[t, at[0], gate]);
                    sum.set(slope.mul_add(weight.load(&[gate, at[1]]), sum.get()));
                });
                dh.store(at, sum.get());
            });
        })
    }

    /// What has arrived at the first states.
    fn hand_over(&self, program: &mut Program, arriving: [Place; 2]) -> Result<()> {
        let count = if self.kind.has_cell() { 2 } else { 1 };
        self.launch(program, |k| {
            let of: Vec<_> = (0..count).map(|i| (self.own(k, arriving[i], false), self.output(k, 2 + i))).collect();
            k.each_of(&[self.batch, self.hidden], |at| {
                of.iter().for_each(|(from, to)| to.store(at, from.load(at)));
            });
        })
    }
}

/// What a step gives a unit.
struct Next<'a> {
    state: Value<'a>,
    cell: Option<Value<'a>>,
    saved: Vec<Value<'a>>,
}

/// From the gates of the input and of the state, and the states before.
fn next_state<'a>(kind: CellKind, a: &[Value<'a>], b: &[Value<'a>], h: Value<'a>, c: Option<Value<'a>>) -> Next<'a> {
    let gate = |n: usize| sigmoid(a[n] + b[n]);
    match kind {
        CellKind::Lstm => {
            let (i, f, o, g) = (gate(0), gate(1), gate(3), tanh(a[2] + b[2]));
            let cell = f * c.unwrap_or(h) + i * g;
            Next { state: o * tanh(cell), cell: Some(cell), saved: vec![i, f, g, o] }
        }
        CellKind::Gru => {
            let (r, z) = (gate(0), gate(1));
            let n = tanh(a[2] + r * b[2]);
            Next { state: n + z * (h - n), cell: None, saved: vec![r, z, n, b[2]] }
        }
        CellKind::Tanh | CellKind::Relu => {
            let sum = a[0] + b[0];
            let state = if kind == CellKind::Tanh { tanh(sum) } else { sum.max(sum.like(0.0)) };
            Next { state, cell: None, saved: vec![state] }
        }
    }
}

/// A cell state before a step and after it, and the gradient that arrives there.
struct Moved<'a> {
    before: Value<'a>,
    now: Value<'a>,
    arriving: Value<'a>,
}

/// Gradients of a unit's gates, the input's and the state's, and what goes on to the states before directly.
struct Slopes<'a> {
    input: Vec<Value<'a>>,
    state: Vec<Value<'a>>,
    direct: [Value<'a>; 2],
}

fn gate_slopes<'a>(
    kind: CellKind,
    saved: &[Value<'a>],
    h: Value<'a>,
    dh: Value<'a>,
    cell: Option<Moved<'a>>,
) -> Slopes<'a> {
    let (one, zero) = (dh.like(1.0), dh.like(0.0));
    let of_sigmoid = |s: Value<'a>| s * (one - s);
    let of_tanh = |t: Value<'a>| one - t * t;
    let alike = |gate: Value<'a>| Slopes { input: vec![gate], state: vec![gate], direct: [zero; 2] };
    match (kind, cell) {
        (CellKind::Lstm, Some(cell)) => {
            let (i, f, g, o) = (saved[0], saved[1], saved[2], saved[3]);
            let t = tanh(cell.now);
            let dc = cell.arriving + dh * o * of_tanh(t);
            let gates = vec![
                dc * g * of_sigmoid(i),
                dc * cell.before * of_sigmoid(f),
                dc * i * of_tanh(g),
                dh * t * of_sigmoid(o),
            ];
            Slopes { input: gates.clone(), state: gates, direct: [zero, dc * f] }
        }
        (CellKind::Gru, _) => {
            let (r, z, n, b2) = (saved[0], saved[1], saved[2], saved[3]);
            let dn = dh * (one - z) * of_tanh(n);
            let (of_r, of_z) = (dn * b2 * of_sigmoid(r), dh * (h - n) * of_sigmoid(z));
            Slopes { input: vec![of_r, of_z, dn], state: vec![of_r, of_z, dn * r], direct: [dh * z, zero] }
        }
        (CellKind::Relu, _) => alike(zero.lt(saved[0]).choose(dh, zero)),
        _ => alike(dh * of_tanh(saved[0])),
    }
}
