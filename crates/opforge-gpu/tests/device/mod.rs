//! What tests of every kind of GPU check: every operator's samples and their gradients beside the CPU, with equal values, or an error that says what the
//! device lacks.
#![allow(dead_code)]

use std::collections::BTreeMap;

use opforge::declaration::{Array, Content, Definition, Sample};
use opforge::registry::operators;
use opforge::{DType, Device, Error, ErrorKind, Result, Scalar, Tensor};

/// Tests of operators, named as the functions of this module: on the device that `$gpu` gives, and without one they pass.
macro_rules! tests_of_operators {
    ($gpu:expr) => {
        tests_of_operators! { $gpu;
            an_operator_from_elsewhere_runs_without_another_line,
            tensors_are_made_moved_read_and_freed_there,
            integers_are_widened_by_their_own_sign,
            long_tensors_take_many_groups,
            what_is_found_in_elements_and_what_there_is_too_little_of_are_errors,
            functions_are_as_exact_over_all_magnitudes,
        }
    };
    ($gpu:expr; $($name:ident),* $(,)?) => {
        $(#[test]
        fn $name() -> Result<()> {
            $gpu.map_or(Ok(()), |gpu| device::$name(&gpu))
        })*
    };
}

type Values = (DType, Vec<usize>, Vec<Scalar>);

/// The outputs of a sample, and the gradients of its inputs.
fn run(sample: &Sample, real: DType, device: &Device) -> Result<Vec<Values>> {
    opforge_runtime::Generator::global().manual_seed(7);
    let inputs = sample.inputs.iter().map(|a| a.to_tensor(real, device)).collect::<Result<Vec<_>>>()?;
    let mut leaves = inputs.iter().filter(|t| sample.smooth && t.dtype().is_float());
    leaves.try_for_each(|t| t.set_requires_grad(true))?;
    let results = sample.call_with_gradients(&inputs)?;
    results.iter().map(|t| Ok((t.dtype(), t.dims().to_vec(), t.to_scalars()?))).collect()
}

fn is_near(a: Scalar, b: Scalar, dtype: DType) -> bool {
    let tolerance = match dtype {
        DType::F64 => 1e-10,
        DType::F32 => 3e-5,
        DType::F16 => 4e-3,
        _ => 4e-2,
    };
    match (a, b) {
        (Scalar::Float(a), Scalar::Float(b)) => {
            a == b || a.is_nan() && b.is_nan() || (a - b).abs() <= tolerance * (1.0 + b.abs())
        }
        (a, b) => format!("{a:?}") == format!("{b:?}"),
    }
}

/// How results differ.
fn difference(got: &[Values], want: &[Values]) -> Option<String> {
    if got.len() != want.len() {
        return Some(format!("{} results, not {}", got.len(), want.len()));
    }
    got.iter().zip(want).enumerate().find_map(|(i, (got, want))| {
        if (got.0, &got.1) != (want.0, &want.1) {
            return Some(format!("result {i} is {:?} {:?}, not {:?} {:?}", got.0, got.1, want.0, want.1));
        }
        let at = got.2.iter().zip(&want.2).position(|(&a, &b)| !is_near(a, b, got.0))?;
        Some(format!("result {i}, element {at} is {:?}, not {:?}", got.2[at], want.2[at]))
    })
}

#[derive(Default)]
struct Count {
    same: usize,
    refused: BTreeMap<String, usize>,
    failures: Vec<String>,
}

impl Count {
    fn check(&mut self, definition: &Definition, sample: &Sample, dtype: DType, device: &Device) {
        let (got, want) = (run(sample, dtype, device), run(sample, dtype, &Device::Cpu));
        let wrong = match (got, want) {
            (Ok(got), Ok(want)) => difference(&got, &want),
            (Err(got), _) if got.root().kind() == ErrorKind::Device => {
                let words = got.root().to_string();
                assert!(words.contains(device.name()), "{words} names no device");
                *self.refused.entry(reason(&words)).or_default() += 1;
                return;
            }
            (Err(got), Err(want)) if got.root().kind() == want.root().kind() => None,
            (got, want) => Some(format!("{:?} on the GPU, {:?} on the CPU", got.map(drop), want.map(drop))),
        };
        match wrong {
            None => self.same += 1,
            Some(wrong) => self.failures.push(format!("{} of {dtype}: {sample:?}: {wrong}", definition.name)),
        }
    }
}

/// What is accepted, and what was given instead.
fn reason(words: &str) -> String {
    words.split_once(", ").map_or(words, |(_, rest)| rest).chars().take(120).collect()
}

