//! Convolutions: each element of the tensor that is computed gathers its products, a thread an element.

use opforge_core::Result;
use opforge_tile::forms::{Geometry, MAX_SPATIAL, Part};

use crate::code::Code;
use crate::lower::Call;
use crate::program::{Place, Program};
use crate::value::{Value, Var};

use super::normalize::flat;
use super::windowed::{Planes, WindowOf, nest, split_dims};

/// The three tensors in a kernel: `x [batch, groups c, X..]`, `w [groups o, c, K..]`, `y [batch, groups o, Y..]`.
struct Convolved<'a> {
    k: &'a Code,
    x: Planes<'a>,
    w: Planes<'a>,
    y: Planes<'a>,
    windows: [WindowOf<'a>; MAX_SPATIAL],
    /// The channels of a group of the input, and of the output.
    channels: Value<'a>,
    outputs: Value<'a>,
    batch: Value<'a>,
}

pub(crate) fn convolution(call: &Call<'_>, geometry: &Geometry, part: Part) -> Result<Program> {
    let (out, spatial) = (call.outputs[0], call.outputs[0].rank() - 2);
    let (given, other) = ((Place::Input(0), call.inputs[0]), (Place::Input(1), call.inputs[1]));
    let made = (Place::Output(0), out);
    let [x, w, y] = match part {
        Part::Output => [given, other, made],
        Part::Input => [made, other, given],
        Part::Weight => [given, made, other],
    };
    let (lead, plane) = split_dims(out, spatial);
    let outputs = w.1.dims()[0] / geometry.groups;
    call.one(|k| {
        let planes = |(place, meta)| Planes::new(k, place, meta, spatial);
        let of = Convolved {
            k,
            x: planes(x),
            w: planes(w),
            y: planes(y),
            windows: geometry.windows.map(|window| WindowOf::new(k, &window)),
            channels: k.size(w.1.dims()[1]),
            outputs: k.size(outputs),
            batch: k.size(x.1.dims()[0]),
        };
        let bias = call.inputs.get(2).map(|bias| flat(k, Place::Input(2), bias));
        k.each_of(&[&lead[..], &plane].concat(), |at| {
            let (lead, at) = at.split_at(2);
            let sum = k.var(k.constant(0i64, out.dtype.compute()));
            let target = match part {
                Part::Output => {
                    of.output(sum, lead, at);
                    &of.y
                }
                Part::Input => {
                    of.input(sum, lead, at);
                    &of.x
                }
                Part::Weight => {
                    of.weight(sum, lead, at);
                    &of.w
                }
            };
            let sum = sum.get();
            target.store(lead, at, bias.as_ref().map_or(sum, |bias| sum + bias.load(lead[1])));
        });
        Ok(())
    })
}

impl<'a> Convolved<'a> {
    fn inside(&self, at: &[Value<'a>; 3], lengths: &[Value<'a>; 3]) -> Value<'a> {
        at[0].lt(lengths[0]) & at[1].lt(lengths[1]) & at[2].lt(lengths[2])
    }

    fn output(&self, sum: Var<'a>, lead: &[Value<'a>], t: &[Value<'a>]) {
        let (k, (batch, output)) = (self.k, (lead[0], lead[1]));
        let first = output / self.outputs * self.channels;
        k.repeat(self.channels, |c| {
            nest(k, self.w.lengths, |e| {
                let at = [0, 1, 2].map(|d| self.windows[d].position(t[d], e[d]));
                k.when(self.inside(&at, &self.x.lengths), || {
                    let (x, w) = (self.x.load(&[batch, first + c], &at), self.w.load(&[output, c], &e));
                    sum.set(x.mul_add(w, sum.get()));
                });
            });
        });
    }

    fn input(&self, sum: Var<'a>, lead: &[Value<'a>], at: &[Value<'a>]) {
        let (k, (batch, channel)) = (self.k, (lead[0], lead[1]));
        let (group, c) = (channel / self.channels, channel % self.channels);
        k.repeat(self.outputs, |o| {
            let output = group * self.outputs + o;
            nest(k, self.w.lengths, |e| {
                // The outputs that meet this position are whole strides before it; what is before the first of them wraps.
                let from = [0, 1, 2].map(|d| {
                    let window = self.windows[d];
                    (at[d] + window.padding, e[d] * window.dilation, window.stride)
                });
                let reached = from.map(|(from, back, stride)| back.le(from) & ((from - back) % stride).is_zero());
                let t = from.map(|(from, back, stride)| (from - back) / stride);
                let reached = reached[0] & reached[1] & reached[2];
                k.when(reached & self.inside(&t, &self.y.lengths), || {
                    let (y, w) = (self.y.load(&[batch, output], &t), self.w.load(&[output, c], &e));
                    sum.set(y.mul_add(w, sum.get()));
                });
            });
        });
    }

    fn weight(&self, sum: Var<'a>, lead: &[Value<'a>], e: &[Value<'a>]) {
        let (k, (output, c)) = (self.k, (lead[0], lead[1]));
        let first = output / self.outputs * self.channels;
        k.repeat(self.batch, |batch| {
            nest(k, self.y.lengths, |t| {
                let at = [0, 1, 2].map(|d| self.windows[d].position(t[d], e[d]));
                k.when(self.inside(&at, &self.x.lengths), || {
                    let (x, y) = (self.x.load(&[batch, first + c], &at), self.y.load(&[batch, output], &t));
                    sum.set(x.mul_add(y, sum.get()));
                });
            });
        });
    }
}

impl<'a> Value<'a> {
    /// Whether an index is 0.
    fn is_zero(self) -> Value<'a> {
        self.equals(self.code.index(0))
    }
}
