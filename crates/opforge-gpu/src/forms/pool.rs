//! Pooling: a thread an element of the result.

use opforge_core::{Result, Scalar};
use opforge_tile::forms::{Average, Divisor, MAX_SPATIAL, Windows};

use crate::code::Code;
use crate::lower::Call;
use crate::program::{Place, Program};
use crate::value::Value;

use super::windowed::{Planes, WindowOf, nest, split_dims};

/// Windows in a kernel, from planes of one size to planes of another.
struct Under<'a> {
    k: &'a Code,
    sliding: Option<[(WindowOf<'a>, Value<'a>); MAX_SPATIAL]>,
    from: [Value<'a>; MAX_SPATIAL],
    to: [Value<'a>; MAX_SPATIAL],
}

/// The positions of a window along a dimension.
#[derive(Clone, Copy)]
struct Run<'a> {
    /// The first, and the distance between them; beyond the input where before its beginning.
    first: Value<'a>,
    step: Value<'a>,
    count: Value<'a>,
    /// How many are counted, those in the padding included.
    padded: Value<'a>,
}

impl<'a> Under<'a> {
    fn new(k: &'a Code, windows: &Windows, from: &Planes<'a>, to: &Planes<'a>) -> Self {
        let sliding = match windows {
            Windows::Adaptive => None,
            Windows::Sliding { kernel, windows } => {
                Some([0, 1, 2].map(|d| (WindowOf::new(k, &windows[d]), k.size(kernel[d]))))
            }
        };
        Under { k, sliding, from: from.lengths, to: to.lengths }
    }

    /// The window of output `t` along dimension `d`.
    fn run(&self, d: usize, t: Value<'a>) -> Run<'a> {
        let (k, from, to) = (self.k, self.from[d], self.to[d]);
        match &self.sliding {
            None => {
                let first = t * from / to;
                let count = ((t + 1) * from + to - 1) / to - first;
                Run { first, step: k.index(1), count, padded: count }
            }
            Some(sliding) => {
                let (window, kernel) = sliding[d];
                let begin = t * window.stride;
                // Windows may reach into the padding, not beyond it.
                let padded = (begin + kernel).min(from + window.padding + window.padding) - begin;
                Run { first: begin - window.padding, step: window.dilation, count: kernel, padded }
            }
        }
    }

    /// The outputs along dimension `d` whose windows may be over a position: the first, and how many.
    fn over(&self, d: usize, own: Value<'a>) -> [Value<'a>; 2] {
        let (from, to) = (self.from[d], self.to[d]);
        let (first, last) = match &self.sliding {
            // From `t from < (own + 1) to` and `own to < (t + 1) from`.
            None => (own * to / from, ((own + 1) * to - 1) / from),
            Some(sliding) => {
                let (window, kernel) = sliding[d];
                let (place, reach) = (own + window.padding, (kernel - 1) * window.dilation);
                let of = |place: Value<'a>| place.divided(window.stride)[0];
                (of(place.max(reach) - reach + window.stride - 1), of(place))
            }
        };
        [first, (last + 1).min(to).max(first) - first]
    }

    /// For each position within the input that is under the window of an output.
    fn each(&self, runs: [Run<'a>; 3], body: impl FnOnce(&[Value<'a>; 3])) {
        nest(self.k, runs.map(|run| run.count), |e| {
            let at = [0, 1, 2].map(|d| runs[d].first + e[d] * runs[d].step);
            let inside = at[0].lt(self.from[0]) & at[1].lt(self.from[1]) & at[2].lt(self.from[2]);
            self.k.when(inside, || body(&at));
        });
    }

    /// What the sum over an output's window is divided by.
    fn divisor(&self, average: &Average, runs: [Run<'a>; 3], like: Value<'a>) -> Value<'a> {
        let dtype = like.dtype();
        match average.divisor {
            Divisor::Number(n) => self.k.constant(Scalar::Float(n as f64), dtype),
            Divisor::Padded => (runs[0].padded * runs[1].padded * runs[2].padded).to(dtype),
            Divisor::Inside => {
                let inside = self.k.var(self.k.index(0));
                self.each(runs, |_| inside.add(self.k.index(1)));
                inside.get().to(dtype)
            }
        }
    }