/// The dtypes that are tried: with `OPFORGE_DTYPES=all` many.
pub fn dtypes() -> Vec<DType> {
    match std::env::var("OPFORGE_DTYPES").is_ok_and(|text| text == "all") {
        true => vec![
            DType::F32,
            DType::F16,
            DType::I32,
            DType::I64,
            DType::Bool,
            DType::F64,
            DType::BF16,
            DType::U8,
            DType::I8,
            DType::U32,
            DType::C64,
        ],
        false => vec![DType::F32],
    }
}

/// Operators and their gradients give there what they give on the CPU. Of the samples every so many-th is tried, of each operator one at least; the
/// number of those that are the same.
pub fn operators_and_gradients(device: &Device, every: usize) -> usize {
    let (only, mut count) = (std::env::var("OPFORGE_OPERATOR").ok(), Count::default());
    let chosen = |definition: &&&Definition| only.as_deref().is_none_or(|only| only == definition.name);
    let all = operators();
    for definition in all.iter().filter(chosen) {
        for sample in (definition.samples)().into_iter().step_by(every) {
            // What has no inputs says itself where its output is.
            if sample.inputs.is_empty() || sample.operator().is_some_and(|op| op.device().is_some()) {
                continue;
            }
            for dtype in dtypes().into_iter().filter(|&dtype| sample.dtypes(definition.dtypes).contains(dtype)) {
                count.check(definition, &sample, dtype, device);
            }
        }
    }
    eprintln!("{} samples; refused: {:#?}", count.same, count.refused);
    let failed = count.failures.len();
    assert!(failed == 0, "{failed} of {} differ:\n{}", failed + count.same, count.failures.join("\n"));
    count.same
}

/// An operator's file as anybody would write it.
#[path = "../../../opforge/tests/fixtures/cube.rs"]
mod cube;

pub fn an_operator_from_elsewhere_runs_without_another_line(device: &Device) -> Result<()> {
    for sample in (cube::DEFINITION.samples)() {
        for dtype in [DType::F32, DType::F16, DType::I32] {
            let (got, want) = (run(&sample, dtype, device)?, run(&sample, dtype, &Device::Cpu)?);
            assert_eq!(difference(&got, &want), None, "{dtype}");
        }
    }
    Ok(())
}

pub fn tensors_are_made_moved_read_and_freed_there(device: &Device) -> Result<()> {
    let zeros = Tensor::zeros((2, 3), DType::F32, device)?;
    let x = Tensor::new(&[[1f32, 2.0, 3.0], [4.0, 5.0, 6.0]], device)?;
    let sum = (zeros + &x)?;
    assert_eq!(sum.device().to_string(), device.name());
    assert_eq!(sum.t()?.to_vec2::<f32>()?, [[1.0, 4.0], [2.0, 5.0], [3.0, 6.0]]);
    let bytes = Tensor::new(&[1u8, 2, 3, 4, 5, 6, 7], device)?;
    assert_eq!(bytes.narrow(0, 3, 3)?.to_vec1::<u8>()?, [4, 5, 6]);
    x.add_(&x)?;
    assert_eq!(x.to_vec2::<f32>()?, [[2.0, 4.0, 6.0], [8.0, 10.0, 12.0]]);
    Ok(())
}

pub fn integers_are_widened_by_their_own_sign(device: &Device) -> Result<()> {
    let unsigned = Tensor::new(&[3_000_000_000u32, 7], device)?.to_dtype(DType::I64)?;
    assert_eq!(unsigned.to_vec1::<i64>()?, [3_000_000_000, 7]);
    let signed = Tensor::new(&[-2i32, 7], device)?.to_dtype(DType::U64)?.to_device(&Device::Cpu)?;
    assert_eq!(signed.to_dtype(DType::I64)?.to_vec1::<i64>()?, [-2, 7]);
    Ok(())
}

pub fn long_tensors_take_many_groups(device: &Device) -> Result<()> {
    let x = Tensor::arange(0f32, 5_000_000.0, &Device::Cpu)?.affine(1e-6, -2.0)?;
    let (here, there) = (x.sum_all()?.to_scalar::<f32>()?, x.to_device(device)?.sum_all()?.to_scalar::<f32>()?);
    assert!((here - there).abs() <= 1e-4 * here.abs(), "{there}, not {here}");
    let (a, b) = (x.narrow(0, 0, 70_000)?.reshape((100, 700))?, x.narrow(0, 9, 70_000)?.reshape((700, 100))?);
    let product = a.to_device(device)?.matmul(&b.to_device(device)?)?.to_device(&Device::Cpu)?;
    let error = (product - a.matmul(&b)?)?.abs()?.max_all()?.to_scalar::<f32>()?;
    assert!(error < 1e-2, "off by {error}");
    Ok(())
}

/// Calls whose rows groups share, and products by tiles.
#[path = "../calls/long.rs"]
mod long;

