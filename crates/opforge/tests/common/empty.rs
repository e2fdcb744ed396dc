//! Inputs without elements: the inferred result, whatever was in memory before, or a typed error.

use opforge::declaration::{Array, Definition, Sample};
use opforge::{DType, Device, ErrorKind, Tensor};

use super::data::{Types, check_output, refs, tensors};
use super::{Report, guarded, text};

/// Each dimension of each input in turn with length 0; and each axis, in all inputs at once.
pub fn empty(definition: &Definition, report: &mut Report) {
    let dtype = [DType::F32].into_iter().chain(definition.dtypes.iter()).find(|&d| definition.dtypes.contains(d));
    let types = Types::real(dtype.unwrap_or(DType::F32));
    for sample in (definition.samples)() {
        for (variant, inputs) in variants(&sample, types) {
            report.case(definition, &sample, variant, || run(&sample, &inputs, types));
        }
    }
}

fn variants(sample: &Sample, types: Types) -> Vec<(String, Vec<Array>)> {
    let mut variants = Vec::new();
    let emptied = |cut: &dyn Fn(usize, usize) -> bool| -> Vec<Array> {
        let one = |(i, a): (usize, &Array)| {
            let shape: Vec<usize> = a.shape.iter().enumerate().map(|(d, &n)| if cut(i, d) { 0 } else { n }).collect();
            if shape == a.shape { a.clone() } else { Array { shape, data: vec![], content: a.content } }
        };
        sample.inputs.iter().enumerate().map(one).collect()
    };
    for (i, input) in sample.inputs.iter().enumerate() {
        for d in 0..input.shape.len() {
            variants.push((format!("input {i} empty along {d}"), emptied(&|j, e| (i, d) == (j, e))));
        }
    }
    if let Some(op) = sample.operator() {
        let tensors = tensors(&sample.inputs, types);
        let map = op.axes(&tensors.iter().map(Tensor::meta).collect::<Vec<_>>());
        for axis in 0..map.roles.len() as u8 {
            variants.push((format!("axis {axis} empty"), emptied(&|i, d| map.inputs[i][d] == Some(axis))));
        }
    }
    variants
}

fn run(sample: &Sample, inputs: &[Array], types: Types) -> Result<(), String> {
    let tensors = tensors(inputs, types);
    // A kernel that was queued tells its error to whoever reads.
    let read = |t: &Tensor| t.to_dtype(DType::F64)?.flatten_all()?.to_vec1::<f64>().map(drop);
    let called = sample.call(&refs(&tensors)).and_then(|outputs| outputs.iter().try_for_each(read).map(|()| outputs));
    let outputs = match called {
        Ok(outputs) => outputs,
        Err(e) if matches!(e.kind(), ErrorKind::Shape | ErrorKind::Index | ErrorKind::Value | ErrorKind::CustomOp) => {
            return Ok(());
        }
        Err(e) => return Err(text(e)),
    };
    if let Some(op) = sample.operator() {
        let metas = op.infer(&tensors.iter().map(Tensor::meta).collect::<Vec<_>>()).map_err(text)?;
        for (output, meta) in outputs.iter().zip(&metas) {
            if (output.shape(), output.dtype()) != (meta.shape(), meta.dtype) {
                return Err(format!("gave {:?}, inferred {meta:?}", output.meta()));
            }
        }
    }
    // References of fixed shapes do not apply.
    if let Ok(expected) = guarded(|| sample.expected(inputs)) {
        for (output, expected) in outputs.iter().zip(&expected) {
            if output.dims() == &expected.shape[..] {
                check_output(output, expected, types.real, 1.0)?;
            }
        }
    }
    let [first, second] = [0, 0x5a].map(|byte| {
        litter(byte);
        let gradients = backward(sample, &tensors)?;
        let all = outputs_again(sample, &tensors)?.into_iter().chain(gradients);
        all.map(|t| bits(&t)).collect::<Result<Vec<Vec<u64>>, String>>()
    });
    if first? == second? { Ok(()) } else { Err("depends on what was in memory before".to_owned()) }
}

/// Leaves memory of small tensors full of this byte, for the next ones to find.
fn litter(byte: u8) {
    for nbytes in (0..13).map(|power| 1usize << power) {
        let tensors = (0..24).map(|_| Tensor::full(byte, nbytes, &Device::Cpu).unwrap());
        drop(tensors.collect::<Vec<Tensor>>());
    }
}

fn outputs_again(sample: &Sample, inputs: &[Tensor]) -> Result<Vec<Tensor>, String> {
    Ok(sample.call(&refs(inputs)).map_err(text)?.into_iter().collect())
}

fn bits(t: &Tensor) -> Result<Vec<u64>, String> {
    let real = if t.dtype().is_complex() { t.abs() } else { Ok(t.clone()) };
    let numbers = real.and_then(|t| t.detach().to_dtype(DType::F64)?.flatten_all()?.to_vec1::<f64>()).map_err(text)?;
    Ok(numbers.into_iter().map(f64::to_bits).collect())
}

/// A gradient through nothing has the inputs' shapes.
fn backward(sample: &Sample, inputs: &[Tensor]) -> Result<Vec<Tensor>, String> {
    let mut gradients = Vec::new();
    let floats: Vec<&Tensor> = inputs.iter().filter(|t| t.dtype().is_float()).collect();
    floats.iter().try_for_each(|t| t.set_requires_grad(true)).map_err(text)?;
    for output in sample.call(&refs(inputs)).map_err(text)?.iter().filter(|t| t.requires_grad()) {
        let store = opforge::autograd::backward(
            &[(output.clone(), None)],
            opforge::autograd::BackwardOptions { retain_graph: true, ..Default::default() },
        );
        let store = store.map_err(|e| format!("backward: {}", text(e)))?;
        for (i, input) in floats.iter().enumerate() {
            match store.get(input) {
                Some(gradient) if gradient.shape() != input.shape() => {
                    return Err(format!("gradient {i} has the shape {:?}", gradient.shape()));
                }
                Some(gradient) => gradients.push(gradient.clone()),
                None => {}
            }
        }
    }
    Ok(gradients)
}
