//! The gradients of batch and group norm. Sums of `g` and of `g h`, where `g` arrives and `h` is a normalised element, are the gradients of bias and weight,
//! and what that of the input is made of: `(w g - mean(w g) - h mean(w g h)) / deviation`, with means over sets.

use opforge_core::{DType, Meta, Result};
use opforge_tile::forms::Over;

use crate::code::Code;
use crate::lower::Call;
use crate::program::{Place, Program};
use crate::team::Rows;
use crate::tensor::Tensor;
use crate::value::Value;

use super::normalize::{Flat, flat, inverse_root, numbered};
use super::sets::{Parts, Sets, sum};

pub(super) fn sets_gradient(call: &Call<'_>, over: Over, eps: f64) -> Result<Program> {
    let tensors = [(Place::Input(0), call.inputs[0]), (Place::Input(1), call.inputs[1])];
    let sets = Sets::new(over, &[tensors[0], tensors[1], (Place::Output(0), call.outputs[0])]);
    let mut program = Program::default();
    slot_sums(call, &mut program, &sets, eps)?;
    let totals = match over {
        Over::Batch => None,
        Over::Groups(_) => Some(set_totals(call, &mut program, &sets)?),
    };
    program.launch(call.target, |k| {
        input_gradient(k, call, &sets, totals, eps);
        Ok(())
    })?;
    Ok(program)
}

/// The gradient of the input: of the totals of sets, or, where none are given, of the sums of channels, which are not weighted.
fn input_gradient<'a>(k: &'a Code, call: &Call<'_>, sets: &Sets, totals: Option<[Place; 2]>, eps: f64) {
    let dtype = call.inputs[0].dtype.compute();
    let (from, weight, dx) = (Gradient::new(k, call, sets, eps), weight(k, call), sets.tensor(k, 2));
    let sums = match totals {
        None => slots(k, call, false),
        Some(places) => places.map(|place| numbered(k, place, &total(dtype, sets), false)),
    };
    let count = k.size(sets.len()).to(dtype);
    sets.each(k, |at, set| {
        let weight = weight.as_ref().map(|weight| weight.load(at[1]));
        let weighted = |x: Value<'a>| weight.map_or(x, |weight| x * weight);
        let mean = |of: &Flat<'a>| {
            let sum = of.load(set).to(dtype);
            if totals.is_some() { sum / count } else { weighted(sum) / count }
        };
        let ([by_h, alone], rstd) = ([mean(&sums[0]), mean(&sums[1])], from.rstd(set));
        let value = |(g, h)| (weighted(g) - alone - h * by_h) * rstd;
        let values = from.g.load_pack(at, sets.width()).into_iter().zip(from.h(at, set));
        dx.store_pack(at, &values.map(value).collect::<Vec<_>>());
    });
}

/// What gradients of sets are made of.
struct Gradient<'a> {
    x: Tensor<'a>,
    g: Tensor<'a>,
    mean: Flat<'a>,
    variance: Flat<'a>,
    eps: f64,
    width: usize,
}

impl<'a> Gradient<'a> {
    fn new(k: &'a Code, call: &Call<'_>, sets: &Sets, eps: f64) -> Self {
        let flat = |i: usize| flat(k, Place::Input(i), call.inputs[i]);
        let (x, g) = (sets.tensor(k, 0), sets.tensor(k, 1));
        Gradient { x, g, mean: flat(2), variance: flat(3), eps, width: sets.width() }
    }

    fn rstd(&self, set: Value<'a>) -> Value<'a> {
        inverse_root(self.variance.load(set), self.eps).to(self.x.dtype.compute())
    }

    /// The normalised elements of a pack.
    fn h(&self, at: &[Value<'a>], set: Value<'a>) -> Vec<Value<'a>> {
        let (mean, rstd) = (self.mean.load(set).to(self.x.dtype.compute()), self.rstd(set));
        self.x.load_pack(at, self.width).into_iter().map(|x| (x - mean) * rstd).collect()
    }
}

fn weight<'a>(k: &'a Code, call: &Call<'_>) -> Option<Flat<'a>> {
    call.inputs.get(4).map(|meta| flat(k, Place::Input(4), meta))
}

/// The gradients of weight and bias: for groups, a number a channel and element of the batch.
fn slots<'a>(k: &'a Code, call: &Call<'_>, written: bool) -> [Flat<'a>; 2] {
    [1, 2].map(|i| numbered(k, Place::Output(i), call.outputs[i], written))
}

