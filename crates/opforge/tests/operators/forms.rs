//! Operators state what they compute: whoever reads no more than that, naively and in f64, finds what their kernels find.

mod distances;
mod index;
mod moved;
mod networks;
mod norms;
mod random;
mod runs;
mod samples;
mod waves;
mod windows;

use std::collections::BTreeSet;

use crate::common::Report;
use crate::common::data::{read_f64, refs};
use crate::common::recorded::{Recorded, alike, recorded};
use opforge::declaration::Array;
use opforge::dispatch::dispatch;
use opforge::family::{Distribution, DrawOp};
use opforge::operator::Lowering;
use opforge::ops::random::{bernoulli::Bernoulli, rand::Rand, randint::RandInt, randn::Randn};
use opforge::registry::operators;
use opforge::{DType, Device, Meta, Scalar, Shape, Tensor};

/// A tensor's elements as numbers.
fn array(tensor: &Tensor) -> Array {
    Array::new(tensor.dims(), read_f64(tensor).expect("real numbers"))
}

/// What the form makes of a call's inputs, sums over chunks as one sum; none of those that are traced, or have more than one right answer.
fn read(lowering: &Lowering, call: &Recorded, outputs: &[Meta]) -> Option<Vec<Array>> {
    let x: Vec<Array> = call.inputs.iter().map(array).collect();
    let shape = outputs[0].dims();
    let one = match lowering {
        Lowering::Fill(value) => Array::from_fn(shape, |_| value.to_f64()),
        Lowering::Range { start, step } => Array::from_fn(shape, |i| start.to_f64() + i[0] as f64 * step.to_f64()),
        Lowering::Search(form) => runs::search(form, &x[0], shape),
        Lowering::Scan(form) => runs::scan(form, &x[0]),
        Lowering::Sort(form) => runs::sort(form, &x, shape),
        Lowering::Contract(form) => moved::contract(form, &x, shape),
        Lowering::Distances(form) => distances::distances(form, &x, shape),
        Lowering::Move(form) => moved::moved(form, &x, shape),
        Lowering::Index(form) => index::index(*form, &x, shape),
        Lowering::Fourier(form) => waves::fourier(form, &x[0], shape),
        Lowering::Spread(form) => norms::spread(form, &x[0], shape),
        Lowering::Normalize(form) => return Some(norms::normalize(*form, &x)),
        Lowering::Attention(form) => return Some(networks::attention(form, &x, call.inputs.last()?.dtype())),
        Lowering::Recurrent(form) => return Some(networks::recurrent(form, &x)),
        Lowering::Windowed(form) => return Some(windows::windowed(form, &x, outputs)),
        Lowering::Random(form) if outputs[0].dtype == DType::F64 => random::random(form, &call.inputs[0], shape)?,
        _ => return None,
    };
    Some(vec![one])
}

/// Sums over chunks added up to as many as wanted; what is as long already stays.
fn added_up(found: Vec<f64>, wanted: usize) -> Vec<f64> {
    if wanted == 0 || !found.len().is_multiple_of(wanted) {
        return found;
    }
    (0..wanted).map(|i| found[i..].iter().step_by(wanted).sum()).collect()
}

fn check(call: &Recorded, lowering: &Lowering, outputs: &[Meta]) -> Result<bool, String> {
    let Some(wanted) = read(lowering, call, outputs) else { return Ok(false) };
    let found = dispatch(&*call.op, &refs(&call.inputs)).map_err(crate::common::text)?;
    for (found, wanted) in found.iter().zip(&wanted) {
        let near =
            |(a, b): (&f64, &f64)| a == b || (a.is_nan() && b.is_nan()) || (a - b).abs() <= 1e-9 * (1.0 + b.abs());
        let found = added_up(read_f64(found)?, wanted.data.len());
        if found.len() != wanted.data.len() || !found.iter().zip(&wanted.data).all(near) {
            return Err(format!("{lowering:?} reads as {:?}, the kernel gives {found:?}", wanted.data));
        }
    }
    Ok(true)
}

#[test]
fn forms_read_naively_give_what_kernels_give() {
    let (mut report, mut seen) = (Report::default(), Vec::<Recorded>::new());
    let mut compared = BTreeSet::new();
    let reals = |t: &Tensor| !t.dtype().is_complex();
    for definition in operators().into_iter().filter(|definition| definition.dtypes.contains(DType::F64)) {
        for sample in (definition.samples)() {
            for call in recorded(definition, &sample, false).unwrap_or_else(|e| panic!("{}: {e}", definition.name)) {
                if seen.iter().any(|other| alike(other, &call)) || !call.inputs.iter().all(reals) {
                    continue;
                }
                let metas: Vec<&Meta> = call.inputs.iter().map(Tensor::meta).collect();
                let outputs = call.op.infer(&metas).expect("a call that was made");
                let lowering =
                    call.op.lower(&metas, &outputs.iter().collect::<Vec<_>>()).expect("a call that was made");
                assert!(
                    !matches!(lowering, Lowering::Opaque(_)),
                    "{}: nothing but its kernel is known",
                    call.op.name()
                );
                report.case(definition, &sample, format_args!("{lowering:?} of {:?}", call.op), || {
                    compared.extend(check(&call, &lowering, &outputs)?.then(|| call.op.name()));
                    Ok(())
                });
                seen.push(call);
            }
        }
    }
    report.finish();
    assert!(compared.len() > 50, "only {compared:?} were compared");
}

/// Samples draw from distributions of one value only.
#[test]
fn draws_follow_from_their_key() {
    let key = Tensor::new(&[0x0123_4567_89ab_cdefu64, 3], &Device::Cpu).unwrap();
    let (shape, dtype) = ([3, 50].into(), DType::F64);
    fn draws<D: Distribution>(distribution: D, key: &Tensor, shape: &Shape, dtype: DType) {
        let op = DrawOp { distribution, shape: shape.clone(), dtype };
        let wanted = random::random(&distribution.form().into(), key, shape.dims()).unwrap();
        let found = read_f64(&dispatch(&op, &[key]).unwrap()[0]).unwrap();
        for (found, wanted) in found.iter().zip(wanted.data) {
            assert!((found - wanted).abs() <= 1e-12, "{distribution:?}: {found}, not {wanted}");
        }
    }
    draws(Rand { low: Scalar::Float(-1.0), high: Scalar::Float(2.5) }, &key, &shape, dtype);
    draws(Randn { mean: Scalar::Float(1.0), std: Scalar::Float(2.0) }, &key, &shape, dtype);
    draws(RandInt { low: -5, high: 1000 }, &key, &shape, dtype);
    draws(Bernoulli { p: Scalar::Float(0.3) }, &key, &shape, dtype);
}
