//! Results against those of a reference function.

use std::sync::Arc;

use opforge::{DType, Error, Result, Scalar, Tensor};

use super::probe::Probe;
use super::session::{Session, Stop, Trial, Verdict};
use super::stage::{Argument, Role, Seen};
use super::{compare, values};
use crate::attribute::Attributes;

/// What an operator should compute: tensors from tensors, of any dtype.
pub type Reference = Arc<dyn Fn(&[Tensor], &Attributes) -> Result<Vec<Tensor>> + Send + Sync>;

/// Compares what a run saw with the reference.
pub(super) fn probe(session: &Session<'_>, trial: &Trial<'_>, inputs: &[Vec<u8>], seen: &Seen) -> Verdict {
    let Some(reference) = &session.options.reference else { return Ok(None) };
    let case = trial.case;
    let expected = reference(&case.tensors(inputs)?, &session.attributes)?;
    let outputs: Vec<(&Argument, &Vec<u8>)> = outputs(trial, seen).collect();
    if expected.len() != outputs.len() {
        let (given, accepted) = (format!("{} results", expected.len()), format!("{}", outputs.len()));
        return Err(Stop::Own(Error::value(session.op.name(), "reference", given, accepted)));
    }
    for ((argument, bytes), expected) in outputs.into_iter().zip(&expected) {
        if let Some(message) = contradicts(session, argument, bytes, expected)? {
            return Ok(Some(case.finding(Probe::Reference, message)));
        }
    }
    Ok(None)
}

fn outputs<'a>(trial: &'a Trial<'_>, seen: &'a Seen) -> impl Iterator<Item = (&'a Argument, &'a Vec<u8>)> {
    let arguments = trial.stage.arguments.iter().enumerate();
    arguments.filter(|(_, argument)| argument.is_output()).map(|(i, argument)| match argument.role {
        Role::Alias(input) => (argument, &seen.contents[input]),
        _ => (argument, &seen.contents[i]),
    })
}

fn contradicts(session: &Session<'_>, argument: &Argument, bytes: &[u8], expected: &Tensor) -> Result<Option<String>> {
    if expected.dims() != argument.shape {
        let shape = expected.dims();
        return Ok(Some(format!("{} has shape {:?}, the reference's has {shape:?}", argument.name, argument.shape)));
    }
    let found = values::tensor(bytes, &argument.shape, argument.dtype)?.to_scalars()?;
    let expected = expected.to_scalars()?;
    let size = |scalar: &Scalar| scalar.to_f64().abs();
    let largest = expected.iter().map(size).filter(|size| size.is_finite()).fold(0.0, f64::max);
    let tolerance = session.options.tolerance.unwrap_or(tolerance(argument.dtype)) * largest;
    let differs = |(_, (found, expected)): &(usize, (&Scalar, &Scalar))| !is_near(**found, **expected, tolerance);
    let pairs = || found.iter().zip(&expected).enumerate();
    let Some((element, (found, expected))) = pairs().find(differs) else { return Ok(None) };
    let (count, total) = (pairs().filter(differs).count(), pairs().len());
    let place = compare::place(argument, element);
    Ok(Some(format!("{place} is {found}, the reference's is {expected} ({count} of {total} elements differ)")))
}

/// Of the largest element.
fn tolerance(dtype: DType) -> f64 {
    match dtype {
        DType::F64 | DType::C128 => 1e-9,
        DType::F32 | DType::C64 => 1e-5,
        DType::F16 => 2e-3,
        DType::BF16 => 2e-2,
        DType::F8E4M3 => 0.125,
        DType::F8E5M2 => 0.25,
        _ => 0.0,
    }
}

fn is_near(a: Scalar, b: Scalar, tolerance: f64) -> bool {
    let near = |a: f64, b: f64| a == b || a.is_nan() && b.is_nan() || (a - b).abs() <= tolerance;
    let ((a_re, a_im), (b_re, b_im)) = (a.to_complex(), b.to_complex());
    near(a_re, b_re) && near(a_im, b_im)
}
