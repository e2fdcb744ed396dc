//! Reductions: a team for each result.

use opforge::operator::Reduce;
use opforge_core::{Meta, Result};

use crate::code::Code;
use crate::lower::Call;
use crate::program::{Place, Program};
use crate::tensor::{Tensor, collapsed};
use crate::value::Value;

/// A tensor's dimensions: those that stay, and those that are reduced.
pub(crate) struct Reduced<'a> {
    code: &'a Code,
    x: Tensor<'a>,
    y: Tensor<'a>,
    kept: Vec<Value<'a>>,
    along: Vec<Value<'a>>,
    along_steps: Vec<Value<'a>>,
    /// The results, and the elements of each.
    pub rows: usize,
    pub len: usize,
}

/// A product of lengths.
fn count(dims: &[usize]) -> usize {
    dims.iter().product()
}

impl<'a> Reduced<'a> {
    pub fn new(code: &'a Code, input: &Meta, axes: &[usize], output: &Meta) -> Self {
        let (dims, stride) = (input.dims(), input.layout.stride());
        let keeps = output.rank() == input.rank();
        let own: Vec<usize> = (0..dims.len()).filter(|d| !axes.contains(d)).collect();
        let of = |from: &[usize], which: &[usize]| which.iter().map(|&d| from[d]).collect::<Vec<_>>();
        let place = |(i, &d): (usize, &usize)| output.layout.stride()[if keeps { d } else { i }];
        let out_stride: Vec<usize> = own.iter().enumerate().map(place).collect();
        let (kept, steps) = collapsed(&of(dims, &own), &[&of(stride, &own), &out_stride]);
        let (along, along_steps) = collapsed(&of(dims, axes), &[&of(stride, axes)]);
        let x = code.strided(Place::Input(0), input.dtype, &kept, &steps[0], false);
        let y = code.strided(Place::Output(0), output.dtype, &kept, &steps[1], true);
        let sizes = |dims: &[usize]| dims.iter().map(|&n| code.size(n)).collect::<Vec<_>>();
        Reduced {
            code,
            x,
            y,
            kept: sizes(&kept),
            along_steps: sizes(&along_steps[0]),
            rows: count(&kept),
            len: count(&along),
            along: sizes(&along),
        }
    }

    /// Where in each dimension a result is.
    pub fn at(&self, row: Value<'a>) -> Vec<Value<'a>> {
        self.code.unravelled(row, &self.kept)
    }

    /// An element of a result.
    pub fn load(&self, at: &[Value<'a>], i: Value<'a>) -> Value<'a> {
        let along = self.code.unravelled(i, &self.along);
        let terms = along.into_iter().zip(&self.along_steps).map(|(i, &step)| i * step);
        self.x.load_at(terms.fold(self.x.place(at), |sum, term| sum + term))
    }

    pub fn store(&self, at: &[Value<'a>], value: Value<'a>) {
        self.y.store(at, value.to(self.y.dtype.compute()));
    }
}

pub(crate) fn reduce(call: &Call<'_>, reduce: &Reduce) -> Result<Program> {
    let (input, output) = (call.inputs[0], call.outputs[0]);
    call.real(&[input, output])?;
    let len = reduce.axes.iter().map(|&axis| input.dims()[axis]).product();
    let traced = reduce.trace(input.dtype, output.dtype, len, call.target.fused);
    let traced = traced.ok_or_else(|| call.refuse("dtype", input.dtype.as_str(), "dtypes that have a trace"))?;
    call.one(|k| {
        let of = Reduced::new(k, input, &reduce.axes, output);
        k.teams(of.rows, of.len, |team, row| {
            let at = of.at(row);
            let identity = k.call(&traced.identity, &[]);
            let term = |i| k.call(&traced.before, &[of.load(&at, i)]);
            let all = team.fold(identity, term, |a, b| k.call(&traced.combine, &[a, b]));
            team.once(|| of.store(&at, k.call(&traced.after, &[all.get()])));
        });
        Ok(())
    })
}
