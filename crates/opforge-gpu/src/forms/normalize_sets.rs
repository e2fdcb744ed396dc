//! Normalisation of sets of elements (batch and group norm), and its gradients.

use opforge_core::{Meta, Result};
use opforge_tile::forms::Over;

use crate::code::Code;
use crate::lower::Call;
use crate::program::{Place, Program};
use crate::tensor::Tensor;
use crate::value::Value;

use super::normalize::{Flat, flat, inverse_root};

/// How `[batch, channels, ..]` is divided: sets, each of so many runs of a plane.
struct Sets {
    over: Over,
    batch: usize,
    channels: usize,
    plane: Vec<usize>,
}

impl Sets {
    fn new(meta: &Meta, over: Over) -> Self {
        let dims = meta.dims();
        Sets { over, batch: dims[0], channels: dims[1], plane: dims[2..].to_vec() }
    }

    fn count(&self) -> usize {
        match self.over {
            Over::Batch => self.channels,
            Over::Groups(groups) => self.batch * groups,
        }
    }

    /// The planes of a set.
    fn runs(&self) -> usize {
        match self.over {
            Over::Batch => self.batch,
            Over::Groups(groups) => self.channels / groups.max(1),
        }
    }

    fn len(&self) -> usize {
        self.runs() * self.plane.iter().product::<usize>()
    }

    fn written<'a>(&self, k: &'a Code) -> SetsOf<'a> {
        let sizes = self.plane.iter().map(|&n| k.size(n)).collect();
        let groups = match self.over {
            Over::Batch => None,
            Over::Groups(groups) => Some(k.size(groups)),
        };
        SetsOf { k, groups, runs: k.size(self.runs()), plane: k.size(self.plane.iter().product()), sizes }
    }
}

/// The same in a kernel.
struct SetsOf<'a> {
    k: &'a Code,
    groups: Option<Value<'a>>,
    runs: Value<'a>,
    plane: Value<'a>,
    sizes: Vec<Value<'a>>,
}

impl<'a> SetsOf<'a> {
    /// The batch's element and the channel of a set's run.
    fn run(&self, set: Value<'a>, run: Value<'a>) -> [Value<'a>; 2] {
        match self.groups {
            None => [run, set],
            Some(groups) => [set / groups, set % groups * self.runs + run],
        }
    }

    /// Where in the tensor element `i` of a set is.
    fn at(&self, set: Value<'a>, i: Value<'a>) -> Vec<Value<'a>> {
        let mut at = self.run(set, i / self.plane).to_vec();
        at.extend(self.k.unravelled(i % self.plane, &self.sizes));
        at
    }

    /// The set of an element of a batch and a channel.
    fn set(&self, batch: Value<'a>, channel: Value<'a>) -> Value<'a> {
        match self.groups {
            None => channel,
            Some(groups) => batch * groups + channel / self.runs,
        }
    }
}

pub(super) fn sets(call: &Call<'_>, over: Over, eps: f64) -> Result<Program> {
    let (x, dtype) = (call.inputs[0], call.inputs[0].dtype.compute());
    let sets = Sets::new(x, over);
    call.one(|k| {
        let of = sets.written(k);
        let (x, y) = (k.input(0, x), k.output(0, call.outputs[0]));
        let parameter = |i: usize| call.inputs.get(i).map(|meta| flat(k, Place::Input(i), meta));
        let (weight, bias) = (parameter(1), parameter(2));
        let statistics = [1, 2].map(|i| flat(k, Place::Output(i), call.outputs[i]));
        k.teams(sets.count(), sets.len(), |team, set| {
            let count = team.count(dtype);
            let total = team.sum(dtype, |i| x.load(&of.at(set, i)));
            let mean = || total.get() / count;
            let squares = team.sum(dtype, |i| {
                let distance = x.load(&of.at(set, i)) - mean();
                distance * distance
            });
            let variance = || squares.get() / count;
            team.each(|i| {
                let at = of.at(set, i);
                let mut result = (x.load(&at) - mean()) * inverse_root(variance(), eps);
                result = weight.as_ref().map_or(result, |weight| result * weight.load(at[1]));
                result = bias.as_ref().map_or(result, |bias| result + bias.load(at[1]));
                y.store(&at, result);
            });
            team.once(|| {
                for (tensor, number) in statistics.iter().zip([mean(), variance()]) {
                    tensor.store(set, number);
                }
            });
        });
        Ok(())
    })
}

/// What gradients of sets are made of.
struct Gradient<'a> {
    x: Tensor<'a>,
    g: Tensor<'a>,
    mean: Flat<'a>,
    variance: Flat<'a>,
    eps: f64,
}