/// Sums over slots: by parts, where these are few and long.
fn slot_sums(call: &Call<'_>, program: &mut Program, sets: &Sets, eps: f64) -> Result<()> {
    let (own, dtype) = (sets.slots(), call.inputs[0].dtype.compute());
    let Some(parts) = own.parts() else {
        return program.launch(call.target, |k| {
            let sums = slots(k, call, true);
            part_sums(k, call, [sets, &own], own.whole(), eps, |row, found| {
                sums.iter().zip(found).for_each(|(sum, found)| sum.store(row, found));
            });
            Ok(())
        });
    };
    let (count, numbers) = (own.count(), parts.count * own.count());
    let places = [(); 2].map(|()| program.scratch(dtype, numbers));
    program.launch(call.target, |k| {
        let sums = places.map(|place| k.strided(place, dtype, &[numbers], &[1], true));
        part_sums(k, call, [sets, &own], parts, eps, |row, found| {
            sums.iter().zip(found).for_each(|(sum, found)| sum.store(&[row], found));
        });
        Ok(())
    })?;
    program.launch(call.target, |k| {
        let found = places.map(|place| k.strided(place, dtype, &[parts.count, count], &[count, 1], false));
        let (sums, number) = (slots(k, call, true), k.size(parts.count));
        let rows = Rows::new(count, parts.count, count > 1);
        let locate = |_| ((), number);
        k.teams(rows, locate, |team| {
            let totals = team.sums(dtype, |line, i| [0, 1].map(|n| found[n].load(&[i, line.row])));
            team.once(|line| sums.iter().zip(totals).for_each(|(sum, total)| sum.store(line.row, total.of(line))));
        });
        Ok(())
    })
}

/// The sums of `g h` and `g` over each part of a slot: `store` is given the part's row and both.
fn part_sums<'a>(
    k: &'a Code,
    call: &Call<'_>,
    [sets, slots]: [&Sets; 2],
    parts: Parts,
    eps: f64,
    store: impl Fn(Value<'a>, [Value<'a>; 2]),
) {
    let (of, own, from) = (sets.written(k), slots.written(k), Gradient::new(k, call, sets, eps));
    slots.teams(k, parts, |team| {
        let found = team.sums(from.x.dtype.compute(), |line, i| {
            let at = own.at(&line.at, i);
            let (g, h) = (from.g.load_pack(&at, from.width), from.h(&at, of.set(at[0], at[1])));
            let products: Vec<_> = g.iter().zip(h).map(|(&g, h)| g * h).collect();
            [sum(&products), sum(&g)]
        });
        team.once(|line| store(line.row, found.map(|found| found.of(line))));
    });
}

/// A number a set.
fn total(dtype: DType, sets: &Sets) -> Meta {
    Meta::contiguous(dtype, sets.count())
}

/// The weighted sums of `g h` and `g` over each set, of those over its channels.
fn set_totals(call: &Call<'_>, program: &mut Program, sets: &Sets) -> Result<[Place; 2]> {
    let dtype = call.inputs[0].dtype.compute();
    let places = [(); 2].map(|()| program.scratch(dtype, sets.count()));
    program.launch(call.target, |k| {
        let (of, from, weight) = (sets.written(k), slots(k, call, false), weight(k, call));
        let to = places.map(|place| numbered(k, place, &total(dtype, sets), true));
        let runs = k.size(sets.runs());
        k.teams(
            Rows::dense(sets.count(), sets.runs()),
            |_| ((), runs),
            |team| {
                let totals = team.sums(dtype, |line, i| {
                    let channel = of.run(line.row, i)[1];
                    let weight = weight.as_ref().map(|weight| weight.load(channel));
                    let slot = line.row * runs + i;
                    [0, 1].map(|n| {
                        let sum = from[n].load(slot).to(dtype);
                        weight.map_or(sum, |weight| sum * weight)
                    })
                });
                team.once(|line| to.iter().zip(totals).for_each(|(to, total)| to.store(line.row, total.of(line))));
            },
        );
        Ok(())
    })?;
    Ok(places)
}
