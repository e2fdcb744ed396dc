//! Normalisation of rows (layer and RMS norm), and its gradients.

use std::rc::Rc;

use opforge_core::{DType, Meta, Result};
use opforge_tile::forms::Normalize;

use crate::code::Code;
use crate::lower::Call;
use crate::program::{Place, Program};
use crate::team::{Computed, Found, Held, Rows, Team, mapped, zipped};
use crate::tensor::{Tensor, collapsed};
use crate::value::Value;

use super::normalize_sets::{channels, sets};
use super::normalize_sets_gradient::sets_gradient;
use super::row_chain::{Chain, Part};
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

/// Elements of the packs that the first output and these inputs, as far as there are such, can be read and written by.
fn width(call: &Call<'_>, inputs: &[usize]) -> usize {
    let inputs = inputs.iter().filter_map(|&i| call.inputs.get(i).copied());
    let metas = [call.outputs[0]].into_iter().chain(inputs);
    Lines::width(&metas.map(|meta| (meta, meta.rank() - 1)).collect::<Vec<_>>())
}

fn rows(call: &Call<'_>, eps: f64, centered: bool) -> Result<Program> {
    Chain::alone(call, Part::Normalized { eps, centered }, call.inputs[0].rank() - 1).program(call.target)
}

/// Normalised rows `x` with weights and biases, if these are given, and their mean, if it is one, and inverse standard deviation.
pub(super) fn normalized<'h, 'a: 'h, T: 'h>(
    team: &'h Team<'_, 'a, T>,
    (eps, centered): (f64, bool),
    dtype: DType,
    x: Rc<Held<'h, 'a, T>>,
    affine: Vec<Rc<Held<'h, 'a, T>>>,
) -> (Computed<'h, 'a, T>, Vec<Found<'a>>) {
    let total = centered.then(|| team.sum_packs(dtype, |line, pack| x.of(line, pack)));
    let mean = total.map(|total| team.known(|line| total.of(line) / line.count(dtype)));
    let distances = team.pack(move |line, pack| match mean {
        Some(mean) => mapped(x.of(line, pack), |x| x - mean.of(line)),
        None => x.of(line, pack),
    });
    let squares = team.sum_packs(dtype, |line, pack| mapped(distances(line, pack), |x| x * x));
    let rstd = team.known(|line| inverse_root(squares.of(line) / line.count(dtype), eps));
    // All of them are loaded before anything is stored, which compilers would not know to be elsewhere.
    let affine: Vec<_> = affine.into_iter().map(|of| team.hold(move |line, pack| of.of(line, pack))).collect();
    let elements = team.pack(move |line, pack| {
        let mut results = mapped(distances(line, pack), |x| x * rstd.of(line));
        if let Some(weight) = affine.first() {
            results = zipped(results, weight.of(line, pack), |x, weight| x * weight);
        }
        if let Some(bias) = affine.get(1) {
            results = zipped(results, bias.of(line, pack), |x, bias| x + bias);
        }
        results
    });
    (Box::new(elements), mean.into_iter().chain([rstd]).collect())
}

fn rows_gradient(call: &Call<'_>, centered: bool) -> Result<Program> {
    let (x, dtype) = (call.inputs[0], call.inputs[0].dtype.compute());
    let axis = x.rank() - 1;
    let others = Lines::others(x, axis);
    let rows: usize = others.iter().product();
    let mut program = Program::default();
    program.launch(call.target, |k| {
        let of = Gradient::new(k, call, axis, centered);
        let weight = call.inputs.get(of.inputs).map(|meta| Lines::new(k, Place::Input(of.inputs), meta, 0));
        let dx = Lines::new(k, Place::Output(0), call.outputs[0], axis);
        let lengths: Vec<Value<'_>> = others.iter().map(|&n| k.size(n)).collect();
        let len = k.size(x.dims()[axis]);
        let locate = |row| (k.unravelled(row, &lengths), len);
        let rows = Rows::packed(rows, x.dims()[axis], width(call, &[0, 1, of.inputs]));
        k.teams(rows, locate, |team| {
            let weighted = team.hold(|line, pack| match &weight {
                Some(weight) => zipped(of.g.load_pack(&line.at, pack), weight.load_pack(&[], pack), |g, w| g * w),
                None => of.g.load_pack(&line.at, pack),
            });
            let mean = of.mean.as_ref().map(|mean| team.known(|line| mean.load(line.row).to(dtype)));
            let rstd = team.known(|line| of.rstd(line.row));
            let h = team.hold(|line, pack| {
                let distance = |x| mean.map_or(x, |mean| x - mean.of(line));
                mapped(of.x.load_pack(&line.at, pack), |x| distance(x) * rstd.of(line))
            });
            let of_g = centered.then(|| team.sum_packs(dtype, |line, pack| weighted.of(line, pack)));
            let products = |line: &_, pack: &_| zipped(weighted.of(line, pack), h.of(line, pack), |g, h| g * h);
            let of_gh = team.sum_packs(dtype, products);
            team.each_pack(|line, pack| {
                let count = line.count(dtype);
                let results = zipped(weighted.of(line, pack), h.of(line, pack), |g, h| {
                    let inner = g - h * (of_gh.of(line) / count);
                    of_g.map_or(inner, |of_g| inner - of_g.of(line) / count) * rstd.of(line)
                });
                dx.store_pack(&line.at, pack, &results);
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