/// Of f32, or of halves too where `all`.
pub fn groups_share_what_is_long(device: &Device, all: bool) -> Result<()> {
    for dtype in [DType::F32, DType::F16].into_iter().take(if all { 2 } else { 1 }) {
        let values = |device: &Device| -> Result<Vec<Values>> {
            let all = long::calls(dtype, device)?;
            all.iter().map(|t| Ok((t.dtype(), t.dims().to_vec(), t.to_scalars()?))).collect()
        };
        assert_eq!(difference(&values(device)?, &values(&Device::Cpu)?), None, "{dtype}");
    }
    Ok(())
}

pub fn what_is_found_in_elements_and_what_there_is_too_little_of_are_errors(device: &Device) -> Result<()> {
    let x = Tensor::new(&[1i32, 2], device)?;
    let zero = Tensor::new(&[1i32, 0], device)?;
    let divided = x.div(&zero).and_then(|y| y.to_vec1::<i32>());
    assert_eq!(divided.unwrap_err().root().kind(), ErrorKind::Value);
    let wrong = Tensor::new(&[0u32, 7], device)?;
    let read = x.index_select(&wrong, 0).and_then(|y| y.to_vec1::<i32>());
    assert!(matches!(read.unwrap_err().root(), Error::InvalidIndex { index: 7, size: 2, .. }));
    let large = Tensor::zeros(1 << 45, DType::F32, device).and_then(|t| t.narrow(0, 0, 1)?.to_vec1::<f32>());
    assert!(matches!(large.unwrap_err().root().kind(), ErrorKind::OutOfMemory | ErrorKind::Device));
    Ok(())
}

/// Numbers of all magnitudes, some of them large, and around 0.
fn numbers(seed: u64, count: usize) -> Vec<f32> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) as f64 / f64::from(1u32 << 31)
    };
    const SPECIAL: [f32; 8] = [f32::INFINITY, f32::NEG_INFINITY, f32::NAN, 0.0, -0.0, 1.0, -1.0, 8e37];
    let number = |i: usize| {
        if i.is_multiple_of(16) {
            return SPECIAL[(next() * 8.0) as usize];
        }
        let sign = if next() < 0.5 { -1.0 } else { 1.0 };
        let magnitude = match i % 4 {
            0 => next(),
            1 => 10.0 * next(),
            2 => 100.0 * next(),
            _ => (80.0 * next() - 40.0).exp2(),
        };
        (sign * magnitude) as f32
    };
    (0..count).map(number).collect()
}

/// Samples are few: compilers may take additions back, lose small numbers, or reduce angles badly elsewhere.
pub fn functions_are_as_exact_over_all_magnitudes(device: &Device) -> Result<()> {
    let (mut failures, mut checked) = (Vec::new(), 0);
    for definition in operators() {
        let first = (definition.samples)().into_iter().find(|sample| sample.inputs.iter().all(|a| a.shape.len() == 1));
        let Some(mut sample) = first.filter(|sample| (1..=2).contains(&sample.inputs.len())) else { continue };
        let dtypes = sample.dtypes(definition.dtypes);
        let pointwise = sample.operator().is_some_and(|op| format!("{op:?}").contains("aryOp"));
        // A number that is added hides what precedes it.
        if definition.name == "affine"
            || !pointwise
            || !dtypes.contains(DType::F32)
            || sample.inputs.iter().any(|a| a.content != Content::Real)
        {
            continue;
        }
        for (seed, input) in sample.inputs.iter_mut().enumerate() {
            let data: Vec<f64> = numbers(seed as u64 + 5, 4096).into_iter().map(f64::from).collect();
            *input = Array::new(&[data.len()], data);
        }
        sample.smooth = false;
        let (got, want) = match (run(&sample, DType::F32, device), run(&sample, DType::F32, &Device::Cpu)) {
            (Ok(got), Ok(want)) => (got, want),
            _ => continue,
        };
        checked += 1;
        // What is added to a number is known no better than that.
        let adds = definition.name.starts_with("logaddexp");
        let known =
            |i: usize| if adds { sample.inputs.iter().fold(0f64, |size, a| size.max(a.data[i].abs())) } else { 0.0 };
        let near = |a: f64, b: f64, known: f64| {
            let is_nan = a.is_nan() && b.is_nan();
            a == b || is_nan || (a - b).abs() <= 2e-5 * b.abs() + 2e-7 * known + 1e-37
        };
        let at = (0..4096).find(|&i| !near(got[0].2[i].to_f64(), want[0].2[i].to_f64(), known(i)));
        failures.extend(at.map(|i| {
            let given: Vec<f64> = sample.inputs.iter().map(|a| a.data[i]).collect();
            format!("{} of {given:?} is {:?}, not {:?}", definition.name, got[0].2[i], want[0].2[i])
        }));
    }
    assert!(failures.is_empty(), "{} of {checked}:\n{}", failures.len(), failures.join("\n"));
    assert!(checked > 40, "only {checked} functions");
    Ok(())
}