    fn runs(&self, t: &[Value<'a>]) -> [Run<'a>; 3] {
        [0, 1, 2].map(|d| self.run(d, t[d]))
    }
}

pub(crate) fn average(call: &Call<'_>, average: &Average, spatial: usize) -> Result<Program> {
    let (input, output) = (call.inputs[0], call.outputs[0]);
    let (lead, plane) = split_dims(output, spatial);
    call.one(|k| {
        let x = Planes::new(k, Place::Input(0), input, spatial);
        let y = Planes::new(k, Place::Output(0), output, spatial);
        let under = Under::new(k, &average.windows, &x, &y);
        k.each_of(&[&lead[..], &plane].concat(), |at| {
            let (lead, t) = at.split_at(lead.len());
            let (runs, sum) = (under.runs(t), k.var(k.constant(0.0, output.dtype.compute())));
            under.each(runs, |at| sum.add(x.load(lead, at)));
            let sum = sum.get();
            y.store(lead, t, sum / under.divisor(average, runs, sum));
        });
        Ok(())
    })
}

/// Each element gathers from the outputs whose windows it is under.
pub(crate) fn average_gradient(call: &Call<'_>, average: &Average, spatial: usize) -> Result<Program> {
    let (grad, output) = (call.inputs[0], call.outputs[0]);
    let (lead, plane) = split_dims(output, spatial);
    call.one(|k| {
        let g = Planes::new(k, Place::Input(0), grad, spatial);
        let dx = Planes::new(k, Place::Output(0), output, spatial);
        let under = Under::new(k, &average.windows, &dx, &g);
        k.each_of(&[&lead[..], &plane].concat(), |at| {
            let (lead, own) = at.split_at(lead.len());
            let sum = k.var(k.constant(0.0, output.dtype.compute()));
            let over = [0, 1, 2].map(|d| under.over(d, own[d]));
            nest(k, over.map(|[_, count]| count), |i| {
                let t = [0, 1, 2].map(|d| over[d][0] + i[d]);
                let runs = under.runs(&t);
                let mut covered = covers(k, runs[0], own[0]);
                for d in 1..MAX_SPATIAL {
                    covered = covered & covers(k, runs[d], own[d]);
                }
                k.when(covered, || {
                    let share = g.load(lead, &t);
                    sum.add(share / under.divisor(average, runs, share));
                });
            });
            dx.store(lead, own, sum.get());
        });
        Ok(())
    })
}

/// Whether a position is one of a window's.
fn covers<'a>(k: &'a Code, run: Run<'a>, own: Value<'a>) -> Value<'a> {
    // The first position may be before the input's beginning: the distance from it is right nevertheless.
    let distance = own - run.first;
    let (turns, left) = (distance / run.step, distance % run.step);
    turns.lt(run.count) & left.equals(k.index(0))
}

pub(crate) fn greatest(call: &Call<'_>, windows: &Windows, spatial: usize) -> Result<Program> {
    let (input, output) = (call.inputs[0], call.outputs[0]);
    let (lead, plane) = split_dims(output, spatial);
    call.one(|k| {
        let x = Planes::new(k, Place::Input(0), input, spatial);
        let y = Planes::new(k, Place::Output(0), output, spatial);
        let places = call.outputs.get(1).map(|meta| Planes::new(k, Place::Output(1), meta, spatial));
        let under = Under::new(k, windows, &x, &y);
        let dtype = output.dtype.compute();
        k.each_of(&[&lead[..], &plane].concat(), |at| {
            let (lead, t) = at.split_at(lead.len());
            let none = k.index(u32::MAX as usize);
            let least = if dtype.is_float() { k.constant(f64::NEG_INFINITY, dtype) } else { k.constant(0i64, dtype) };
            let (best, place) = (k.var(least), k.var(none));
            under.each(under.runs(t), |at| {
                let (new, old) = (x.load(lead, at), best.get());
                let mut better = old.lt(new) | place.get().equals(none);
                if dtype.is_float() {
                    better = better | new.is_nan();
                }
                k.when(better, || {
                    best.set(new);
                    place.set(x.flat(at));
                });
            });
            y.store(lead, t, best.get());
            if let Some(places) = &places {
                places.store(lead, t, place.get());
            }
        });
        Ok(())
    })
}

/// Each element gathers from the outputs whose windows it is under, in order, what is said to belong there.
pub(crate) fn spread(call: &Call<'_>, windows: &Windows, spatial: usize) -> Result<Program> {
    let (grad, output) = (call.inputs[0], call.outputs[0]);
    let (lead, plane) = split_dims(output, spatial);
    call.one(|k| {
        let g = Planes::new(k, Place::Input(0), grad, spatial);
        let places = Planes::new(k, Place::Input(1), call.inputs[1], spatial);
        let dx = Planes::new(k, Place::Output(0), output, spatial);
        let under = Under::new(k, windows, &dx, &g);
        let zero = k.constant(0i64, output.dtype.compute());
        k.each_of(&[&lead[..], &plane].concat(), |at| {
            let (lead, own) = at.split_at(lead.len());
            let (place, sum) = (dx.flat(own), k.var(zero));
            let over = [0, 1, 2].map(|d| under.over(d, own[d]));
            nest(k, over.map(|[_, count]| count), |i| {
                let t = [0, 1, 2].map(|d| over[d][0] + i[d]);
                let named = places.load(lead, &t).to(crate::kernel::INDEX);
                k.when(named.equals(place), || sum.add(g.load(lead, &t)));
            });
            dx.store(lead, own, sum.get());
        });
        Ok(())
    })
}
