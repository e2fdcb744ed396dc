//! Inference of shapes for inputs that are known in part must not contradict what is inferred for inputs that are known.

use super::case::Case;
use super::probe::Probe;
use super::report::Finding;
use super::session::{Session, Stop, Verdict};
use crate::abi::{UNKNOWN_LENGTH, UNKNOWN_RANK, lengths};

pub(super) fn probe(session: &Session<'_>, case: &Case) -> Verdict {
    let known: Vec<Vec<i64>> = case.inputs.iter().map(|input| lengths(&input.shape)).collect();
    let expected = session.infer(case, known.clone())?;
    for shapes in less_known(&known) {
        let inferred = match session.infer(case, shapes.clone()) {
            Err(Stop::Refused(_)) => continue,
            Err(Stop::Defect(finding)) if finding.probe == Probe::Refused => continue,
            Err(Stop::Defect(finding)) => {
                return Ok(Some(Finding { message: format!("{}, for inputs {shapes:?}", finding.message), ..finding }));
            }
            other => other?,
        };
        let outputs = inferred.iter().zip(&expected).enumerate();
        for (i, ((shape, _), (expected, _))) in outputs {
            if !agrees(shape, expected) {
                let message =
                    format!("for inputs {shapes:?} output {i} is inferred as {shape:?}, for {known:?} as {expected:?}");
                return Ok(Some(case.finding(Probe::Inference, message)));
            }
        }
    }
    Ok(None)
}

/// Shapes of which less is known: each length in turn, all of them, no ranks.
fn less_known(known: &[Vec<i64>]) -> Vec<Vec<Vec<i64>>> {
    let mut all = Vec::new();
    for (i, shape) in known.iter().enumerate() {
        for d in 0..shape.len() {
            let mut shapes = known.to_vec();
            shapes[i][d] = UNKNOWN_LENGTH;
            all.push(shapes);
        }
    }
    all.push(known.iter().map(|shape| vec![UNKNOWN_LENGTH; shape.len()]).collect());
    all.push(vec![vec![UNKNOWN_RANK]; known.len()]);
    all
}

fn agrees(shape: &[i64], expected: &[i64]) -> bool {
    let fits = |(length, expected): (&i64, &i64)| *length == UNKNOWN_LENGTH || length == expected;
    shape == [UNKNOWN_RANK] || shape.len() == expected.len() && shape.iter().zip(expected).all(fits)
}
