//! Results do not depend on how inputs lie in memory.

use opforge::autograd::{BackwardOptions, grad};
use opforge::declaration::{Array, Content, Definition, Sample};
use opforge::{DType, ErrorKind, Tensor};

use super::data::{Types, check_outputs, inputs_in, placed, read, refs, tensor};
use super::{Report, text};

/// Operators whose result is defined by the storage or the layout, not by the elements alone.
const BY_LAYOUT: [&str; 1] = ["as_strided"];

/// How an input lies.
#[derive(Debug, Clone, Copy)]
enum Place {
    /// Row-major, after other elements.
    Offset,
    /// Every second element, in every dimension.
    Gaps,
    /// Row-major rows with room between them.
    Padded,
    /// Column-major.
    Transposed,
    /// Row-major but for the first dimension, which is innermost.
    Rotated,
}

const PLACES: [Place; 5] = [Place::Offset, Place::Gaps, Place::Padded, Place::Transposed, Place::Rotated];

impl Place {
    fn stride(self, shape: &[usize]) -> Vec<usize> {
        let rank = shape.len();
        let order: Vec<usize> = match self {
            Place::Transposed => (0..rank).collect(),
            Place::Rotated => (0..rank.min(1)).chain((1..rank).rev()).collect(),
            _ => (0..rank).rev().collect(),
        };
        let mut stride = vec![1; rank];
        let mut n = if matches!(self, Place::Gaps) { 2 } else { 1 };
        for (k, d) in order.into_iter().enumerate() {
            stride[d] = n;
            n *= shape[d].max(1);
            n += if matches!(self, Place::Padded) && k == 0 { 3 } else { 0 };
            n *= if matches!(self, Place::Gaps) { 2 } else { 1 };
        }
        stride
    }

    fn put(self, array: &Array, dtype: DType) -> Tensor {
        let offset = if matches!(self, Place::Transposed | Place::Rotated) { 0 } else { 3 };
        placed(array, dtype, &self.stride(&array.shape), offset)
    }
}

/// Each sample with its inputs in other layouts, in dtypes of every size; and its gradient.
pub fn layouts(definition: &Definition, report: &mut Report) {
    if BY_LAYOUT.contains(&definition.name) {
        return;
    }
    let sizes = [DType::F32, DType::F64, DType::BF16, DType::U8, DType::C128, DType::F8E4M3];
    for sample in (definition.samples)().iter().filter(|s| !s.inputs.is_empty()) {
        for dtype in sizes.into_iter().filter(|&d| sample.dtypes(definition.dtypes).contains(d)) {
            for place in PLACES {
                let variant = format!("{dtype}, {place:?}");
                report.case(definition, sample, variant, || in_place_of_all(definition, sample, dtype, place));
            }
            repeated(definition, sample, dtype, report);
        }
        let differentiable = sample.smooth && definition.dtypes.contains(DType::F64);
        for place in PLACES.into_iter().filter(|_| differentiable) {
            report.case(definition, sample, format_args!("gradient, {place:?}"), || same_gradient(sample, place));
        }
    }
}

/// Some operators take row-major memory only, and say so; their functions copy.
fn wants_contiguous(sample: &Sample, error: &opforge::Error) -> bool {
    let wants = error.report().is_some_and(|report| report.accepted.contains("contiguous"));
    sample.operator().is_some() && error.kind() == ErrorKind::Shape && wants
}

fn in_place_of_all(definition: &Definition, sample: &Sample, dtype: DType, place: Place) -> Result<(), String> {
    let types = Types::real(dtype);
    let inputs = inputs_in(definition.name, sample, types);
    let tensors: Vec<Tensor> = inputs.iter().map(|a| place.put(a, types.of(a.content))).collect();
    match sample.call(&refs(&tensors)) {
        Ok(outputs) => check_outputs(&outputs, sample, &inputs, dtype),
        Err(e) if wants_contiguous(sample, &e) => Ok(()),
        Err(e) => Err(text(e)),
    }
}

/// Each dimension of each input in turn with stride 0.
fn repeated(definition: &Definition, sample: &Sample, dtype: DType, report: &mut Report) {
    let types = Types::real(dtype);
    let plain = inputs_in(definition.name, sample, types);
    for i in 0..plain.len() {
        let rank = plain[i].shape.len();
        let whole = if sample.full_rank { rank.saturating_sub(2) } else { rank };
        for d in (0..whole).filter(|&d| plain[i].shape[d] > 1) {
            let mut inputs = plain.clone();
            inputs[i] = first_along(&plain[i], d);
            let mut tensors: Vec<Tensor> = inputs.iter().map(|a| tensor(a, types.of(a.content))).collect();
            let mut stride = Place::Offset.stride(&inputs[i].shape);
            stride[d] = 0;
            tensors[i] = placed(&inputs[i], types.of(inputs[i].content), &stride, 1);
            report.case(definition, sample, format_args!("{dtype}, input {i} repeated along {d}"), || {
                match sample.call(&refs(&tensors)) {
                    Ok(outputs) => check_outputs(&outputs, sample, &inputs, dtype),
                    Err(e) if wants_contiguous(sample, &e) => Ok(()),
                    Err(e) => Err(text(e)),
                }
            });
        }
    }
}

/// The array with the first elements along a dimension everywhere along it.
fn first_along(array: &Array, d: usize) -> Array {
    let first = |index: &[usize]| {
        let mut index = index.to_vec();
        index[d] = 0;
        array.at(&index)
    };
    Array { content: array.content, ..Array::from_fn(&array.shape, first) }
}

fn same_gradient(sample: &Sample, place: Place) -> Result<(), String> {
    let gradients = |put: &dyn Fn(&Array, DType) -> Tensor| -> opforge::Result<Vec<Option<Tensor>>> {
        let types = Types::real(DType::F64);
        let inputs: Vec<Tensor> = sample.inputs.iter().map(|a| put(a, types.of(a.content))).collect();
        let wrt: Vec<&Tensor> =
            inputs.iter().zip(&sample.inputs).filter(|(_, a)| a.content == Content::Real).map(|(t, _)| t).collect();
        wrt.iter().try_for_each(|t| t.set_requires_grad(true))?;
        let outputs = sample.call(&refs(&inputs))?;
        let seed = |t: &Tensor| {
            let seed = Array::spread(t.dims(), 0.5..2.0);
            place.put(&seed, DType::F64)
        };
        let seeded = outputs.iter().filter(|t| t.requires_grad());
        let roots: Vec<_> = seeded.map(|t| (t.clone(), Some(seed(t)))).collect();
        grad(&roots, &wrt, BackwardOptions::default())
    };
    let plain = gradients(&tensor).map_err(text)?;
    let found = match gradients(&|a, dtype| place.put(a, dtype)) {
        Ok(found) => found,
        Err(e) if wants_contiguous(sample, &e) => return Ok(()),
        Err(e) => return Err(text(e)),
    };
    for (i, (found, plain)) in found.iter().zip(&plain).enumerate() {
        let values = |t: &Option<Tensor>| t.as_ref().map(read).transpose();
        let (found, plain) = (values(found)?, values(plain)?);
        let near = |a: &[opforge::Scalar], b: &[opforge::Scalar]| {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a.to_f64() - b.to_f64()).abs() <= 1e-12)
        };
        match (&found, &plain) {
            (None, None) => {}
            (Some(a), Some(b)) if near(a, b) => {}
            _ => return Err(format!("real input {i}: {found:?}, from row-major inputs {plain:?}")),
        }
    }
    Ok(())
}
