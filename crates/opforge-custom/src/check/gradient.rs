//! The declared gradient against differences of results: d(sum of c * y) / dx for random c.

use opforge::autograd::{BackwardOptions, backward};
use opforge::{DType, Device, Result, Tensor, Var};

use super::case::Case;
use super::probe::Probe;
use super::session::{Session, Verdict};
use super::stage::{Argument, Role};
use super::{compare, values};
use crate::{CustomOp, Gradient};

/// How many elements of each input are moved.
const ELEMENTS: usize = 24;

/// The most elements of an input of a case that this is done for.
const LARGEST: usize = 64;

/// Whether a case can show anything.
pub(super) fn suits(case: &Case) -> bool {
    (1..=LARGEST).contains(&case.count()) && case.inputs.iter().any(|input| is_moved(input.dtype))
}

/// Others are too coarse for differences.
fn is_moved(dtype: DType) -> bool {
    matches!(dtype, DType::F32 | DType::F64)
}

pub(super) fn probe(session: &Session<'_>, case: &Case) -> Verdict {
    let tensors = case.tensors(&session.inputs(case, 0)?)?;
    let found = isolated(session).and_then(|op| differences(session, &op, case, &tensors));
    // Whatever fails after the operator itself has passed is the gradient.
    Ok(found
        .unwrap_or_else(|error| Some(format!("cannot be computed: {error}")))
        .map(|message| case.finding(Probe::Gradient, message)))
}

/// The operator and its gradient, each in a process of its own.
fn isolated(session: &Session<'_>) -> Result<CustomOp> {
    let limit = Some(session.options.timeout);
    let op = session.given.clone().isolated(limit)?;
    match op.gradient_operator().cloned() {
        Some(gradient) => op.gradient(Gradient::Op(gradient.isolated(limit)?)),
        None => Ok(op),
    }
}

fn differences(session: &Session<'_>, op: &CustomOp, case: &Case, tensors: &[Tensor]) -> Result<Option<String>> {
    let weights = weights(op, tensors, session.options.seed)?;
    let gradients = declared(op, tensors, &weights)?;
    for (i, input) in case.inputs.iter().enumerate().filter(|(_, input)| is_moved(input.dtype)) {
        let declared = match &gradients[i] {
            Some(gradient) => scalars(gradient)?,
            None => vec![0.0; input.count()],
        };
        let loss = |element, by| moved(op, tensors, &weights, i, element, by);
        for (element, &declared) in declared.iter().enumerate().take(ELEMENTS) {
            let Some(measured) = measured(input.dtype, |by| loss(element, by))? else { continue };
            if !agree(input.dtype, declared, measured) {
                let argument = Argument::new(input.name.clone(), Role::Input, input.shape.clone(), input.dtype);
                let place = compare::place(&argument, element);
                let message =
                    format!("with respect to {place} is {declared:.6}, by differences of results {measured:.6}");
                return Ok(Some(message));
            }
        }
    }
    Ok(None)
}

/// Random factors for each output of floats.
fn weights(op: &CustomOp, tensors: &[Tensor], seed: u64) -> Result<Vec<Option<Tensor>>> {
    let outputs = op.apply_all(&tensors.iter().collect::<Vec<_>>())?;
    let weight = |(i, output): (usize, &Tensor)| {
        if !output.dtype().is_float() {
            return Ok(None);
        }
        let bytes = values::random(output.dtype(), output.elem_count(), &(-1.0..1.0), seed ^ i as u64)?;
        values::tensor(&bytes, output.dims(), output.dtype()).map(Some)
    };
    outputs.iter().enumerate().map(weight).collect()
}

/// The gradients as declared.
fn declared(op: &CustomOp, tensors: &[Tensor], weights: &[Option<Tensor>]) -> Result<Vec<Option<Tensor>>> {
    let vars = tensors.iter().map(|tensor| {
        if is_moved(tensor.dtype()) { Ok(Var::from_tensor(tensor)?.as_tensor().clone()) } else { Ok(tensor.clone()) }
    });
    let vars = vars.collect::<Result<Vec<Tensor>>>()?;
    let outputs = op.apply_all(&vars.iter().collect::<Vec<_>>())?;
    let roots: Vec<_> =
        outputs.into_iter().zip(weights).filter(|(_, weight)| weight.is_some()).map(|(y, c)| (y, c.clone())).collect();
    let store = backward(&roots, BackwardOptions::default())?;
    Ok(vars.iter().map(|var| store.get(var).cloned()).collect())
}

/// The sum of c * y with one element of an input moved.
fn moved(
    op: &CustomOp,
    tensors: &[Tensor],
    weights: &[Option<Tensor>],
    input: usize,
    element: usize,
    by: f64,
) -> Result<f64> {
    let mut tensors = tensors.to_vec();
    let mut elements = scalars(&tensors[input])?;
    elements[element] += by;
    let (shape, dtype) = (tensors[input].shape().clone(), tensors[input].dtype());
    tensors[input] = Tensor::from_vec(elements, shape, &Device::Cpu)?.to_dtype(dtype)?;
    let outputs = op.apply_all(&tensors.iter().collect::<Vec<_>>())?;
    let mut sum = 0.0;
    for (output, weight) in outputs.iter().zip(weights) {
        let Some(weight) = weight else { continue };
        sum += scalars(output)?.iter().zip(scalars(weight)?).map(|(y, c)| y * c).sum::<f64>();
    }
    Ok(sum)
}

/// The derivative by central differences; `None` where it jumps.
fn measured(dtype: DType, loss: impl Fn(f64) -> Result<f64>) -> Result<Option<f64>> {
    let step = if dtype == DType::F64 { 2f64.powi(-16) } else { 2f64.powi(-7) };
    let slope = |step: f64| -> Result<f64> { Ok((loss(step)? - loss(-step)?) / (2.0 * step)) };
    let (wide, narrow) = (slope(step)?, slope(step / 2.0)?);
    Ok(agree(dtype, wide, narrow).then_some(narrow))
}

fn agree(dtype: DType, a: f64, b: f64) -> bool {
    let tolerance = if dtype == DType::F64 { 1e-5 } else { 2e-2 };
    (a - b).abs() <= tolerance * a.abs().max(b.abs()).max(1.0)
}

fn scalars(tensor: &Tensor) -> Result<Vec<f64>> {
    Ok(tensor.to_scalars()?.into_iter().map(|scalar| scalar.to_f64()).collect())
}
