//! Attention in passes over the matrix of weights: scores, their softmax, sums of values; and its gradients.

use opforge_core::{DType, Meta, Result};
use opforge_tile::forms::Attention;

use crate::code::Code;
use crate::lower::Call;
use crate::program::{Place, Program};
use crate::team::{Rows, zipped};
use crate::tensor::Tensor;
use crate::value::Value;

use super::weights::softmax;

/// What all passes of a call know.
struct Pass<'c> {
    call: &'c Call<'c>,
    form: &'c Attention,
    /// Leading dimensions, queries, keys.
    lead: Vec<usize>,
    n: usize,
    m: usize,
    dtype: DType,
}

/// A matrix of weights, `[.., n, m]`, contiguous.
#[derive(Clone, Copy)]
struct Weights(Place);

pub(crate) fn attention(call: &Call<'_>, form: &Attention) -> Result<Program> {
    call.real(call.inputs)?;
    let (q, k) = (call.inputs[0], call.inputs[1]);
    let rank = q.rank();
    let pass = Pass {
        call,
        form,
        lead: q.dims()[..rank - 2].to_vec(),
        n: q.dims()[rank - 2],
        m: k.dims()[rank - 2],
        dtype: q.dtype.compute(),
    };
    let mut program = Program::default();
    let len = pass.lead.iter().product::<usize>() * pass.n * pass.m;
    if len >= 1 << 31 {
        return Err(call.refuse("input", format!("{len} weights"), "fewer than 2^31 weights"));
    }
    let weights = Weights(program.scratch(pass.dtype, len));
    pass.scores(&mut program, weights)?;
    pass.softmax(&mut program, weights)?;
    if !form.gradient {
        pass.values(&mut program, weights)?;
        return Ok(program);
    }
    let slopes = Weights(program.scratch(pass.dtype, len));
    pass.slopes(&mut program, weights, slopes)?;
    pass.query_gradient(&mut program, slopes)?;
    pass.shared_gradient(&mut program, slopes, 1, (Place::Input(0), q))?;
    pass.shared_gradient(&mut program, weights, 2, (Place::Input(3), call.inputs[3]))?;
    Ok(program)
}

