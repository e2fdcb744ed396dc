//! Normalisation of rows (layer and RMS norm), and its gradients.

use opforge_core::{DType, Meta, Result};
use opforge_tile::forms::Normalize;

use crate::code::Code;
use crate::lower::Call;
use crate::program::{Place, Program};
use crate::team::Rows;
use crate::tensor::{Tensor, collapsed};
use crate::value::Value;

use super::normalize_sets::{channels, sets};
use super::normalize_sets_gradient::sets_gradient;
use super::scan::Lines;

pub(crate) fn normalize(call: &Call<'_>, form: &Normalize) -> Result<Program> {
    call.real(call.inputs)?;
    match *form {
        Normalize::Rows { eps } => rows(call, eps.to_f64(), true),
        Normalize::RootMeanSquare { eps } => rows(call, eps.to_f64(), false),
        Normalize::RowsGradient => rows_gradient(call, true),
        Normalize::RootMeanSquareGradient => rows_gradient(call, false),
        Normalize::Sets { over, eps } => sets(call, over, eps.to_f64()),
        Normalize::SetsGradient { over, eps } => sets_gradient(call, over, eps.to_f64()),
        Normalize::Channels => channels(call),
    }
}

/// A tensor whose elements are numbered in row-major order.
pub(crate) struct Flat<'a> {
    of: Tensor<'a>,
    pub dtype: DType,
}

pub(crate) fn flat<'a>(k: &'a Code, place: Place, meta: &Meta) -> Flat<'a> {
    numbered(k, place, meta, matches!(place, Place::Output(_)))
}

/// As [`flat`], of an output too that an earlier launch has written.
pub(crate) fn numbered<'a>(k: &'a Code, place: Place, meta: &Meta, written: bool) -> Flat<'a> {
    let (dims, steps) = collapsed(meta.dims(), &[meta.layout.stride()]);
    let of = k.strided(place, meta.dtype, &dims, &steps[0], written);
    Flat { of, dtype: meta.dtype }
}

impl<'a> Flat<'a> {
    pub fn load(&self, i: Value<'a>) -> Value<'a> {
        self.of.load(&self.of.code.unravelled(i, &self.of.dims))
    }

    pub fn store(&self, i: Value<'a>, value: Value<'a>) {
        self.of.store(&self.of.code.unravelled(i, &self.of.dims), value.to(self.dtype.compute()));
    }
}

/// `1 / sqrt(x + eps)`
pub(crate) fn inverse_root(x: Value<'_>, eps: f64) -> Value<'_> {
    x.like(1.0) / (x + x.like(eps)).sqrt()
}

fn rows(call: &Call<'_>, eps: f64, centered: bool) -> Result<Program> {
    let (x, y) = (call.inputs[0], call.outputs[0]);
    let (axis, dtype) = (x.rank() - 1, x.dtype.compute());
    let others = Lines::others(x, axis);
    call.one(|k| {
        let (x_of, y_of) = (Lines::new(k, Place::Input(0), x, axis), Lines::new(k, Place::Output(0), y, axis));
        let weight = call.inputs.get(1).map(|meta| k.input(1, meta));
        let bias = call.inputs.get(2).map(|meta| k.input(2, meta));
        let statistics = call.outputs.iter().enumerate().skip(1);
        let statistics: Vec<_> = statistics.map(|(i, meta)| flat(k, Place::Output(i), meta)).collect();
        let lengths: Vec<Value<'_>> = others.iter().map(|&n| k.size(n)).collect();
        let len = k.size(x.dims()[axis]);
        let locate = |row| (k.unravelled(row, &lengths), len);
        k.teams(Rows::dense(others.iter().product(), x.dims()[axis]), locate, |team| {
            let total = centered.then(|| team.sum(dtype, |line, i| x_of.load(&line.at, i)));
            let mean = team.number(|line| total.map(|total| total.of(line) / line.count(dtype)));
            let distance = team.element(|line, i| {
                let x = x_of.load(&line.at, i);
                mean(line).map_or(x, |mean| x - mean)
            });
            let squares = team.sum(dtype, |line, i| {
                let distance = distance(line, i);
                distance * distance
            });
            let rstd = team.number(|line| inverse_root(squares.of(line) / line.count(dtype), eps));
            team.each(|line, i| {
                let mut result = distance(line, i) * rstd(line);
                result = weight.as_ref().map_or(result, |weight| result * weight.load(&[i]));
                result = bias.as_ref().map_or(result, |bias| result + bias.load(&[i]));
                y_of.store(&line.at, i, result);
            });
            team.once(|line| {
                let found = mean(line).into_iter().chain([rstd(line)]);
                for (tensor, number) in statistics.iter().zip(found) {
                    tensor.store(line.row, number);
                }
            });
        });
        Ok(())
    })
}

fn rows_gradient(call: &Call<'_>, centered: bool) -> Result<Program> {
    let (x, dtype) = (call.inputs[0], call.inputs[0].dtype.compute());
    let axis = x.rank() - 1;
    let others = Lines::others(x, axis);
    let rows: usize = others.iter().product();
    let mut program = Program::default();
    program.launch(call.target, |k| {
        let of = Gradient::new(k, call, axis, centered);
        let weight = call.inputs.get(of.inputs).map(|meta| k.input(of.inputs, meta));
        let dx = Lines::new(k, Place::Output(0), call.outputs[0], axis);
        let lengths: Vec<Value<'_>> = others.iter().map(|&n| k.size(n)).collect();
        let len = k.size(x.dims()[axis]);
        let locate = |row| (k.unravelled(row, &lengths), len);
        k.teams(Rows::dense(rows, x.dims()[axis]), locate, |team| {
            let weighted = team.element(|line, i| {
                let g = of.g(&line.at, i);
                weight.as_ref().map_or(g, |weight| g * weight.load(&[i]))
            });
            let of_g = centered.then(|| team.sum(dtype, &weighted));
            let of_gh = team.sum(dtype, |line, i| weighted(line, i) * of.h(&line.at, line.row, i));
            team.each(|line, i| {
                let count = line.count(dtype);
                let mut inner = weighted(line, i) - of.h(&line.at, line.row, i) * (of_gh.of(line) / count);
                inner = of_g.map_or(inner, |of_g| inner - of_g.of(line) / count);
                dx.store(&line.at, i, inner * of.rstd(line.row));
            });
        });
        Ok(())
    })?;
    if call.outputs.len() > 1 {
        parameter_sums(call, &mut program, axis, centered, rows)?;
    }
    Ok(program)
}

/// What the gradient of rows is made of.
struct Gradient<'a> {
    x: Lines<'a>,
    g: Lines<'a>,
    mean: Option<Flat<'a>>,
    rstd: Flat<'a>,
    dtype: DType,
    /// The inputs before the weight.
    inputs: usize,
}

impl<'a> Gradient<'a> {
    fn new(k: &'a Code, call: &Call<'_>, axis: usize, centered: bool) -> Self {
        let flat = |i: usize| flat(k, Place::Input(i), call.inputs[i]);
        Gradient {
            x: Lines::new(k, Place::Input(0), call.inputs[0], axis),
            g: Lines::new(k, Place::Input(1), call.inputs[1], axis),
            mean: centered.then(|| flat(2)),
            rstd: flat(if centered { 3 } else { 2 }),
            dtype: call.inputs[0].dtype.compute(),
            inputs: if centered { 4 } else { 3 },
        }
    }

