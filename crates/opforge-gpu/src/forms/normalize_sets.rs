//! Normalisation of sets of elements: batch and group norm. Sets that are few and long are gone through by parts, whose means and variances are combined
//! as by Chan, Golub and LeVeque, "Updating formulae and a pairwise algorithm for computing sample variances" (1979).

use opforge_core::{DType, Result};
use opforge_tile::forms::Over;

use crate::code::Code;
use crate::lower::Call;
use crate::program::{Place, Program};
use crate::team::{Found, Line, Rows, Team};
use crate::tensor::Tensor;
use crate::value::Value;

use super::normalize::{Flat, flat, inverse_root, numbered};
use super::sets::{Part, Parts, Sets, SetsOf, sum};

pub(super) fn sets(call: &Call<'_>, over: Over, eps: f64) -> Result<Program> {
    let sets = Sets::new(over, &[(Place::Input(0), call.inputs[0]), (Place::Output(0), call.outputs[0])]);
    match sets.parts() {
        None => call.one(|k| {
            whole(k, call, &sets, eps);
            Ok(())
        }),
        Some(parts) => by_parts(call, &sets, parts, eps),
    }
}

/// A team for each set.
fn whole(k: &Code, call: &Call<'_>, sets: &Sets, eps: f64) {
    let (of, x, y) = (sets.written(k), sets.tensor(k, 0), sets.tensor(k, 1));
    let (dtype, affine) = (x.dtype.compute(), Affine::new(k, call));
    let statistics = [1, 2].map(|i| flat(k, Place::Output(i), call.outputs[i]));
    sets.teams(k, sets.whole(), |team| {
        let moments = Moments::new(team, &of, &x);
        let variance = team.number(|line| moments.squares.of(line) / of.count(line, dtype));
        team.each(|line, i| {
            let at = of.at(&line.at, i);
            let rstd = inverse_root(variance(line), eps);
            let values = affine.normalized(x.load_pack(&at, of.width), moments.mean(&of, line), rstd, at[1]);
            y.store_pack(&at, &values);
        });
        team.once(|line| {
            for (tensor, number) in statistics.iter().zip([moments.mean(&of, line), variance(line)]) {
                tensor.store(line.row, number);
            }
        });
    });
}

/// What is found of a set, or a part of one.
struct Moments<'a> {
    total: Found<'a>,
    /// The sum of squared distances from the mean.
    squares: Found<'a>,
    dtype: DType,
}

impl<'a> Moments<'a> {
    fn new(team: &Team<'_, 'a, Part<'a>>, of: &SetsOf<'a>, x: &Tensor<'a>) -> Self {
        let dtype = x.dtype.compute();
        let pack = team.element(|line, i| x.load_pack(&of.at(&line.at, i), of.width));
        let total = team.sum(dtype, |line, i| sum(&pack(line, i)));
        let squares = team.sum(dtype, |line, i| {
            let mean = total.of(line) / of.count(line, dtype);
            let square = |x: Value<'a>| {
                let distance = x - mean;
                distance * distance
            };
            sum(&pack(line, i).into_iter().map(square).collect::<Vec<_>>())
        });
        Moments { total, squares, dtype }
    }

    fn mean(&self, of: &SetsOf<'a>, line: &Line<'a, Part<'a>>) -> Value<'a> {
        self.total.of(line) / of.count(line, self.dtype)
    }
}

