//! Running results: a thread a line.

use opforge_core::{DType, Meta, Result};
use opforge_tile::forms::{Running, Scan};

use crate::code::Code;
use crate::lower::Call;
use crate::program::{Place, Program};
use crate::tensor::Tensor;
use crate::value::Value;

use super::math::{exp, log1p};
use super::search::{beats, ordered};

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

    fn place(&self, at: &[Value<'a>], i: Value<'a>) -> Value<'a> {
        self.of.place(at) + i * self.step
    }

    pub fn load(&self, at: &[Value<'a>], i: Value<'a>) -> Value<'a> {
        self.of.load_at(self.place(at, i))
    }

    pub fn store(&self, at: &[Value<'a>], i: Value<'a>, value: Value<'a>) {
        self.of.store_at(self.place(at, i), value.to(self.of.dtype.compute()));
    }
}

pub(crate) fn scan(call: &Call<'_>, form: &Scan) -> Result<Program> {
    let (input, output) = (call.inputs[0], call.outputs[0]);
    call.real(&[input, output])?;
    let axis = form.axis;
    let wide = call.wide(input.dtype);
    call.one(|k| {
        let (x, y) = (Lines::new(k, Place::Input(0), input, axis), Lines::new(k, Place::Output(0), output, axis));
        let len = k.size(input.dims()[axis]);
        k.each_of(&Lines::others(input, axis), |at| match form.running {
            Running::Place(extreme) => {
                let (best, place) = (k.var(ordered(x.load(at, k.index(0)))), k.var(k.index(0)));
                k.repeat(len, |i| {
                    let (x, before) = (ordered(x.load(at, i)), best.get());
                    let stays = beats(extreme, before, x);
                    // Of equal ones the last, and of NaN.
                    let next = if x.dtype().is_float() { !stays | x.is_nan() } else { !stays };
                    k.when(next, || {
                        best.set(x);
                        place.set(i);
                    });
                    y.store(at, i, place.get());
                });
            }
            running => {
                let all = k.var(start(k, running, wide));
                k.repeat(len, |i| {
                    let x = x.load(at, i).to(wide);
                    let before = all.get();
                    all.set(match running {
                        Running::Sum => before + x,
                        Running::Product => before * x,
                        _ => log_sum(before, x),
                    });
                    y.store(at, i, all.get());
                });
            }
        });
        Ok(())
    })
}

fn start(k: &Code, running: Running, dtype: DType) -> Value<'_> {
    match running {
        Running::Sum if dtype.is_int() => k.constant(0i64, dtype),
        Running::Product if dtype.is_int() => k.constant(1i64, dtype),
        Running::Sum => k.constant(0.0, dtype),
        Running::Product => k.constant(1.0, dtype),
        _ => k.constant(f64::NEG_INFINITY, dtype),
    }
}

/// `log(e^a + e^b)`; infinity less infinity is NaN.
fn log_sum<'a>(a: Value<'a>, b: Value<'a>) -> Value<'a> {
    let less = a.lt(b);
    let (least, greatest) = (less.choose(a, b), less.choose(b, a));
    let infinite = least.equals(greatest) & least.abs().equals(least.like(f64::INFINITY));
    infinite.choose(least, greatest + log1p(exp(least - greatest)))
}
