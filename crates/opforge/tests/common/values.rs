//! Results against references.

use opforge::declaration::{Array, Content, Definition, Sample};
use opforge::operator::Tensors;
use opforge::{DType, ErrorKind};

use super::data::{Types, all_types, check_outputs, elements, inputs_in, refs, tensor, tensors};
use super::{Report, text};

fn run(sample: &Sample, inputs: &[Array], types: Types) -> Result<(), String> {
    let tensors = tensors(inputs, types);
    let outputs = sample.call(&refs(&tensors)).map_err(text)?;
    check_outputs(&outputs, sample, inputs, types.real)
}

/// Each sample in each dtype that the operator takes.
pub fn values(definition: &Definition, report: &mut Report) {
    for sample in (definition.samples)() {
        for types in all_types(&sample.inputs, sample.dtypes(definition.dtypes).iter()) {
            let inputs = inputs_in(definition.name, &sample, types);
            report.case(definition, &sample, types, || run(&sample, &inputs, types));
        }
    }
}

/// Any other dtype is refused, whether in all inputs or in one.
pub fn refused_dtypes(definition: &Definition, report: &mut Report) {
    for sample in (definition.samples)() {
        refused_mixtures(definition, &sample, report);
        let base = definition.dtypes.iter().find(|d| d.is_float()).unwrap_or(DType::F32);
        let contents: Vec<Content> = sample.inputs.iter().map(|a| a.content).collect();
        for dtype in DType::ALL {
            let taken = dtype.is_complex() && definition.dtypes.contains(dtype)
                || sample.dtypes(definition.dtypes).contains(dtype);
            if contents.contains(&Content::Real) && !taken {
                report.case(definition, &sample, format_args!("{dtype}"), || refused(&sample, Types::real(dtype)));
            }
            if contents.contains(&Content::Index) && !dtype.is_int() {
                let types = Types { index: dtype, ..Types::real(base) };
                report.case(definition, &sample, types, || refused(&sample, types));
            }
            if contents.contains(&Content::Truth) && !matches!(dtype, DType::Bool | DType::U8) {
                let types = Types { truth: dtype, ..Types::real(base) };
                report.case(definition, &sample, types, || refused(&sample, types));
            }
        }
    }
}

/// Each of several real inputs alone in another dtype than the rest.
fn refused_mixtures(definition: &Definition, sample: &Sample, report: &mut Report) {
    let reals: Vec<usize> = (0..sample.inputs.len()).filter(|&i| sample.inputs[i].content == Content::Real).collect();
    let (Some(base), Some(op)) = (definition.dtypes.iter().find(|d| d.is_float()), sample.operator()) else { return };
    for &i in reals.iter().filter(|_| reals.len() > 1) {
        for dtype in DType::ALL.into_iter().filter(|&d| d != base) {
            report.case(definition, sample, format_args!("{base}, input {i} in {dtype}"), || {
                let mut inputs = tensors(&sample.inputs, Types::real(base));
                inputs[i] = tensor(&sample.inputs[i], dtype);
                must_refuse(opforge::dispatch::dispatch(op, &refs(&inputs)))
            });
        }
    }
}

fn refused(sample: &Sample, types: Types) -> Result<(), String> {
    must_refuse(sample.call(&refs(&tensors(&sample.inputs, types))))
}

fn must_refuse(result: opforge::Result<Tensors>) -> Result<(), String> {
    match result {
        Ok(outputs) => Err(format!("gave {:?}", outputs.iter().map(|t| t.dtype()).collect::<Vec<_>>())),
        Err(e) if e.kind() == ErrorKind::DType => Ok(()),
        Err(e) => Err(text(e)),
    }
}

/// NaN, infinities and negative zero among the inputs.
pub fn special_numbers(definition: &Definition, report: &mut Report) {
    for sample in (definition.samples)() {
        let reals: Vec<usize> =
            (0..sample.inputs.len()).filter(|&i| sample.inputs[i].content == Content::Real).collect();
        for dtype in definition.dtypes.iter().filter(|d| d.is_float()) {
            let types = Types::real(dtype);
            for special in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0] {
                for &i in &reals {
                    let mut inputs = inputs_in(definition.name, &sample, types);
                    inputs[i].data.iter_mut().step_by(3).for_each(|x| *x = special);
                    let variant = format!("{dtype}, {special:?} in input {i}");
                    report.case(definition, &sample, variant, || match special.is_finite() {
                        false if sample.finite && i == 0 => not_finite(&sample, &inputs, types),
                        false if sample.spreads => not_lost(&sample, &inputs, types),
                        _ => run(&sample, &inputs, types),
                    });
                }
            }
        }
    }
}

/// Some results tell that inputs were not finite.
fn not_lost(sample: &Sample, inputs: &[Array], types: Types) -> Result<(), String> {
    let outputs = sample.call(&refs(&tensors(inputs, types))).map_err(text)?;
    let results = outputs.iter().map(elements).collect::<opforge::Result<Vec<_>>>().map_err(text)?;
    match results.iter().flatten().all(|x| x.to_f64().is_finite()) {
        true => Err(format!("gave {results:?}")),
        false => Ok(()),
    }
}

/// A value error, when the results are read at the latest.
fn not_finite(sample: &Sample, inputs: &[Array], types: Types) -> Result<(), String> {
    let outputs = sample.call(&refs(&tensors(inputs, types)));
    match outputs.and_then(|outputs| outputs.iter().map(elements).collect::<opforge::Result<Vec<_>>>()) {
        Ok(results) => Err(format!("gave {results:?}")),
        Err(e) if matches!(e.kind(), ErrorKind::Value | ErrorKind::Linalg) => Ok(()),
        Err(e) => Err(text(e)),
    }
}