    fn g(&self, at: &[Value<'a>], i: Value<'a>) -> Value<'a> {
        self.g.load(at, i)
    }

    fn rstd(&self, row: Value<'a>) -> Value<'a> {
        self.rstd.load(row).to(self.dtype)
    }

    /// The normalised element.
    fn h(&self, at: &[Value<'a>], row: Value<'a>, i: Value<'a>) -> Value<'a> {
        let x = self.x.load(at, i);
        let x = self.mean.as_ref().map_or(x, |mean| x - mean.load(row).to(self.dtype));
        x * self.rstd(row)
    }
}

/// The sums over chunks of rows that gradients of weight and bias are made of.
fn parameter_sums(call: &Call<'_>, program: &mut Program, axis: usize, centered: bool, rows: usize) -> Result<()> {
    let (chunks, columns) = (call.outputs[1].dims()[0], call.inputs[0].dims()[axis]);
    let dtype = call.outputs[1].dtype.compute();
    program.launch(call.target, |k| {
        let of = Gradient::new(k, call, axis, centered);
        let sums = call.outputs.iter().enumerate().skip(1).map(|(i, meta)| k.output(i, meta));
        let sums: Vec<_> = sums.collect();
        let lengths: Vec<Value<'_>> = Lines::others(call.inputs[0], axis).iter().map(|&n| k.size(n)).collect();
        let (rows, parts) = (k.size(rows), k.size(chunks));
        k.each_of(&[chunks, columns], |place| {
            // As `chunk * rows / chunks` without a product that could wrap.
            let begin = |chunk| {
                let (whole, rest) = (rows / parts, rows % parts);
                chunk * whole + chunk * rest / parts
            };
            let first = begin(place[0]);
            let totals: Vec<_> = sums.iter().map(|_| k.var(k.constant(0.0, dtype))).collect();
            k.repeat(begin(place[0] + 1) - first, |n| {
                let row = first + n;
                let at = k.unravelled(row, &lengths);
                let g = of.g(&at, place[1]).to(dtype);
                totals[0].add(g * of.h(&at, row, place[1]).to(dtype));
                totals.iter().skip(1).for_each(|total| total.add(g));
            });
            sums.iter().zip(&totals).for_each(|(sum, total)| sum.store(place, total.get()));
        });
        Ok(())
    })
}
