//! What axis maps promise: halves of the inputs give halves, or summands, of the outputs.

use std::panic::Location;

use opforge::declaration::Definition;
use opforge::dispatch::Prepared;
use opforge::operator::{AxisMap, Call, Operator, Place, Role, Tensors};
use opforge::{DType, Meta, Tensor};
use opforge_tile::forms::Portion;

use super::data::{Types, epsilon, inputs_in, read_f64, refs, tensors};
use super::{Report, text};

/// Gradients whose further outputs are sums over chunks of rows, whatever rows a chunk has: what counts is the sum over all chunks.
const CHUNKED: [&str; 2] = ["layer_norm_grad", "rms_norm_grad"];

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
    for (axis, role) in map.roles.iter().enumerate().filter(|(_, role)| **role != Role::Whole) {
        if can_be_halved(&map, axis as u8, *role, inputs, &whole) {
            let parts = split(op, run, &map, axis as u8, inputs, &whole);
            let chunked = CHUNKED.contains(&op.name());
            parts
                .and_then(|parts| joined(&map, axis as u8, parts, &whole, chunked))
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

/// Whether halves of all dimensions of that name correspond, and one input has such a dimension.
fn can_be_halved(map: &AxisMap, axis: u8, role: Role, inputs: &[Tensor], outputs: &[Tensor]) -> bool {
    let of = |(names, t): (&_, &Tensor)| place(names, axis).map(|d| t.dims()[d]);
    let lengths: Vec<usize> = map.inputs.iter().zip(inputs).filter_map(of).collect();
    let mut all = map.outputs.iter().zip(outputs).filter_map(of).chain(lengths.iter().copied());
    lengths.first().is_some_and(|&length| length >= 2) && all.all(|n| role != Role::Blocks || n.is_multiple_of(2))
}

fn place(names: &smallvec::SmallVec<[Option<u8>; 6]>, axis: u8) -> Option<usize> {
    names.iter().position(|&name| name == Some(axis))
}

/// The results for both halves of the inputs.
fn split(
    op: &dyn Operator,
    run: Run<'_>,
    map: &AxisMap,
    axis: u8,
    inputs: &[Tensor],
    whole: &[Tensor],
) -> Result<[Tensors; 2], String> {
    let wholes = inputs;
    let part = |second: bool| -> opforge::Result<Tensors> {
        let half = |n: usize| if second { n / 2..n } else { 0..n / 2 };
        let cut = |(names, t): (&_, &Tensor)| match place(names, axis) {
            // Some operators take row-major tensors only.
            Some(d) => {
                let half = half(t.dims()[d]);
                t.narrow(d, half.start, half.len())?.contiguous()
            }
            None if second && map.roles[usize::from(axis)] == Role::SumWith => t.zeros_like(),
            None => Ok(t.clone()),
        };
        let inputs = map.inputs.iter().zip(inputs).map(cut).collect::<opforge::Result<Vec<_>>>()?;
        let meta = |(names, t): (&_, &Tensor)| {
            let mut dims = t.dims().to_vec();
            place(names, axis).into_iter().for_each(|d| dims[d] = half(dims[d]).len());
            Meta::contiguous(t.dtype(), dims)
        };
        let outputs: Vec<Meta> = map.outputs.iter().zip(whole).map(meta).collect();
        let inferred = op.infer(&inputs.iter().map(Tensor::meta).collect::<Vec<_>>());
        let is_usual = inferred.is_ok_and(|metas| metas.iter().zip(&outputs).all(|(a, b)| a.shape() == b.shape()));
        let needs_place = map.roles[usize::from(axis)].needs_place();
        // A sample's call may do more, as bringing vectors to one sign.
        if is_usual && !needs_place {
            return run(&refs(&inputs));
        }
        let portion = |(names, whole): (&_, &Tensor)| Portion {
            whole: whole.shape().clone(),
            ranges: (0..whole.rank())
                .map(|d| if place(names, axis) == Some(d) { half(whole.dims()[d]) } else { 0..whole.dims()[d] })
                .collect(),
        };
        let there = Place {
            inputs: map.inputs.iter().zip(wholes).map(portion).collect(),
            outputs: map.outputs.iter().zip(whole).map(portion).collect(),
        };
        run_on_part(op, &refs(&inputs), &outputs, needs_place.then_some(&there))
    };
    Ok([part(false).map_err(text)?, part(true).map_err(text)?])
}

/// The operator on parts, whatever it infers of them.
fn run_on_part(
    op: &dyn Operator,
    inputs: &[&Tensor],
    outputs: &[Meta],
    place: Option<&Place>,
) -> opforge::Result<Tensors> {
    if let [input] = inputs
        && op.view(input.layout()).is_some()
        && let Some(layout) = op.view_of_part(input.layout(), outputs[0].shape())
    {
        return Ok([Tensor::over_storage(input.storage().clone(), input.dtype(), layout?)?].into_iter().collect());
    }
    let call = Call { op, inputs, outputs: None, at: Location::caller() };
    Prepared::of_parts(&call, &outputs.iter().collect::<Vec<_>>(), place)?.run(&call)
}

/// Parts of the results make up the whole.
fn joined(map: &AxisMap, axis: u8, parts: [Tensors; 2], whole: &[Tensor], chunked: bool) -> Result<(), String> {
    for (i, whole) in whole.iter().enumerate() {
        let joined = match (map.roles[usize::from(axis)], place(&map.outputs[i], axis)) {
            (Role::Sum | Role::SumWith | Role::Lookup, None) => parts[0][i].add(&parts[1][i]),
            (Role::Product, None) => parts[0][i].mul(&parts[1][i]),
            (Role::Max | Role::Any, None) => parts[0][i].maximum(&parts[1][i]),
            (Role::Min | Role::All, None) => parts[0][i].minimum(&parts[1][i]),
            (Role::Map | Role::Placed | Role::Blocks | Role::Sum, Some(d)) => {
                Tensor::cat(&[&parts[0][i], &parts[1][i]], d)
            }
            (role, at) => return Err(format!("{role:?} axis at {at:?} of output {i}")),
        };
        let joined = joined.map_err(text)?;
        let (joined, whole) = match chunked && i > 0 {
            true => (joined.sum(0).map_err(text)?, whole.sum(0).map_err(text)?),
            false => (joined, whole.clone()),
        };
        same(&joined, &whole).map_err(|e| format!("output {i}: {e}"))?;
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
