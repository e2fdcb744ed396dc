//! Running results: a thread a line, or groups.

use opforge_core::{DType, Meta, Result};
use opforge_tile::forms::{Running, Scan};

use crate::code::Code;
use crate::kernel::INDEX;
use crate::lower::Call;
use crate::pack;
use crate::program::{Place, Program};
use crate::team::Pack;
use crate::tensor::Tensor;
use crate::value::{Value, Var};

use super::math::{exp, log1p};
use super::scan_groups::{self, Ends};
use super::search::{beats, ordered, ordered_dtype};

/// A tensor's lines along an axis.
pub(crate) struct Lines<'a> {
    of: Tensor<'a>,
    step: Value<'a>,
}

impl<'a> Lines<'a> {
    pub fn new(k: &'a Code, place: Place, meta: &Meta, axis: usize) -> Self {
        let without = |all: &[usize]| [&all[..axis], &all[axis + 1..]].concat();
        let (dims, stride) = (meta.dims(), meta.layout.stride());
        let written = matches!(place, Place::Output(_));
        let of = k.strided(place, meta.dtype, &without(dims), &without(stride), written);
        Lines { of, step: k.size(stride[axis]) }
    }

    /// The lengths of the other dimensions.
    pub fn others(meta: &Meta, axis: usize) -> Vec<usize> {
        [&meta.dims()[..axis], &meta.dims()[axis + 1..]].concat()
    }

    /// Elements of packs that all of these tensors have side by side, each along an axis; the first one has all lines.
    pub fn width(of: &[(&Meta, usize)]) -> usize {
        let moved = |all: &[usize], axis: usize| [&all[..axis], &all[axis + 1..], &all[axis..=axis]].concat();
        let steps: Vec<Vec<usize>> = of.iter().map(|&(meta, axis)| moved(meta.layout.stride(), axis)).collect();
        let dtypes = of.iter().map(|(meta, _)| meta.dtype);
        pack::width(&moved(of[0].0.dims(), of[0].1), dtypes.zip(steps.iter().map(Vec::as_slice)))
    }

    /// Where the line of this number is, in row-major order.
    pub fn at(&self, line: Value<'a>) -> Vec<Value<'a>> {
        self.of.code.unravelled(line, &self.of.dims)
    }

    fn place(&self, at: &[Value<'a>], i: Value<'a>) -> Value<'a> {
        self.of.place(at) + i * self.step
    }

    pub fn load(&self, at: &[Value<'a>], i: Value<'a>) -> Value<'a> {
        self.of.load_at(self.place(at, i))
    }

    pub fn store(&self, at: &[Value<'a>], i: Value<'a>, value: Value<'a>) {
        self.of.store_at(self.place(at, i), value.to(self.of.dtype.compute()));
    }

    /// The elements of a pack; where the step is 0, one for all.
    pub fn load_pack(&self, at: &[Value<'a>], pack: &Pack<'a>) -> Vec<Value<'a>> {
        let first = self.place(at, pack.first);
        match self.step.is(0) {
            true => vec![self.of.load_at(first); pack.width],
            false => self.of.load_pack_at(first, pack.width),
        }
    }

    pub fn store_pack(&self, at: &[Value<'a>], pack: &Pack<'a>, values: &[Value<'a>]) {
        let values: Vec<Value<'a>> = values.iter().map(|value| value.to(self.of.dtype.compute())).collect();
        self.of.store_pack_at(self.place(at, pack.first), &values);
    }
}

/// Whether a group goes through each of `rows` lines, a thread otherwise. Of lines along an outer axis neighbouring threads read neighbouring elements,
/// while lanes of one group would not: they are left to threads where these are many.
pub(crate) fn is_for_groups(len: usize, step: usize, rows: usize) -> bool {
    len >= 512 && (step == 1 || rows < 4096)
}

pub(crate) fn scan(call: &Call<'_>, form: &Scan) -> Result<Program> {
    let (input, output, axis) = (call.inputs[0], call.outputs[0], form.axis);
    call.real(&[input, output])?;
    let of = States::new(form.running, input.dtype, call.wide(input.dtype));
    let (others, len) = (Lines::others(input, axis), input.dims()[axis]);
    let lines = others.iter().product();
    if is_for_groups(len, input.layout.stride()[axis], lines) {
        let mut program = Program::default();
        scan_groups::run(call.target, &mut program, &of, [lines, len], |k| {
            let (x, y) = (Lines::new(k, Place::Input(0), input, axis), Lines::new(k, Place::Output(0), output, axis));
            let of = of.clone();
            Ends {
                state: Box::new(move |line, i| of.state(x.load(&x.at(line), i), i)),
                keep: Box::new(move |line, i, state| y.store(&y.at(line), i, States::result(state))),
            }
        })?;
        return Ok(program);
    }
    call.one(|k| {
        let (x, y) = (Lines::new(k, Place::Input(0), input, axis), Lines::new(k, Place::Output(0), output, axis));
        k.each_of(&others, |at| {
            let first = k.index(0);
            let all = vars(&of.start(k, || of.state(x.load(at, first), first)));
            k.repeat(k.size(len), |i| {
                let next = of.combined(&get(&all), &of.state(x.load(at, i), i));
                set(&all, &next);
                y.store(at, i, States::result(&next));
            });
        });
        Ok(())
    })
}

/// Variables that begin with a state, their state, and another.
pub(super) fn vars<'a>(state: &[Value<'a>]) -> Vec<Var<'a>> {
    state.iter().map(|value| value.code.var(*value)).collect()
}

pub(super) fn get<'a>(vars: &[Var<'a>]) -> Vec<Value<'a>> {
    vars.iter().map(|var| var.get()).collect()
}

