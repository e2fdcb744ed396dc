//! What is inferred, what the meta device gives and what is computed agree.

use opforge::autograd::{BackwardOptions, backward};
use opforge::declaration::{Definition, Sample};
use opforge::{DType, Device, Tensor};

use super::data::{Types, all_types, inputs_in, refs, tensor_on};
use super::{Report, text};

/// Each sample on the meta device, row-major and transposed.
pub fn meta(definition: &Definition, report: &mut Report) {
    for sample in (definition.samples)() {
        for types in all_types(&sample.inputs, sample.dtypes(definition.dtypes).iter()) {
            for transposed in [false, true] {
                let variant = format!("{types}{}", if transposed { ", transposed" } else { "" });
                report.case(definition, &sample, variant, || run(definition, &sample, types, transposed));
            }
        }
        if sample.smooth && definition.dtypes.contains(DType::F32) && !sample.inputs.is_empty() {
            report.case(definition, &sample, "gradient", || gradient(&sample));
        }
    }
}

/// Gradients on the meta device have the inputs' shapes.
fn gradient(sample: &Sample) -> Result<(), String> {
    let types = Types::real(DType::F32);
    let inputs: Vec<Tensor> = sample.inputs.iter().map(|a| tensor_on(a, types.of(a.content), &Device::Meta)).collect();
    let floats: Vec<&Tensor> = inputs.iter().filter(|t| t.dtype().is_float()).collect();
    floats.iter().try_for_each(|t| t.set_requires_grad(true)).map_err(text)?;
    let outputs = sample.call(&refs(&inputs)).map_err(text)?;
    for output in outputs.iter().filter(|t| t.requires_grad()) {
        let options = BackwardOptions { retain_graph: true, ..Default::default() };
        let store = backward(&[(output.clone(), None)], options).map_err(text)?;
        for input in &floats {
            let wrong = |g: &&Tensor| g.shape() != input.shape() || !g.device().is_meta();
            if let Some(gradient) = store.get(input).filter(wrong) {
                return Err(format!("gradient {:?} of {:?}", gradient.meta(), input.meta()));
            }
        }
    }
    Ok(())
}

type Facts = (DType, Vec<usize>, Vec<usize>);

fn facts(t: &opforge::Meta) -> Facts {
    (t.dtype, t.dims().to_vec(), t.layout.stride().to_vec())
}

fn run(definition: &Definition, sample: &Sample, types: Types, transposed: bool) -> Result<(), String> {
    let arrays = inputs_in(definition.name, sample, types);
    let inputs = |device: &Device| -> opforge::Result<Vec<Tensor>> {
        let one = |a: &opforge::declaration::Array| {
            let dtype = types.of(a.content);
            match (transposed, device) {
                (false, _) => Ok(tensor_on(a, dtype, device)),
                (true, _) => {
                    let mut reversed = a.clone();
                    reversed.shape.reverse();
                    let order: Vec<usize> = (0..a.shape.len()).rev().collect();
                    tensor_on(&reversed, dtype, device).permute(order)
                }
            }
        };
        arrays.iter().map(one).collect()
    };
    let eager_inputs = inputs(&Device::Cpu).map_err(text)?;
    let meta_inputs = inputs(&Device::Meta).map_err(text)?;
    let eager = sample.call(&refs(&eager_inputs));
    let meta = if arrays.is_empty() { eager.clone() } else { sample.call(&refs(&meta_inputs)) };
    let all = |outputs: &[Tensor]| outputs.iter().map(|t| facts(t.meta())).collect::<Vec<_>>();
    let (eager, meta) = match (eager, meta) {
        (Ok(eager), Ok(meta)) => (all(&eager), all(&meta)),
        (Err(eager), Err(meta)) if eager.kind() == meta.kind() => return Ok(()),
        (eager, meta) => return Err(format!("computed {eager:?}, on the meta device {meta:?}")),
    };
    if eager != meta {
        return Err(format!("computed {eager:?}, on the meta device {meta:?}"));
    }
    if let Some(op) = sample.operator() {
        let metas: Vec<_> = eager_inputs.iter().map(Tensor::meta).collect();
        let inferred: Vec<Facts> = op.infer(&metas).map_err(text)?.iter().map(facts).collect();
        // Of what is compared up to signs, a sample gives magnitudes.
        let own = all(&opforge::dispatch::dispatch(op, &refs(&eager_inputs)).map_err(text)?);
        if inferred != own {
            return Err(format!("computed {own:?}, inferred {inferred:?}"));
        }
    }
    Ok(())
}
