//! Operators that write their result over an input.

use opforge::autograd::{BackwardOptions, grad};
use opforge::declaration::{Content, Definition, Sample};
use opforge::dispatch::{dispatch_into, dispatch1};
use opforge::operator::Operator;
use opforge::{DType, ErrorKind, Layout, Tensor};

use super::data::{Types, check_outputs, inputs_in, read, refs, tensor, tensors};
use super::{Report, text};

/// Each sample with each input that is like the output, in floats and an integer dtype.
pub fn in_place(definition: &Definition, report: &mut Report) {
    for sample in (definition.samples)() {
        for dtype in [DType::F32, DType::F64, DType::I32].into_iter().filter(|&d| definition.dtypes.contains(d)) {
            let types = Types::real(dtype);
            let Some(op) = sample.operator() else { continue };
            for i in (0..sample.inputs.len()).filter(|&i| fits(op, &sample, types, i)) {
                let variant = format!("{dtype}, over input {i}");
                report.case(definition, &sample, &variant, || over(definition, op, &sample, types, i));
                if sample.inputs[i].data.len() > 1 {
                    report.case(definition, &sample, variant + ", overlapping", || refused(op, &sample, types, i));
                }
            }
            if sample.smooth && dtype == DType::F64 && fits(op, &sample, types, 0) && op.overwrites(0) {
                report.case(definition, &sample, "gradient", || gradient(op, &sample));
            }
        }
    }
}

/// Whether the operator computes one output of the input's shape and dtype.
fn fits(op: &dyn Operator, sample: &Sample, types: Types, i: usize) -> bool {
    let inputs = tensors(&sample.inputs, types);
    let Some(input) = inputs.get(i) else { return false };
    let metas: Vec<_> = inputs.iter().map(Tensor::meta).collect();
    let is_view = op.view(&Layout::contiguous(inputs[0].shape())).is_some();
    let like = |m: &opforge::Meta| m.dtype == input.dtype() && m.shape() == input.shape();
    !is_view && op.infer(&metas).is_ok_and(|out| out.len() == 1 && like(&out[0]))
}

/// The same result where the operator may overwrite the input, otherwise an error.
fn over(definition: &Definition, op: &dyn Operator, sample: &Sample, types: Types, i: usize) -> Result<(), String> {
    let arrays = inputs_in(definition.name, sample, types);
    let inputs = tensors(&arrays, types);
    let (output, before) = (&inputs[i], inputs[i].version());
    let result = dispatch_into(op, &refs(&inputs), &[output]);
    if !op.overwrites(i) && !arrays[i].data.is_empty() {
        return value_error(result, "an input that is not to be overwritten");
    }
    result.map_err(text)?;
    if output.version() == before {
        return Err("the version stays".into());
    }
    check_outputs(std::slice::from_ref(output), sample, &arrays, types.real)
}

fn value_error(result: opforge::Result<()>, what: &str) -> Result<(), String> {
    match result {
        Ok(()) => Err(format!("{what} was written")),
        Err(e) if e.kind() == ErrorKind::Value => Ok(()),
        Err(e) => Err(format!("{what}: {}", text(e))),
    }
}

/// Outputs that overlap an input or themselves.
fn refused(op: &dyn Operator, sample: &Sample, types: Types, i: usize) -> Result<(), String> {
    let n = sample.inputs[i].data.len();
    let mut inputs = tensors(&sample.inputs, types);
    let like = inputs[i].clone();
    let room = Tensor::zeros(n + 1, like.dtype(), like.device()).map_err(text)?;
    let at = |offset| room.as_strided(like.shape(), &like.shape().stride_contiguous(), offset).map_err(text);
    inputs[i] = at(0)?;
    value_error(dispatch_into(op, &refs(&inputs), &[&at(1)?]), "an overlapping output")?;
    let repeated = room.as_strided(like.shape(), &vec![0; like.rank()], 0).map_err(text)?;
    value_error(dispatch_into(op, &refs(&inputs), &[&repeated]), "an output of stride 0")
}

/// Over a computed tensor the gradient is the same, or refused because the operator needs what was there.
fn gradient(op: &dyn Operator, sample: &Sample) -> Result<(), String> {
    let inputs = tensors(&sample.inputs, Types::real(DType::F64));
    let real = |i: &usize| sample.inputs[*i].content == Content::Real;
    let wrt: Vec<&Tensor> = (0..inputs.len()).filter(real).map(|i| &inputs[i]).collect();
    wrt.iter().try_for_each(|t| t.set_requires_grad(true)).map_err(text)?;
    let mut args = inputs.clone();
    args[0] = inputs[0].affine(1.0, 0.0).map_err(text)?;
    let seed = tensor(&opforge::declaration::Array::spread(args[0].dims(), 0.5..2.0), DType::F64);
    let options = BackwardOptions { retain_graph: true, ..Default::default() };
    let gradients = |root: &Tensor| grad(&[(root.clone(), Some(seed.clone()))], &wrt, options);
    let expected = gradients(&dispatch1(op, &refs(&args)).map_err(text)?).map_err(text)?;
    dispatch_into(op, &refs(&args), &[&args[0]]).map_err(text)?;
    let found = match gradients(&args[0]) {
        Ok(found) => found,
        Err(e) if e.kind() == ErrorKind::Autograd && op.saves().inputs & 1 != 0 => return Ok(()),
        Err(e) => return Err(text(e)),
    };
    for (i, (found, expected)) in found.iter().zip(&expected).enumerate() {
        let values = |t: &Option<Tensor>| t.as_ref().map(read).transpose();
        let (found, expected) = (values(found)?, values(expected)?);
        if found != expected {
            return Err(format!("gradient {i} is {found:?}, expected {expected:?}"));
        }
    }
    Ok(())
}
