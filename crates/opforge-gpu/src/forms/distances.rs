//! Distances between rows, and their gradient: a thread a result.

use opforge_core::{Error, Meta, Result, Shape};
use opforge_tile::forms::Distances;

use super::math::pow;
use crate::code::Code;
use crate::lower::Call;
use crate::program::{Place, Program};
use crate::tensor::Tensor;
use crate::value::Value;

/// Both matrices of rows, and what each pair of rows has.
struct Problem<'a> {
    x: Tensor<'a>,
    y: Tensor<'a>,
    order: f64,
    pairs: bool,
}

pub(crate) fn distances(call: &Call<'_>, form: &Distances) -> Result<Program> {
    call.real(call.inputs)?;
    let (order, output) = (form.order.to_f64(), call.outputs[0]);
    let lead = if form.pairs { &[] } else { &output.dims()[..output.rank() - 2] };
    let stretched = |meta: &Meta| {
        let rows = &meta.dims()[meta.rank() - meta.rank().min(2)..];
        let shape: Shape = lead.iter().chain(rows).copied().collect();
        Ok::<_, Error>(Meta { dtype: meta.dtype, layout: meta.layout.broadcast_as(&shape, call.op)? })
    };
    let inputs = call.inputs.iter().map(|&meta| stretched(meta)).collect::<Result<Vec<Meta>>>()?;
    let first = usize::from(form.gradient);
    let second = first + usize::from(!form.pairs);
    let rows = |i: usize| inputs[i].dims()[lead.len()];
    if form.pairs && rows(first).saturating_mul(rows(first)) >= 1 << 31 {
        return Err(call.refuse("input", format!("{:?}", inputs[first].layout), "fewer than 46341 rows"));
    }
    call.one(|k| {
        let input = |i: usize| k.tensor(Place::Input(i), &inputs[i], false);
        let problem = Problem { x: input(first), y: input(second), order, pairs: form.pairs };
        let out = k.output(0, output);
        if form.gradient {
            problem.gradient(k, output.dims(), [input(0), input(second + 1)], &out);
        } else {
            problem.between(k, &[lead, &[rows(first), rows(second)]].concat(), &out);
        }
        Ok(())
    })
}

impl<'a> Problem<'a> {
    /// The index of the distance of two rows, `i < j` of pairs.
    fn place(&self, lead: &[Value<'a>], i: Value<'a>, j: Value<'a>) -> Vec<Value<'a>> {
        if !self.pairs {
            return [lead, &[i, j]].concat();
        }
        let n = self.x.last(2);
        vec![i * (n + n - i - 1) / 2 + j - i - 1]
    }

    fn between(&self, k: &'a Code, dims: &[usize], out: &Tensor<'a>) {
        k.each_of(dims, |at| {
            let (lead, i, j) = (&at[..at.len() - 2], at[at.len() - 2], at[at.len() - 1]);
            let write = || {
                let sum = k.var(k.constant(0.0, out.dtype));
                k.repeat(self.x.last(1), |c| sum.set(self.add(sum.get(), self.difference(lead, i, j, c))));
                out.store(&self.place(lead, i, j), self.finish(sum.get()));
            };
            if self.pairs { k.when(i.lt(j), write) } else { write() }
        });
    }

    fn gradient(&self, k: &'a Code, dims: &[usize], [gradients, distances]: [Tensor<'a>; 2], out: &Tensor<'a>) {
        k.each_of(dims, |at| {
            let (lead, i, c) = (&at[..at.len() - 2], at[at.len() - 2], at[at.len() - 1]);
            let sum = k.var(k.constant(0.0, out.dtype));
            k.repeat(self.y.last(2), |j| {
                let add = || {
                    let place = if self.pairs { self.place(lead, i.min(j), i.max(j)) } else { self.place(lead, i, j) };
                    let share = self.share(self.difference(lead, i, j, c), distances.load(&place));
                    sum.add(self.weight(gradients.load(&place), distances.load(&place)) * share);
                };
                if self.pairs { k.when(i.differs(j), add) } else { add() }
            });
            out.store(at, sum.get());
        });
    }

    fn difference(&self, lead: &[Value<'a>], i: Value<'a>, j: Value<'a>, c: Value<'a>) -> Value<'a> {
        self.x.load(&[lead, &[i, c]].concat()) - self.y.load(&[lead, &[j, c]].concat())
    }

    /// A sum with one more difference.
    fn add(&self, sum: Value<'a>, difference: Value<'a>) -> Value<'a> {
        let (magnitude, zero) = (difference.abs(), sum.like(0.0));
        match self.order {
            0.0 => sum + zero.lt(magnitude).choose(sum.like(1.0), magnitude),
            1.0 => sum + magnitude,
            2.0 => difference.mul_add(difference, sum),
            f64::INFINITY => sum.max(magnitude),
            // The order may be so small that it is 0 as an f32.
            p => sum + magnitude.equals(zero).choose(zero, pow(magnitude, sum.like(p))),
        }
    }

    /// The norm.
    fn finish(&self, sum: Value<'a>) -> Value<'a> {
        match self.order {
            0.0 | 1.0 | f64::INFINITY => sum,
            2.0 => sum.sqrt(),
            p => pow(sum, sum.like(1.0 / p)),
        }
    }

    /// What all differences of a distance are multiplied by.
    fn weight(&self, gradient: Value<'a>, distance: Value<'a>) -> Value<'a> {
        let zero = gradient.like(0.0);
        match self.order {
            0.0 => zero,
            1.0 => gradient,
            2.0 => distance.equals(zero).choose(zero, gradient / distance),
            f64::INFINITY => distance.is_nan().choose(distance, gradient),
            _ => distance.equals(zero).choose(zero, gradient),
        }
    }

    /// A difference's share in the gradient, without the weight.
    fn share(&self, difference: Value<'a>, distance: Value<'a>) -> Value<'a> {
        let (zero, one) = (difference.like(0.0), difference.like(1.0));
        let sign = zero.lt(difference).choose(one, difference.lt(zero).choose(one.like(-1.0), difference));
        match self.order {
            0.0 => zero,
            1.0 => sign,
            2.0 => difference,
            f64::INFINITY => difference.abs().lt(distance).choose(zero, sign),
            p => {
                let divisor = distance.equals(zero).choose(one, distance);
                let ratio = difference.abs() * (one / divisor);
                let power = ratio.equals(zero).choose(ratio, pow(ratio, one.like(p - 1.0)));
                difference.lt(zero).choose(-power, power)
            }
        }
    }
}
