//! Large inputs give the same bits with any number of threads, queued or at once; and nearly the same with any instruction set.

mod common;

use std::sync::{Mutex, MutexGuard, PoisonError};

use common::data::{Types, inputs_in, read, read_bytes, refs, tensors};
use common::{Report, text};
use opforge::declaration::{Array, Definition, Sample};
use opforge::registry::operators;
use opforge::{DType, Scalar, Tensor};
use opforge_cpu::simd::{Isa, with_isa};
use opforge_runtime::{parallel, vm};

/// Elements of the largest input: enough for several ranges of a parallel loop and for the queue.
const LARGE: usize = 1 << 17;
/// Elements of an output, in those of the largest input.
const MOST_TIMES: usize = 16;

/// The number of threads and the way of calling are the process's: one test at a time.
fn alone() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A sample and inputs for it, one axis of which is long.
struct Case {
    definition: &'static Definition,
    sample: Sample,
    inputs: Vec<Tensor>,
    axis: u8,
}

/// For each operator its sample of the highest rank, with each axis in turn long.
fn cases(len: usize) -> Vec<Case> {
    operators().into_iter().flat_map(|definition| of_operator(definition, len)).collect()
}

fn of_operator(definition: &'static Definition, len: usize) -> Vec<Case> {
    let dtype = [DType::F32].into_iter().chain(definition.dtypes.iter()).find(|&d| definition.dtypes.contains(d));
    let types = Types::real(dtype.expect("an operator takes some dtype"));
    let rank = |s: &Sample| s.inputs.iter().map(|a| a.shape.len()).max().unwrap_or(0);
    let samples = (definition.samples)();
    let Some(sample) = samples.iter().filter(|s| s.operator().is_some() && rank(s) > 0).max_by_key(|s| rank(s)) else {
        return vec![];
    };
    let inputs = inputs_in(definition.name, sample, types);
    let small = tensors(&inputs, types);
    let operator = sample.operator().expect("chosen so");
    let map = operator.axes(&small.iter().map(Tensor::meta).collect::<Vec<_>>());
    let grown = |axis: u8, times: usize| -> Vec<Array> {
        (inputs.iter().zip(&map.inputs))
            .map(|(a, names)| match names.iter().position(|&n| n == Some(axis)) {
                Some(d) => repeated(a, d, times),
                None => a.clone(),
            })
            .collect()
    };
    let long = |axis: u8| -> Option<Case> {
        let largest = inputs.iter().map(|a| a.data.len()).max()?;
        let mut times = len.div_ceil(largest);
        loop {
            let grown = grown(axis, times);
            let tensors = tensors(&grown, types);
            let metas: Vec<_> = tensors.iter().map(Tensor::meta).collect();
            // Attributes of a fixed shape do not fit longer inputs.
            let outputs = operator.infer(&metas).ok().filter(|_| grown != inputs)?;
            // Of pairs there are as many as the square.
            if outputs.iter().all(|output| output.elem_count() <= MOST_TIMES * len) {
                return Some(Case { definition, sample: sample.clone(), inputs: tensors, axis });
            }
            times /= 2;
        }
    };
    (0..map.roles.len() as u8).filter_map(long).collect()
}

/// The array, several times one after another along a dimension.
fn repeated(array: &Array, d: usize, times: usize) -> Array {
    let block: usize = array.shape[d..].iter().product();
    let mut shape = array.shape.clone();
    shape[d] *= times;
    let data = array.data.chunks(block.max(1)).flat_map(|block| block.repeat(times)).collect();
    Array { content: array.content, ..Array::new(&shape, data) }
}

impl Case {
    /// What `read` finds in the outputs.
    fn run<T>(&self, read: fn(&Tensor) -> Result<T, String>) -> Result<Vec<T>, String> {
        // Of copies: some operators change their inputs.
        let inputs: Vec<Tensor> = self.inputs.iter().map(Tensor::copy).collect::<Result<_, _>>().map_err(text)?;
        let outputs = self.sample.call(&refs(&inputs)).map_err(text)?;
        outputs.iter().map(read).collect()
    }
}

/// Whether each case gives the same as what `read` finds in its outputs where one thread computes them at once.
fn check<T>(
    name: &str,
    len: usize,
    read: fn(&Tensor) -> Result<T, String>,
    same: impl Fn(&Case, &[T]) -> Result<(), String>,
) {
    let mut report = Report::default();
    for case in cases(len) {
        let variant = format!("{name}, axis {} long", case.axis);
        report.case(case.definition, &case.sample, variant, || {
            let threads = parallel::num_threads();
            parallel::set_num_threads(1);
            vm::set_sync(true);
            let expected = case.run(read);
            let result = expected.and_then(|expected| same(&case, &expected));
            parallel::set_num_threads(threads);
            vm::set_sync(false);
            result
        });
    }
    report.finish();
}

fn equal(got: &[Vec<u8>], expected: &[Vec<u8>], how: &str) -> Result<(), String> {
    for (i, (got, expected)) in got.iter().zip(expected).enumerate() {
        if got != expected {
            let at = got.iter().zip(expected).position(|(got, expected)| got != expected);
            return Err(format!("{how}: output {i} differs from one thread's at byte {at:?} of {}", expected.len()));
        }
    }
    Ok(())
}

#[test]
fn the_number_of_threads_changes_no_bit() {
    let _turn = alone();
    check("threads", LARGE, read_bytes, |case, expected| {
        [2, 5].into_iter().try_for_each(|threads| {
            parallel::set_num_threads(threads);
            equal(&case.run(read_bytes)?, expected, &format!("{threads} threads"))
        })
    });
}

#[test]
fn queued_calls_are_the_same_as_calls_at_once() {
    let _turn = alone();
    check("queue", LARGE, read_bytes, |case, expected| {
        parallel::set_num_threads(2);
        vm::set_sync(false);
        equal(&case.run(read_bytes)?, expected, "queued")
    });
}

#[test]
fn instruction_sets_agree() {
    let _turn = alone();
    check("instruction sets", 1000, read, |case, expected| {
        Isa::supported().try_for_each(|isa| {
            // Kernels are kept by thread, so that a thread of its own prepares new ones.
            let run = || std::thread::scope(|s| s.spawn(|| with_isa(isa, || case.run(read))).join());
            let got = run().map_err(|_| format!("{isa:?} panicked"))??;
            near(&got, expected).map_err(|e| format!("{isa:?}: {e}"))
        })
    });
}

fn near(got: &[Vec<Scalar>], expected: &[Vec<Scalar>]) -> Result<(), String> {
    for (got, expected) in got.iter().zip(expected) {
        for (k, (got, expected)) in got.iter().zip(expected).enumerate() {
            let (a, b) = (got.to_f64(), expected.to_f64());
            let near = a == b || a.is_nan() && b.is_nan() || (a - b).abs() <= 1e-5 * (1.0 + b.abs());
            if !near {
                return Err(format!("element {k} is {a:e}, not {b:e}"));
            }
        }
    }
    Ok(())
}