/// Means and squares of parts, those of sets, and then the elements.
fn by_parts(call: &Call<'_>, sets: &Sets, parts: Parts, eps: f64) -> Result<Program> {
    let dtype = call.inputs[0].dtype.compute();
    let mut program = Program::default();
    let places = [(); 2].map(|()| program.scratch(dtype, parts.count * sets.count()));
    program.launch(call.target, |k| {
        let (of, x) = (sets.written(k), sets.tensor(k, 0));
        let found = places.map(|place| k.strided(place, dtype, &[parts.count * sets.count()], &[1], true));
        sets.teams(k, parts, |team| {
            let moments = Moments::new(team, &of, &x);
            team.once(|line| {
                found[0].store(&[line.row], moments.mean(&of, line));
                found[1].store(&[line.row], moments.squares.of(line));
            });
        });
        Ok(())
    })?;
    program.launch(call.target, |k| {
        combined(k, call, sets, parts, places);
        Ok(())
    })?;
    program.launch(call.target, |k| {
        let (x, y, affine) = (sets.tensor(k, 0), sets.tensor(k, 1), Affine::new(k, call));
        let [mean, variance] = [1, 2].map(|i| numbered(k, Place::Output(i), call.outputs[i], false));
        sets.each(k, |at, set| {
            let (mean, rstd) = (mean.load(set).to(dtype), inverse_root(variance.load(set).to(dtype), eps));
            y.store_pack(at, &affine.normalized(x.load_pack(at, sets.width()), mean, rstd, at[1]));
        });
        Ok(())
    })?;
    Ok(program)
}

/// Mean and variance of each set, of those of its parts.
fn combined<'a>(k: &'a Code, call: &Call<'_>, sets: &Sets, parts: Parts, places: [Place; 2]) {
    let (dtype, count) = (call.inputs[0].dtype.compute(), sets.count());
    let [means, squares] = places.map(|place| k.strided(place, dtype, &[parts.count, count], &[count, 1], false));
    let statistics = [1, 2].map(|i| flat(k, Place::Output(i), call.outputs[i]));
    let (number, all, most) = (k.size(parts.count), k.size(sets.len()), k.size(parts.len * sets.width()));
    let elements = |part: Value<'a>| (all - part * most).min(most).to(dtype);
    let rows = Rows::new(count, parts.count, count > 1);
    k.teams(
        rows,
        |_| ((), number),
        |team| {
            let all = all.to(dtype);
            let total = team.sum(dtype, |line, i| elements(i) * means.load(&[i, line.row]));
            let mean = team.number(|line| total.of(line) / all);
            let sum = team.sum(dtype, |line, i| {
                let distance = means.load(&[i, line.row]) - mean(line);
                squares.load(&[i, line.row]) + elements(i) * (distance * distance)
            });
            team.once(|line| {
                for (tensor, number) in statistics.iter().zip([mean(line), sum.of(line) / all]) {
                    tensor.store(line.row, number);
                }
            });
        },
    );
}

/// The weight and the bias of channels.
struct Affine<'a> {
    weight: Option<Flat<'a>>,
    bias: Option<Flat<'a>>,
}

impl<'a> Affine<'a> {
    fn new(k: &'a Code, call: &Call<'_>) -> Self {
        let parameter = |i: usize| call.inputs.get(i).map(|meta| flat(k, Place::Input(i), meta));
        Affine { weight: parameter(1), bias: parameter(2) }
    }

    /// Values of a channel, normalised.
    fn normalized(&self, x: Vec<Value<'a>>, mean: Value<'a>, rstd: Value<'a>, channel: Value<'a>) -> Vec<Value<'a>> {
        let [weight, bias] = [&self.weight, &self.bias].map(|of| of.as_ref().map(|of| of.load(channel)));
        let value = |x: Value<'a>| {
            let mut result = (x - mean) * rstd;
            result = weight.map_or(result, |weight| result * weight);
            bias.map_or(result, |bias| result + bias)
        };
        x.into_iter().map(value).collect()
    }
}

/// `(x - center) scale + shift`
pub(super) fn channels(call: &Call<'_>) -> Result<Program> {
    let dtype = call.inputs[0].dtype.compute();
    let sets = Sets::new(Over::Batch, &[(Place::Input(0), call.inputs[0]), (Place::Output(0), call.outputs[0])]);
    call.one(|k| {
        let (x, y) = (sets.tensor(k, 0), sets.tensor(k, 1));
        let numbers = [1, 2, 3].map(|i| flat(k, Place::Input(i), call.inputs[i]));
        sets.each(k, |at, channel| {
            let [center, scale, shift] = [0, 1, 2].map(|i| numbers[i].load(channel).to(dtype));
            let values = x.load_pack(at, sets.width()).into_iter().map(|x| (x - center) * scale + shift);
            y.store_pack(at, &values.collect::<Vec<_>>());
        });
        Ok(())
    })
}
