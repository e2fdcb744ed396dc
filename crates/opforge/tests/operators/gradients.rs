//! The operators that only gradients call, and so no sample does: found by recording what the samples' backward passes call, and held to what every
//! operator promises.

use std::any::TypeId;
use std::collections::BTreeSet;
use std::fs;

use crate::common::axes::axis_map;
use crate::common::data::{read_f64, refs};
use crate::common::recorded::{Recorded, alike, recorded};
use crate::common::{Report, text};
use opforge::declaration::{Definition, Sample};
use opforge::dispatch::{dispatch, dispatch_into};
use opforge::operator::{Operator, Tensors};
use opforge::registry::{operators, read_operator};
use opforge::term::Parser;
use opforge::{DType, ErrorKind, Tensor};

/// The calls of operators that no sample calls, once each.
fn each_unnamed(mut f: impl FnMut(&Definition, &Sample, &Recorded)) {
    let mut named = BTreeSet::<TypeId>::new();
    for definition in operators() {
        named.extend((definition.samples)().iter().filter_map(|sample| Some(sample.operator()?.as_any().type_id())));
    }
    for definition in operators().into_iter().filter(|definition| definition.dtypes.contains(DType::F64)) {
        let mut seen: Vec<Recorded> = Vec::new();
        for sample in (definition.samples)() {
            for again in [false, true] {
                let calls = recorded(definition, &sample, again);
                for call in calls.unwrap_or_else(|e| panic!("{}: {sample:?}: {e}", definition.name)) {
                    if !named.contains(&call.op.as_any().type_id()) && !seen.iter().any(|other| alike(other, &call)) {
                        f(definition, &sample, &call);
                        seen.push(call);
                    }
                }
            }
        }
    }
}

/// Runs a check on each of these calls.
fn check(what: &str, check: fn(&Recorded) -> Result<(), String>) {
    let mut report = Report::default();
    each_unnamed(|definition, sample, call| {
        report.case(definition, sample, format_args!("{what} of {:?}", call.op), || check(call));
    });
    report.finish();
}

fn outputs(call: &Recorded, inputs: &[Tensor]) -> Result<Tensors, String> {
    dispatch(&*call.op, &refs(inputs)).map_err(text)
}

/// Fails unless results are equal up to the order in which they are summed.
fn near(found: &[Tensor], wanted: &[Tensor]) -> Result<(), String> {
    for (i, (found, wanted)) in found.iter().zip(wanted).enumerate() {
        let (found, wanted) = (read_f64(found)?, read_f64(wanted)?);
        let same =
            |(a, b): (&f64, &f64)| a == b || (a.is_nan() && b.is_nan()) || (a - b).abs() <= 1e-12 * (1.0 + b.abs());
        if found.len() != wanted.len() || !found.iter().zip(&wanted).all(same) {
            return Err(format!("output {i} is {found:?}, not {wanted:?}"));
        }
    }
    Ok(())
}

#[test]
fn axis_maps_keep_their_promises() {
    check("axis map", |call| axis_map(&*call.op, &|inputs| dispatch(&*call.op, inputs), &call.inputs));
}

#[test]
fn texts_are_read_as_they_were_written() {
    check("text", |call| {
        let text = call.op.term().to_string();
        let term = Parser::new(&text, "operator").term().map_err(crate::common::text)?;
        let read = read_operator(&term).map_err(crate::common::text)?;
        if read.same(&*call.op) { Ok(()) } else { Err(format!("{text} was read as {read:?}")) }
    });
}

#[test]
fn inference_and_the_meta_device_agree_with_results() {
    check("inference", |call| {
        let facts = |t: &opforge::Meta| (t.dtype, t.dims().to_vec(), t.layout.stride().to_vec());
        let computed: Vec<_> = outputs(call, &call.inputs)?.iter().map(|t| facts(t.meta())).collect();
        let metas: Vec<_> = call.inputs.iter().map(Tensor::meta).collect();
        let inferred: Vec<_> = call.op.infer(&metas).map_err(text)?.iter().map(facts).collect();
        if computed == inferred { Ok(()) } else { Err(format!("computed {computed:?}, inferred {inferred:?}")) }
    });
}

#[test]
fn layouts_do_not_matter() {
    /// The tensor column-major.
    fn transposed(t: &Tensor) -> opforge::Result<Tensor> {
        let order: Vec<usize> = (0..t.rank()).rev().collect();
        t.permute(order.clone())?.contiguous()?.permute(order)
    }
    /// The tensor with every second element of a larger one.
    fn apart(t: &Tensor) -> opforge::Result<Tensor> {
        Tensor::stack(&[t, t], t.rank())?.narrow(t.rank(), 0, 1)?.squeeze(t.rank())
    }
    check("layouts", |call| {
        let wanted = outputs(call, &call.inputs)?;
        for place in [transposed, apart] {
            let placed: Vec<Tensor> = call.inputs.iter().map(place).collect::<opforge::Result<_>>().map_err(text)?;
            match dispatch(&*call.op, &refs(&placed)) {
                Ok(found) => near(&found, &wanted)?,
                Err(e) if e.kind() == ErrorKind::Shape && e.to_string().contains("contiguous") => {}
                Err(e) => return Err(text(e)),
            }
        }
        Ok(())
    });
}

#[test]
fn what_may_be_overwritten_can_be() {
    check("overwriting", |call| {
        let wanted = outputs(call, &call.inputs)?;
        let like = |t: &Tensor| t.dtype() == wanted[0].dtype() && t.shape() == wanted[0].shape();
        let may = |&i: &usize| wanted.len() == 1 && call.op.overwrites(i) && like(&call.inputs[i]);
        for i in (0..call.inputs.len()).filter(may) {
            let inputs: Vec<Tensor> =
                call.inputs.iter().map(Tensor::copy).collect::<opforge::Result<_>>().map_err(text)?;
            dispatch_into(&*call.op, &refs(&inputs), &[&inputs[i]]).map_err(text)?;
            near(&inputs[i..=i], &wanted)?;
        }
        Ok(())
    });
}

/// The types that implement `Operator`, or `Plain` and thereby `Operator`, in operators' files and families, as sources name them.
fn implementing() -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/src/");
    let mut folders = vec![format!("{root}ops"), format!("{root}family")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder of the sources").flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path.display().to_string());
                continue;
            }
            let source = fs::read_to_string(&path).expect("a source");
            found.extend(source.lines().filter(|line| line.starts_with("impl")).filter_map(|line| {
                let (_, named) = line.split_once(" Operator for ").or_else(|| line.split_once(" Plain for "))?;
                let name = named.split(|c: char| !c.is_alphanumeric()).next()?;
                // A single letter is a parameter.
                (name.len() > 1).then(|| name.to_owned())
            }));
        }
    }
    found
}

/// What copies integers, which samples of floats do not: the cases of Python's functions have it.
const ELSEWHERE: &str = "CopyNearest";

/// Samples call it, or the gradients of one that samples call.
#[test]
fn every_operator_is_known_to_the_registry() {
    let name = |op: &dyn Operator| format!("{op:?}").split(|c: char| !c.is_alphanumeric()).next().map(str::to_owned);
    let mut known = BTreeSet::new();
    for definition in operators() {
        known.extend((definition.samples)().iter().filter_map(|sample| name(sample.operator()?)));
    }
    each_unnamed(|_, _, call| known.extend(name(&*call.op)));
    let unknown: Vec<_> =
        implementing().into_iter().filter(|name| !known.contains(name) && name != ELSEWHERE).collect();
    assert!(unknown.is_empty(), "neither samples nor their gradients call {unknown:?}");
}