pub(super) fn set<'a>(vars: &[Var<'a>], state: &[Value<'a>]) {
    vars.iter().zip(state).for_each(|(var, &value)| var.set(value));
}

/// What is known of consecutive elements, from which their running result follows: a number, or the most extreme element and its place.
#[derive(Clone)]
pub(crate) struct States {
    running: Running,
    /// The dtype of each value of a state.
    pub dtypes: Vec<DType>,
}

impl States {
    pub fn new(running: Running, dtype: DType, wide: DType) -> Self {
        let dtypes = match running {
            Running::Place(_) => vec![ordered_dtype(dtype), INDEX],
            _ => vec![wide],
        };
        States { running, dtypes }
    }

    /// That of one element, at a place.
    pub fn state<'a>(&self, x: Value<'a>, i: Value<'a>) -> Vec<Value<'a>> {
        match self.running {
            Running::Place(_) => vec![ordered(x), i],
            _ => vec![x.to(self.dtypes[0])],
        }
    }

    /// One that changes nothing if it comes before those of elements that begin with `first`.
    pub fn start<'a>(&self, k: &'a Code, first: impl FnOnce() -> Vec<Value<'a>>) -> Vec<Value<'a>> {
        let dtype = self.dtypes[0];
        vec![match self.running {
            Running::Place(_) => return first(),
            Running::Sum if dtype.is_int() => k.constant(0i64, dtype),
            Running::Product if dtype.is_int() => k.constant(1i64, dtype),
            Running::Sum => k.constant(0.0, dtype),
            Running::Product => k.constant(1.0, dtype),
            Running::LogSumExp => k.constant(f64::NEG_INFINITY, dtype),
        }]
    }

    /// That of elements that come first, and of those after them, together. It is associative.
    pub fn combined<'a>(&self, a: &[Value<'a>], b: &[Value<'a>]) -> Vec<Value<'a>> {
        match self.running {
            Running::Sum => vec![a[0] + b[0]],
            Running::Product => vec![a[0] * b[0]],
            Running::LogSumExp => vec![log_sum(a[0], b[0])],
            Running::Place(extreme) => {
                // Of equal ones the last, and of NaN.
                let next = !beats(extreme, a[0], b[0]);
                let next = if b[0].dtype().is_float() { next | b[0].is_nan() } else { next };
                a.iter().zip(b).map(|(&a, &b)| next.choose(b, a)).collect()
            }
        }
    }

    /// The running result.
    pub fn result<'a>(state: &[Value<'a>]) -> Value<'a> {
        state[state.len() - 1]
    }
}

/// `log(e^a + e^b)`; infinity less infinity is NaN.
fn log_sum<'a>(a: Value<'a>, b: Value<'a>) -> Value<'a> {
    let less = a.lt(b);
    let (least, greatest) = (less.choose(a, b), less.choose(b, a));
    let infinite = least.equals(greatest) & least.abs().equals(least.like(f64::INFINITY));
    infinite.choose(least, greatest + log1p(exp(least - greatest)))
}