impl Pass<'_> {
    fn launch(&self, program: &mut Program, write: impl FnOnce(&Code)) -> Result<()> {
        program.launch(self.call.target, |k| {
            write(k);
            Ok(())
        })
    }

    /// The weights' matrix in a kernel.
    fn matrix<'a>(&self, k: &'a Code, Weights(place): Weights, written: bool) -> Tensor<'a> {
        let dims = self.matrix_dims();
        k.tensor(place, &Meta::contiguous(self.dtype, dims), written)
    }

    /// The number of the mask among inputs, if there is one.
    fn mask(&self) -> usize {
        if self.form.gradient { 4 } else { 3 }
    }

    fn matrix_dims(&self) -> Vec<usize> {
        [&self.lead[..], &[self.n, self.m]].concat()
    }

    /// Leading indices of a tensor whose heads several of the queries may share.
    fn shared<'a>(&self, k: &'a Code, of: &Tensor<'a>, meta: &Meta, at: &[Value<'a>]) -> Vec<Value<'a>> {
        let heads = |d: usize| self.lead[d] / meta.dims()[d].max(1);
        debug_assert!(of.dims.len() > at.len());
        at.iter().enumerate().map(|(d, &i)| i / k.size(heads(d).max(1))).collect()
    }

    fn scores(&self, program: &mut Program, weights: Weights) -> Result<()> {
        let (inputs, dtype) = (self.call.inputs, self.dtype);
        let mask = self.mask();
        self.launch(program, |k| {
            let (q, keys) = (k.input(0, inputs[0]), k.input(1, inputs[1]));
            let scores = self.matrix(k, weights, true);
            let mask = inputs.get(mask).map(|meta| {
                let layout = meta.layout.broadcast_as(&self.matrix_dims().into(), self.call.op);
                layout.map(|layout| k.tensor(Place::Input(mask), &Meta { dtype: meta.dtype, layout }, false))
            });
            k.each_of(&self.matrix_dims(), |at| {
                let (lead, row, column) = (&at[..at.len() - 2], at[at.len() - 2], at[at.len() - 1]);
                let none = k.constant(f64::NEG_INFINITY, dtype);
                let score = k.var(none);
                let mut open = k.constant(true, DType::Bool);
                let mut added = None;
                match &mask {
                    Some(Ok(mask)) if mask.dtype == DType::Bool => open = mask.load(at),
                    Some(Ok(mask)) => added = Some(mask.load(at)),
                    _ => {}
                }
                if self.form.causal {
                    open = open & column.le(row);
                }
                k.when(open, || {
                    let sum = k.var(k.constant(0.0, dtype));
                    let of_keys = self.shared(k, &keys, inputs[1], lead);
                    k.repeat(q.last(1), |d| {
                        let (a, b) =
                            (q.load(&[lead, &[row, d]].concat()), keys.load(&[&of_keys[..], &[column, d]].concat()));
                        sum.set(a.mul_add(b, sum.get()));
                    });
                    let value = sum.get() * k.constant(self.form.scale.to_f64(), dtype);
                    score.set(added.map_or(value, |added| value + added));
                });
                scores.store(at, score.get());
            });
        })
    }

    fn softmax(&self, program: &mut Program, weights: Weights) -> Result<()> {
        let dtype = self.dtype;
        let rows = self.lead.iter().product::<usize>() * self.n;
        let is_masked = self.call.inputs.len() > self.mask();
        self.launch(program, |k| {
            let Weights(place) = weights;
            let p = k.strided(place, dtype, &[rows, self.m], &[self.m, 1], true);
            let len = k.size(self.m);
            k.teams(
                Rows::contiguous(rows, self.m, [self.dtype].into_iter()),
                |_| ((), len),
                |team| {
                    let weights = softmax(k, team, (dtype, is_masked), |line, pack| p.load_row_pack(line.row, pack));
                    team.each_pack(|line, pack| p.store_row_pack(line.row, pack, &weights(line, pack)));
                },
            );
        })
    }

    fn values(&self, program: &mut Program, weights: Weights) -> Result<()> {
        let (value, output) = (self.call.inputs[2], self.call.outputs[0]);
        self.launch(program, |k| {
            let (p, v, y) = (self.matrix(k, weights, false), k.input(2, value), k.output(0, output));
            k.each_of(output.dims(), |at| {
                let (lead, row, column) = (&at[..at.len() - 2], at[at.len() - 2], at[at.len() - 1]);
                let (sum, of_values) = (k.var(k.constant(0.0, self.dtype)), self.shared(k, &v, value, lead));
                k.repeat(p.last(1), |j| {
                    let (p, v) =
                        (p.load(&[lead, &[row, j]].concat()), v.load(&[&of_values[..], &[j, column]].concat()));
                    sum.set(p.mul_add(v, sum.get()));
                });
                y.store(at, sum.get());
            });
        })
    }

    /// The gradients of scores.
    fn slopes(&self, program: &mut Program, weights: Weights, slopes: Weights) -> Result<()> {
        let (value, grad) = (self.call.inputs[2], self.call.inputs[3]);
        self.launch(program, |k| {
            let (v, g, by_p) = (k.input(2, value), k.input(3, grad), self.matrix(k, slopes, true));
            k.each_of(&self.matrix_dims(), |at| {
                let (lead, row, j) = (&at[..at.len() - 2], at[at.len() - 2], at[at.len() - 1]);
                let (sum, of_values) = (k.var(k.constant(0.0, self.dtype)), self.shared(k, &v, value, lead));
                k.repeat(g.last(1), |d| {
                    let (g, v) = (g.load(&[lead, &[row, d]].concat()), v.load(&[&of_values[..], &[j, d]].concat()));
                    sum.set(g.mul_add(v, sum.get()));
                });
                by_p.store(at, sum.get());
            });
        })?;
        let rows = self.lead.iter().product::<usize>() * self.n;
        self.launch(program, |k| {
            let (Weights(of_p), Weights(of_slopes)) = (weights, slopes);
            let flat = |place, written| k.strided(place, self.dtype, &[rows, self.m], &[self.m, 1], written);
            let (p, slope) = (flat(of_p, false), flat(of_slopes, true));
            let len = k.size(self.m);
            k.teams(
                Rows::contiguous(rows, self.m, [self.dtype].into_iter()),
                |_| ((), len),
                |team| {
                    let [p, slopes] =
                        [&p, &slope].map(|of| team.hold(move |line, pack| of.load_row_pack(line.row, pack)));
                    let products = |line: &_, pack: &_| zipped(p.of(line, pack), slopes.of(line, pack), |p, s| p * s);
                    let inner = team.sum_packs(self.dtype, products);
                    team.each_pack(|line, pack| {
                        let by_score =
                            |p, slope| p * (slope - inner.of(line)) * k.constant(self.form.scale.to_f64(), self.dtype);
                        slope.store_row_pack(
                            line.row,
                            pack,
                            &zipped(p.of(line, pack), slopes.of(line, pack), by_score),
                        );
                    });
                },
            );
        })
    }

    fn query_gradient(&self, program: &mut Program, slopes: Weights) -> Result<()> {
        let (keys, output) = (self.call.inputs[1], self.call.outputs[0]);
        self.launch(program, |k| {
            let (s, of, dq) = (self.matrix(k, slopes, false), k.input(1, keys), k.output(0, output));
            k.each_of(output.dims(), |at| {
                let (lead, row, d) = (&at[..at.len() - 2], at[at.len() - 2], at[at.len() - 1]);
                let (sum, of_keys) = (k.var(k.constant(0.0, self.dtype)), self.shared(k, &of, keys, lead));
                k.repeat(s.last(1), |j| {
                    let (s, key) = (s.load(&[lead, &[row, j]].concat()), of.load(&[&of_keys[..], &[j, d]].concat()));
                    sum.set(s.mul_add(key, sum.get()));
                });
                dq.store(at, sum.get());
            });
        })
    }

    /// The gradient of keys or values: a matrix' transpose times a tensor of the queries' shape, summed over the heads that share them.
    fn shared_gradient(&self, program: &mut Program, of: Weights, output: usize, by: (Place, &Meta)) -> Result<()> {
        let meta = self.call.outputs[output];
        let heads = self.lead.len();
        let shares: Vec<usize> = (0..heads).map(|d| self.lead[d] / meta.dims()[d].max(1)).collect();
        self.launch(program, |k| {
            let (matrix, other, to) = (self.matrix(k, of, false), k.tensor(by.0, by.1, false), k.output(output, meta));
            let sizes: Vec<Value<'_>> = shares.iter().map(|&n| k.size(n)).collect();
            k.each_of(meta.dims(), |at| {
                let (lead, j, d) = (&at[..heads], at[heads], at[heads + 1]);
                let sum = k.var(k.constant(0.0, self.dtype));
                k.repeat(k.size(shares.iter().product()), |share| {
                    let own = k.unravelled(share, &sizes);
                    let lead: Vec<_> = lead.iter().zip(&sizes).zip(own).map(|((&i, &n), own)| i * n + own).collect();
                    k.repeat(k.size(self.n), |row| {
                        let a = matrix.load(&[&lead[..], &[row, j]].concat());
                        let b = other.load(&[&lead[..], &[row, d]].concat());
                        sum.set(a.mul_add(b, sum.get()));
                    });
                });
                to.store(at, sum.get());
            });
        })
    }
}
