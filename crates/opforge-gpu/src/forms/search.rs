//! The place of the most extreme element.

use opforge_core::{DType, Result};
use opforge_tile::forms::{Extreme, Search};

use crate::code::Code;
use crate::kernel::{INDEX, LANES};
use crate::lower::Call;
use crate::program::{Place, Program};
use crate::tensor::Tensor;
use crate::value::{Array, Value, Var};

use super::reduce::Reduced;
use super::scan::is_for_groups;
use super::scan_groups::part_of;

pub(crate) fn search(call: &Call<'_>, form: &Search) -> Result<Program> {
    let (input, output, axis) = (call.inputs[0], call.outputs[0], form.axis);
    call.real(&[input, output])?;
    let len = input.dims()[axis];
    let rows = input.elem_count() / len.max(1);
    if is_for_groups(len, input.layout.stride()[axis], rows) {
        return by_groups(call, form, rows, len);
    }
    call.one(|k| {
        let of = Reduced::new(k, input, &[axis], output);
        k.each(of.rows.count, |row| {
            let (at, first) = (of.at(row).0, k.index(0));
            let best = (k.var(ordered(of.load(&at, first))), k.var(first));
            k.repeat(k.size(len), |i| meet(k, form.extreme, best, (ordered(of.load(&at, i)), i)));
            of.store(&at, best.1.get());
        });
        Ok(())
    })
}

/// A group looks at a row, or, where rows are few and long, at a part of one.
fn by_groups(call: &Call<'_>, form: &Search, rows: usize, len: usize) -> Result<Program> {
    let (input, output, values) = (call.inputs[0], call.outputs[0], ordered_dtype(call.inputs[0].dtype));
    let (mut program, part) = (Program::default(), part_of(rows, len, 8 * LANES));
    let parts = len.div_ceil(part);
    let groups = rows * parts;
    let found = (parts > 1).then(|| [values, INDEX].map(|dtype| (program.scratch(dtype, groups), dtype)));
    program.launch(call.target, |k| {
        let of = Reduced::new(k, input, &[form.axis], output);
        let (best, found) = (Best::new(k, form, values), found.map(|of| tensors(k, of, true)));
        let (parts, len, part) = (k.size(parts), k.size(len), k.size(part));
        k.groups(groups, |number| {
            let (at, first) = (of.at(number / parts).0, number % parts * part);
            best.find((len - first).min(part), |i| (ordered(of.load(&at, first + i)), first + i));
            best.tell(|value, place| match &found {
                Some([values, places]) => {
                    values.store_at(number, value);
                    places.store_at(number, place);
                }
                None => of.store(&at, place),
            });
        });
        Ok(())
    })?;
    if let Some(found) = found {
        among_parts(call, form, &mut program, found, rows, parts)?;
    }
    Ok(program)
}

/// A group for each row looks at what was found in its parts.
fn among_parts(
    call: &Call<'_>,
    form: &Search,
    program: &mut Program,
    found: [(Place, DType); 2],
    rows: usize,
    parts: usize,
) -> Result<()> {
    program.launch(call.target, |k| {
        let of = Reduced::new(k, call.inputs[0], &[form.axis], call.outputs[0]);
        let ([values, places], best) = (tensors(k, found, false), Best::new(k, form, found[0].1));
        let parts = k.size(parts);
        k.groups(rows, |row| {
            best.find(parts, |i| (values.load_at(row * parts + i), places.load_at(row * parts + i)));
            best.tell(|_, place| of.store(&of.at(row).0, place));
        });
        Ok(())
    })
}

fn tensors(k: &Code, of: [(Place, DType); 2], written: bool) -> [Tensor<'_>; 2] {
    of.map(|(place, dtype)| k.strided(place, dtype, &[], &[], written))
}

/// What the lanes of a group have found: the most extreme elements and their places.
struct Best<'a> {
    k: &'a Code,
    extreme: Extreme,
    values: Array<'a>,
    places: Array<'a>,
}

impl<'a> Best<'a> {
    fn new(k: &'a Code, form: &Search, dtype: DType) -> Self {
        Best { k, extreme: form.extreme, values: k.shared(dtype, LANES), places: k.shared(INDEX, LANES) }
    }

    /// Each lane looks at every [`LANES`]-th of `count` elements, the later ones of which have later places; then half of the lanes compare what they found
    /// with what the other half found, and so on.
    fn find(&self, count: Value<'a>, element: impl Fn(Value<'a>) -> (Value<'a>, Value<'a>)) {
        let Best { k, extreme, values, places } = *self;
        k.lanes(LANES, |lane| {
            let (value, place) = element(lane.min(count - 1));
            let best = (k.var(value), k.var(place));
            k.repeat((count + (LANES - 1) - lane) / LANES, |turn| meet(k, extreme, best, element(turn * LANES + lane)));
            values.store(lane, best.0.get());
            places.store(lane, best.1.get());
        });
        let mut half = LANES / 2;
        while half > 0 {
            k.lanes(half, |lane| {
                let (before, x) = (values.load(lane), values.load(lane + half));
                let place = places.load(lane + half);
                let is_first = place.lt(places.load(lane)) & !beats(extreme, before, x);
                k.when(beats(extreme, x, before) | is_first, || {
                    values.store(lane, x);
                    places.store(lane, place);
                });
            });
            half /= 2;
        }
    }

    /// What was found, once for the group.
    fn tell(&self, keep: impl FnOnce(Value<'a>, Value<'a>)) {
        self.k.lanes(1, |lane| keep(self.values.load(lane), self.places.load(lane)));
    }
}

/// The best so far and its place meet an element that comes later: the first of equal ones stays.
fn meet<'a>(k: &'a Code, extreme: Extreme, (best, place): (Var<'a>, Var<'a>), (x, i): (Value<'a>, Value<'a>)) {
    k.when(beats(extreme, x, best.get()), || {
        best.set(x);
        place.set(i);
    });
}

/// Truth values as numbers.
pub(crate) fn ordered(x: Value<'_>) -> Value<'_> {
    if x.dtype() == DType::Bool { x.to(DType::U8) } else { x }
}

/// The dtype of [`ordered`] elements.
pub(crate) fn ordered_dtype(dtype: DType) -> DType {
    if dtype == DType::Bool { DType::U8 } else { dtype.compute() }
}

/// Whether one element is more extreme than another; NaN is more extreme than any number.
pub(crate) fn beats<'a>(extreme: Extreme, x: Value<'a>, other: Value<'a>) -> Value<'a> {
    let beyond = match extreme {
        Extreme::Max => other.lt(x),
        Extreme::Min => x.lt(other),
    };
    if x.dtype().is_float() { beyond | (x.is_nan() & !other.is_nan()) } else { beyond }
}
