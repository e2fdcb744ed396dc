//! What axis maps promise: halves of the inputs give halves, or summands, of the outputs.

use opforge::declaration::Definition;
use opforge::operator::{AxisMap, Operator, Role, Tensors};
use opforge::{DType, Tensor};

use super::data::{Types, epsilon, inputs_in, read_f64, refs, tensors};
use super::{Report, text};

/// Operators whose attributes hold the whole output's shape, so that the same operator cannot be called on parts.
const WHOLE_SHAPE: [&str; 4] = ["expand", "reshape", "full", "embed"];

/// A call of an operator, or of something that stands for it.
type Run<'a> = &'a dyn Fn(&[&Tensor]) -> opforge::Result<Tensors>;

/// Each axis of each sample that may be split.
pub fn axis_maps(definition: &Definition, report: &mut Report) {
    let dtype = [DType::F64, DType::F32].into_iter().find(|&d| definition.dtypes.contains(d));
    let Some(dtype) = dtype.or(definition.dtypes.iter().next()) else { return };
    let types = Types::real(dtype);
    for sample in (definition.samples)() {
        let inputs = tensors(&inputs_in(definition.name, &sample, types), types);
        let Some(op) = sample.operator() else { continue };
        report.case(definition, &sample, "axis map", || axis_map(op, &|inputs| sample.call(inputs), &inputs));
    }
}

/// The axis map of one call, which `run` makes.
pub fn axis_map(op: &dyn Operator, run: Run<'_>, inputs: &[Tensor]) -> Result<(), String> {
    let map = op.axes(&inputs.iter().map(Tensor::meta).collect::<Vec<_>>());
    let whole = run(&refs(inputs)).map_err(text)?;
    well_formed(&map, inputs, &whole)?;
    if WHOLE_SHAPE.contains(&op.name()) {
        return Ok(());
    }
    for (axis, role) in map.roles.iter().enumerate().filter(|(_, role)| **role != Role::Whole) {
        if let Some(len) = length(&map, axis as u8, inputs).filter(|&n| n >= 2) {
            let parts = split(run, &map, axis as u8, len, inputs);
            parts
                .and_then(|parts| joined(&map, axis as u8, parts, &whole))
                .map_err(|e| format!("axis {axis}, {role:?}: {e}"))?;
        }
    }
    Ok(())
}

/// A name for each dimension, each with a role; dimensions of one name that may be split have one length.
fn well_formed(map: &AxisMap, inputs: &[Tensor], outputs: &[Tensor]) -> Result<(), String> {
    if (map.inputs.len(), map.outputs.len()) != (inputs.len(), outputs.len()) {
        return Err(format!("{} inputs and {} outputs in {map:?}", inputs.len(), outputs.len()));
    }
    let mut lengths = vec![None; map.roles.len()];
    for (names, t) in map.inputs.iter().zip(inputs).chain(map.outputs.iter().zip(outputs)) {
        if names.len() != t.rank() {
            return Err(format!("{} names for {:?} in {map:?}", names.len(), t.dims()));
        }
        for (name, &n) in names.iter().zip(t.dims()) {
            let Some(a) = name else { continue };
            let seen = lengths.get_mut(usize::from(*a)).ok_or(format!("axis {a} has no role in {map:?}"))?;
            let splits = !matches!(map.roles[usize::from(*a)], Role::Whole | Role::Blocks);
            if seen.replace(n).is_some_and(|m| m != n) && splits {
                return Err(format!("axis {a} has several lengths in {map:?}"));
            }
        }
    }
    Ok(())
}

fn length(map: &AxisMap, axis: u8, inputs: &[Tensor]) -> Option<usize> {
    let of = |(names, t): (&_, &Tensor)| place(names, axis).map(|d| t.dims()[d]);
    map.inputs.iter().zip(inputs).find_map(of)
}

fn place(names: &smallvec::SmallVec<[Option<u8>; 6]>, axis: u8) -> Option<usize> {
    names.iter().position(|&name| name == Some(axis))
}

/// The results for both halves of the inputs.
fn split(run: Run<'_>, map: &AxisMap, axis: u8, len: usize, inputs: &[Tensor]) -> Result<[Tensors; 2], String> {
    let part = |start: usize, n: usize| -> opforge::Result<Tensors> {
        let cut = |(names, t): (&_, &Tensor)| match place(names, axis) {
            // Some operators take row-major tensors only.
            Some(d) => t.narrow(d, start, n)?.contiguous(),
            None if start > 0 && map.roles[usize::from(axis)] == Role::SumWith => t.zeros_like(),
            None => Ok(t.clone()),
        };
        let inputs = map.inputs.iter().zip(inputs).map(cut).collect::<opforge::Result<Vec<_>>>()?;
        run(&refs(&inputs))
    };
    Ok([part(0, len / 2).map_err(text)?, part(len / 2, len - len / 2).map_err(text)?])
}

/// Parts of the results make up the whole.
fn joined(map: &AxisMap, axis: u8, parts: [Tensors; 2], whole: &[Tensor]) -> Result<(), String> {
    for (i, whole) in whole.iter().enumerate() {
        let joined = match (map.roles[usize::from(axis)], place(&map.outputs[i], axis)) {
            (Role::Sum | Role::SumWith, None) => parts[0][i].add(&parts[1][i]),
            (Role::Product, None) => parts[0][i].mul(&parts[1][i]),
            (Role::Max | Role::Any, None) => parts[0][i].maximum(&parts[1][i]),
            (Role::Min | Role::All, None) => parts[0][i].minimum(&parts[1][i]),
            (Role::Map | Role::Sum, Some(d)) => Tensor::cat(&[&parts[0][i], &parts[1][i]], d),
            (role, at) => return Err(format!("{role:?} axis at {at:?} of output {i}")),
        };
        same(&joined.map_err(text)?, whole).map_err(|e| format!("output {i}: {e}"))?;
    }
    Ok(())
}

fn same(joined: &Tensor, whole: &Tensor) -> Result<(), String> {
    if (joined.shape(), joined.dtype()) != (whole.shape(), whole.dtype()) {
        return Err(format!("parts make {:?}, the whole is {:?}", joined.meta(), whole.meta()));
    }
    let tolerance = 16.0 * epsilon(whole.dtype());
    for (k, (got, want)) in read_f64(joined)?.into_iter().zip(read_f64(whole)?).enumerate() {
        if (got - want).abs() > tolerance * (1.0 + want.abs()) {
            return Err(format!("element {k} is {got:e} of parts, {want:e} of the whole"));
        }
    }
    Ok(())
}
