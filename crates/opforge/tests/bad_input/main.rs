//! Wrong arguments, by class: each gives a typed error that names the operator, the argument, what was given and what is accepted. Nothing
//! panics, and nothing is computed silently.
//!
//! Memory beyond the limit is in `tests/memory.rs`, misuse of gradients in `tests/autograd/leaves.rs`.

#[path = "../common/mod.rs"]
mod common;
mod indices;
mod memory;
mod shapes;
mod values;
mod windows;

use common::{data::elements, guarded};
use opforge::ErrorKind::{Autograd, DType as DTypeError, Device as DeviceError, Index, OutOfMemory, Shape, Value};
use opforge::dispatch::dispatch_into;
use opforge::functional as f;
use opforge::ops::linalg::matmul::MatMul;
use opforge::{DType, Device, ErrorKind, IndexOp, Result, Scalar, Tensor, Var};

const CPU: &Device = &Device::Cpu;

type Call = Box<dyn Fn() -> Result<Tensor>>;

/// A call, the kinds of error that are right for it, and words that its message must hold: the operator's name first.
struct Case(&'static [ErrorKind], &'static [&'static str], Call);

fn case(
    kind: &'static [ErrorKind],
    words: &'static [&'static str],
    call: impl Fn() -> Result<Tensor> + 'static,
) -> Case {
    Case(kind, words, Box::new(call))
}

/// Makes every call and reads its result, which is where an error may surface; reports all that do not fail as they should.
#[track_caller]
fn all_refused(cases: Vec<Case>) {
    let failures: Vec<String> =
        cases.iter().enumerate().filter_map(|(i, c)| failure(c).map(|e| format!("case {i}: {e}"))).collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

fn failure(Case(kinds, words, call): &Case) -> Option<String> {
    let result = guarded(|| {
        let tensor = call()?;
        elements(&tensor).map(|values| format!("{:?} {values:?}", tensor.meta()))
    });
    let error = match result {
        Err(panic) => return Some(format!("{words:?} panicked: {panic}")),
        Ok(Ok(value)) => return Some(format!("{words:?} gave {value}")),
        Ok(Err(error)) => error,
    };
    let message = error.to_string();
    let complete = match error.report() {
        Some(r) => {
            !r.op.is_empty() && !r.accepted.is_empty() && r.given.iter().all(|(a, g)| !a.is_empty() && !g.is_empty())
        }
        None => true,
    };
    let named = words.iter().all(|word| message.contains(word));
    (!(complete && named && kinds.contains(&error.kind())))
        .then(|| format!("{words:?} {kinds:?}: {:?} {message}", error.kind()))
}

fn x(dims: &[usize]) -> Tensor {
    Tensor::ones(dims, DType::F32, CPU).unwrap()
}

fn ids(values: &[i64]) -> Tensor {
    Tensor::from_slice(values, values.len(), CPU).unwrap()
}

/// In-place calls have no result of their own.
fn done(result: Result<()>) -> Result<Tensor> {
    result.map(|()| x(&[1]))
}
