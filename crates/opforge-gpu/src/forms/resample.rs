//! Resampling: tables say what each element is made of along each dimension.

use opforge_core::{Meta, Result};
use opforge_tile::forms::{Filter, MAX_SPATIAL, Stretch, Stretches};

use crate::code::Code;
use crate::kernel::INDEX;
use crate::lower::Call;
use crate::program::{Place, Program};
use crate::tensor::Tensor;
use crate::value::Value;

use super::windowed::{Planes, lengths, split_dims};

pub(crate) fn resample(call: &Call<'_>, how: &Stretches, spatial: usize, gradient: bool) -> Result<Program> {
    let (input, output) = (call.inputs[0], call.outputs[0]);
    let (old, new) = if gradient { (output, input) } else { (input, output) };
    let tables = Tables::new(how, lengths(old, spatial), lengths(new, spatial), gradient);
    let dtype = output.dtype.compute();
    let mut program = Program::default();
    let places = [program.indices(&tables.indices), program.table(dtype, &tables.weights)];
    program.launch(call.target, |k| {
        write(k, &tables, places, [input, output], spatial);
        Ok(())
    })?;
    Ok(program)
}

fn write(k: &Code, tables: &Tables, places: [Place; 2], [input, output]: [&Meta; 2], spatial: usize) {
    let dtype = output.dtype.compute();
    let (lead, plane) = split_dims(output, spatial);
    let x = Planes::new(k, Place::Input(0), input, spatial);
    let y = Planes::new(k, Place::Output(0), output, spatial);
    let table = |place, dtype, len| k.strided(place, dtype, &[len], &[1], false);
    let of = TablesOf {
        k,
        indices: table(places[0], INDEX, tables.indices.len()),
        weights: table(places[1], dtype, tables.weights.len()),
        first: tables.first.map(|first| k.parameter(first as u32)),
    };
    k.each_of(&[&lead[..], &plane].concat(), |at| {
        let (lead, own) = at.split_at(lead.len());
        let sum = k.var(k.constant(0.0, dtype));
        of.each(0, own[0], |a, by_a| {
            of.each(1, own[1], |b, by_b| {
                of.each(2, own[2], |c, by_c| {
                    sum.add(x.load(lead, &[a, b, c]) * (by_a * by_b * by_c));
                });
            });
        });
        y.store(lead, own, sum.get());
    });
}

/// For each dimension and element of the result, elements of the input and their weights, row by row.
struct Tables {
    /// For each dimension where its rows begin, as places in both tables, one more than there are rows; among them what elements weights belong to.
    indices: Vec<u32>,
    weights: Vec<f64>,
    /// Where the beginnings of a dimension's rows stand.
    first: [usize; MAX_SPATIAL],
}

impl Tables {
    fn new(how: &Stretches, old: [usize; 3], new: [usize; 3], gradient: bool) -> Self {
        let mut tables = Tables { indices: Vec::new(), weights: Vec::new(), first: [0; MAX_SPATIAL] };
        for d in 0..MAX_SPATIAL {
            let taps = (0..new[d]).map(|i| taps(&how[d], [old[d], new[d]], i));
            let mut rows: Vec<Vec<(usize, f64)>> = taps.collect();
            if gradient {
                let mut back = vec![Vec::new(); old[d]];
                for (i, row) in rows.iter().enumerate() {
                    row.iter().for_each(|&(j, weight)| back[j].push((i, weight)));
                }
                rows = back;
            }
            tables.add(d, &rows);
        }
        tables
    }

    fn add(&mut self, d: usize, rows: &[Vec<(usize, f64)>]) {
        self.first[d] = self.indices.len();
        let mut begin = self.indices.len() + rows.len() + 1;
        for row in rows {
            self.indices.push(begin as u32);
            begin += row.len();
        }
        self.indices.push(begin as u32);
        self.weights.resize(self.indices.len(), 0.0);
        for &(i, weight) in rows.iter().flatten() {
            self.indices.push(i as u32);
            self.weights.push(weight);
        }
    }
}

/// The same in a kernel.
struct TablesOf<'a> {
    k: &'a Code,
    indices: Tensor<'a>,
    weights: Tensor<'a>,
    first: [Value<'a>; MAX_SPATIAL],
}

impl<'a> TablesOf<'a> {
    /// For each element of the input that an element of the result is made of along a dimension, with its weight.
    fn each(&self, d: usize, own: Value<'a>, body: impl FnOnce(Value<'a>, Value<'a>)) {
        let row = self.first[d] + own;
        let (from, to) = (self.indices.load(&[row]), self.indices.load(&[row + 1]));
        self.k.repeat(to - from, |i| body(self.indices.load(&[from + i]), self.weights.load(&[from + i])));
    }
}

/// What new element `i` is made of.
fn taps(how: &Stretch, [from, to]: [usize; 2], i: usize) -> Vec<(usize, f64)> {
    let scale = match how.corners {
        true if to > 1 => (from - 1) as f64 / (to - 1) as f64,
        true => 0.0,
        false => how.scale.to_f64(),
    };
    let place = if how.corners { i as f64 * scale } else { (i as f64 + 0.5) * scale - 0.5 };
    let nearest = |place: f64| vec![((place as usize).min(from - 1), 1.0)];
    match how.filter {
        Filter::Nearest => nearest(i as f64 * scale),
        Filter::NearestExact => nearest((i as f64 + 0.5) * scale),
        Filter::Linear => bordered(place.max(0.0), from, 2, &line),
        Filter::Cubic => bordered(place, from, 4, &|x| cubic(x, -0.75)),
        Filter::Triangle => stretched(scale, from, i, 1.0, &line),
        Filter::SmoothCubic => stretched(scale, from, i, 2.0, &|x| cubic(x, -0.5)),
    }
}

fn line(x: f64) -> f64 {
    (1.0 - x.abs()).max(0.0)
}

fn cubic(x: f64, a: f64) -> f64 {
    match x.abs() {
        x if x < 1.0 => ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0,
        x if x < 2.0 => ((a * x - 5.0 * a) * x + 8.0 * a) * x - 4.0 * a,
        _ => 0.0,
    }
}

/// As many elements around a place; those beyond the border are those at it.
fn bordered(place: f64, from: usize, count: i64, filter: &dyn Fn(f64) -> f64) -> Vec<(usize, f64)> {
    let first = place.floor() as i64 - (count / 2 - 1);
    let at = |k: i64| k.clamp(0, from as i64 - 1) as usize;
    (first..first + count).map(|k| (at(k), filter(place - k as f64))).filter(|(_, weight)| *weight != 0.0).collect()
}

/// A filter over all that becomes one element; its weights within the border sum to 1.
fn stretched(scale: f64, from: usize, i: usize, reach: f64, filter: &dyn Fn(f64) -> f64) -> Vec<(usize, f64)> {
    let (width, centre) = (scale.max(1.0), scale * (i as f64 + 0.5));
    let first = (centre - reach * width - 1.0).max(0.0) as usize;
    let end = ((centre + reach * width + 1.0).max(0.0) as usize + 1).min(from);
    let weight = |j: usize| filter((j as f64 - centre + 0.5) / width);
    let total: f64 = (first..end).map(weight).sum();
    (first..end).map(|j| (j, weight(j) / total)).filter(|(_, weight)| *weight != 0.0).collect()
}