impl<'a> Gradient<'a> {
    fn new(k: &'a Code, call: &Call<'_>, eps: f64) -> Self {
        let flat = |i: usize| flat(k, Place::Input(i), call.inputs[i]);
        let (x, g) = (k.input(0, call.inputs[0]), k.input(1, call.inputs[1]));
        Gradient { x, g, mean: flat(2), variance: flat(3), eps }
    }

    fn rstd(&self, set: Value<'a>) -> Value<'a> {
        inverse_root(self.variance.load(set), self.eps).to(self.x.dtype.compute())
    }

    /// The gradient that arrives, times the weight.
    fn weighted(&self, weight: &Option<Flat<'a>>, at: &[Value<'a>]) -> Value<'a> {
        let g = self.g.load(at);
        weight.as_ref().map_or(g, |weight| g * weight.load(at[1]))
    }

    /// The normalised element.
    fn h(&self, at: &[Value<'a>], set: Value<'a>) -> Value<'a> {
        (self.x.load(at) - self.mean.load(set).to(self.x.dtype.compute())) * self.rstd(set)
    }
}

pub(super) fn sets_gradient(call: &Call<'_>, over: Over, eps: f64) -> Result<Program> {
    let dtype = call.inputs[0].dtype.compute();
    let sets = Sets::new(call.inputs[0], over);
    let mut program = Program::default();
    program.launch(call.target, |k| {
        let (of, from) = (sets.written(k), Gradient::new(k, call, eps));
        let weight = call.inputs.get(4).map(|meta| flat(k, Place::Input(4), meta));
        let dx = k.output(0, call.outputs[0]);
        k.teams(sets.count(), sets.len(), |team, set| {
            let count = team.count(dtype);
            let of_g = team.sum(dtype, |i| from.weighted(&weight, &of.at(set, i)));
            let of_gh = team.sum(dtype, |i| {
                let at = of.at(set, i);
                from.weighted(&weight, &at) * from.h(&at, set)
            });
            team.each(|i| {
                let at = of.at(set, i);
                let inner = from.weighted(&weight, &at) - of_g.get() / count - from.h(&at, set) * (of_gh.get() / count);
                dx.store(&at, inner * from.rstd(set));
            });
        });
        Ok(())
    })?;
    if call.outputs.len() > 1 {
        parameters_gradient(call, &mut program, &sets, eps)?;
    }
    Ok(program)
}

/// The gradients of weight and bias: for groups, a number a channel and element of the batch.
fn parameters_gradient(call: &Call<'_>, program: &mut Program, sets: &Sets, eps: f64) -> Result<()> {
    let whole = matches!(sets.over, Over::Batch);
    let plane: usize = sets.plane.iter().product();
    let (slots, len) = if whole { (sets.channels, sets.batch * plane) } else { (sets.batch * sets.channels, plane) };
    let dtype = call.outputs[1].dtype.compute();
    program.launch(call.target, |k| {
        let (of, from) = (sets.written(k), Gradient::new(k, call, eps));
        let sums = call.outputs.iter().enumerate().skip(1).map(|(i, meta)| flat(k, Place::Output(i), meta));
        let sums: Vec<_> = sums.collect();
        let channels = k.size(sets.channels);
        k.teams(slots, len, |team, slot| {
            let place = |i| {
                let (batch, channel) = if whole { (i / of.plane, slot) } else { (slot / channels, slot % channels) };
                let mut at = vec![batch, channel];
                at.extend(k.unravelled(i % of.plane, &of.sizes));
                at
            };
            let by_h = team.sum(dtype, |i| {
                let at = place(i);
                (from.g.load(&at) * from.h(&at, of.set(at[0], at[1]))).to(dtype)
            });
            let alone = team.sum(dtype, |i| from.g.load(&place(i)).to(dtype));
            team.once(|| {
                for (tensor, sum) in sums.iter().zip([by_h, alone]) {
                    tensor.store(slot, sum.get());
                }
            });
        });
        Ok(())
    })
}

/// `(x - center) scale + shift`
pub(super) fn channels(call: &Call<'_>) -> Result<Program> {
    let dtype = call.inputs[0].dtype.compute();
    call.one(|k| {
        let (x, y) = (k.input(0, call.inputs[0]), k.output(0, call.outputs[0]));
        let [center, scale, shift] = [1, 2, 3].map(|i| flat(k, Place::Input(i), call.inputs[i]));
        k.each_of(call.outputs[0].dims(), |at| {
            let [center, scale, shift] = [&center, &scale, &shift].map(|of| of.load(at[1]).to(dtype));
            y.store(at, (x.load(at) - center) * scale + shift);
        });
        Ok(())
    })
}
