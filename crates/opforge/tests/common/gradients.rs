//! Gradients and gradients of gradients against central finite differences, in f64.

use opforge::autograd::{BackwardOptions, grad};
use opforge::declaration::{Array, Content, Definition, Sample};
use opforge::{DType, Tensor};

use super::data::{Types, epsilon, held, read_f64, refs, tensor, tensors};
use super::{Report, text};

/// Half of the distance between the points of a difference. The error is of the order of its square.
const STEP: f64 = 1e-5;
const TOLERANCE: f64 = 1e-6;

/// The gradient of every smooth sample that has real inputs: against differences; of each input alone; and in the other floating-point
/// dtypes against that in f64.
pub fn gradients(definition: &Definition, report: &mut Report) {
    each_smooth(definition, |sample| {
        report.case(definition, sample, "gradient", || first(sample));
        for i in reals(sample) {
            report.case(definition, sample, format_args!("gradient of input {i} alone"), || alone(sample, i));
        }
        for dtype in definition.dtypes.iter().filter(|d| d.is_float()) {
            report.case(definition, sample, format_args!("gradient in {dtype}"), || narrow(sample, dtype));
        }
    });
}

/// The gradient of one input does not depend on which others need theirs.
fn alone(sample: &Sample, i: usize) -> Result<(), String> {
    let gradient = |needed: &[usize]| -> Result<Option<Vec<f64>>, String> {
        let inputs = f64_tensors(&sample.inputs);
        needed.iter().try_for_each(|&i| inputs[i].set_requires_grad(true)).map_err(text)?;
        let outputs = sample.call(&refs(&inputs)).map_err(text)?;
        let seeds: Vec<Tensor> = outputs.iter().map(|t| tensor(&weights(t.dims(), 0), DType::F64)).collect();
        let found = taped(sample, &inputs, &[i], &seeds, BackwardOptions::default())?;
        found[0].as_ref().map(read_f64).transpose()
    };
    let (one, all) = (gradient(&[i])?, gradient(&reals(sample))?);
    if one == all { Ok(()) } else { Err(format!("{one:?}, with all others {all:?}")) }
}

/// The gradient in a dtype is that in f64, of the inputs as the dtype holds them, up to rounding.
fn narrow(sample: &Sample, dtype: DType) -> Result<(), String> {
    let wrt = reals(sample);
    let arrays: Vec<Array> = sample.inputs.iter().map(|a| held(a, dtype, false)).collect();
    let gradient = |dtype: DType| -> Result<Vec<Vec<f64>>, String> {
        let inputs = tensors(&arrays, Types::real(dtype));
        wrt.iter().try_for_each(|&i| inputs[i].set_requires_grad(true)).map_err(text)?;
        let outputs = sample.call(&refs(&inputs)).map_err(text)?;
        let seeds: Vec<Tensor> = outputs.iter().map(|t| tensor(&weights(t.dims(), 0), t.dtype())).collect();
        let found = taped(sample, &inputs, &wrt, &seeds, BackwardOptions::default())?;
        found.iter().zip(&wrt).map(|(g, &i)| g.as_ref().map_or(Ok(vec![0.0; arrays[i].data.len()]), read_f64)).collect()
    };
    let tolerance = 40.0 * epsilon(dtype);
    for (i, (got, want)) in gradient(dtype)?.iter().zip(&gradient(DType::F64)?).enumerate() {
        let scale = want.iter().fold(1f64, |m, x| m.max(x.abs()));
        for (k, (got, want)) in got.iter().zip(want).enumerate() {
            let near = (got - want).abs() <= tolerance * scale;
            if !near {
                return Err(format!("input {}: element {k} is {got:e}, in f64 {want:e}", wrt[i]));
            }
        }
    }
    Ok(())
}

/// The gradient of the gradient, with respect to the inputs and to the outputs' gradients.
pub fn second_derivatives(definition: &Definition, report: &mut Report) {
    each_smooth(definition, |sample| report.case(definition, sample, "second derivative", || second(sample)));
}

fn each_smooth(definition: &Definition, mut f: impl FnMut(&Sample)) {
    if definition.dtypes.contains(DType::F64) {
        let smooth = |s: &Sample| s.smooth && !reals(s).is_empty();
        (definition.samples)().iter().filter(|s| smooth(s)).for_each(&mut f);
    }
}

fn reals(sample: &Sample) -> Vec<usize> {
    (0..sample.inputs.len()).filter(|&i| sample.inputs[i].content == Content::Real).collect()
}

/// Weights that tell the elements of an output or of a gradient apart.
fn weights(shape: &[usize], k: usize) -> Array {
    let range = 0.5 + 0.1 * k as f64..2.0 + 0.1 * k as f64;
    Array::spread(shape, range)
}

/// As [`weights`], zeros for by-products that carry no gradient.
fn weight_of(output: &Tensor, k: usize) -> Array {
    let weights = weights(output.dims(), k);
    if output.requires_grad() { weights } else { weights.map(|_| 0.0) }
}

fn f64_tensors(arrays: &[Array]) -> Vec<Tensor> {
    tensors(arrays, Types::real(DType::F64))
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn first(sample: &Sample) -> Result<(), String> {
    let reals = reals(sample);
    let outputs = sample.call(&refs(&variables(&sample.inputs)?)).map_err(text)?;
    let seeds: Vec<Array> = outputs.iter().enumerate().map(|(k, t)| weight_of(t, k)).collect();
    let mut arrays = sample.inputs.clone();
    let gradients = first_order(sample, &arrays, &seeds)?;
    let loss = |arrays: &[Array]| -> Result<f64, String> {
        let outputs = sample.call(&refs(&f64_tensors(arrays))).map_err(text)?;
        outputs.iter().zip(&seeds).map(|(t, seed)| Ok(dot(&read_f64(t)?, &seed.data))).sum()
    };
    for (&i, gradient) in reals.iter().zip(&gradients) {
        compare(gradient, &mut arrays, i, &loss).map_err(|e| format!("input {i}: {e}"))?;
    }
    Ok(())
}

/// The gradients of all real inputs, zeros where there is none.
fn first_order(sample: &Sample, arrays: &[Array], seeds: &[Array]) -> Result<Vec<Vec<f64>>, String> {
    let inputs = variables(arrays)?;
    let seeds: Vec<Tensor> = seeds.iter().map(|s| tensor(s, DType::F64)).collect();
    let wrt = reals(sample);
    let found = taped(sample, &inputs, &wrt, &seeds, BackwardOptions::default())?;
    let values = |(gradient, &i): (&Option<Tensor>, &usize)| match gradient {
        Some(gradient) => read_f64(gradient),
        None => Ok(vec![0.0; arrays[i].data.len()]),
    };
    found.iter().zip(&wrt).map(values).collect()
}

fn variables(arrays: &[Array]) -> Result<Vec<Tensor>, String> {
    let inputs = f64_tensors(arrays);
    for (input, array) in inputs.iter().zip(arrays) {
        if array.content == Content::Real {
            input.set_requires_grad(true).map_err(text)?;
        }
    }
    Ok(inputs)
}

fn taped(
    sample: &Sample,
    inputs: &[Tensor],
    wrt: &[usize],
    seeds: &[Tensor],
    options: BackwardOptions,
) -> Result<Vec<Option<Tensor>>, String> {
    let outputs = sample.call(&refs(inputs)).map_err(text)?;
    let seeded = outputs.iter().zip(seeds).filter(|(t, _)| t.requires_grad());
    let roots: Vec<_> = seeded.map(|(t, s)| (t.clone(), Some(s.clone()))).collect();
    if roots.is_empty() {
        return Err("no output carries a gradient".into());
    }
    let wrt: Vec<&Tensor> = wrt.iter().map(|&i| &inputs[i]).collect();
    grad(&roots, &wrt, options).map_err(text)
}

fn second(sample: &Sample) -> Result<(), String> {
    let wrt = reals(sample);
    let outputs = sample.call(&refs(&variables(&sample.inputs)?)).map_err(text)?;
    let count = sample.inputs.len();
    // The variables of the second derivative: the inputs, then the outputs' gradients.
    let mut arrays = sample.inputs.clone();
    arrays.extend(outputs.iter().enumerate().map(|(k, t)| weight_of(t, k)));
    let upper: Vec<Array> = wrt.iter().enumerate().map(|(k, &i)| weights(&sample.inputs[i].shape, k + 3)).collect();
    let slope = |arrays: &[Array]| -> Result<f64, String> {
        let gradients = first_order(sample, &arrays[..count], &arrays[count..])?;
        Ok(gradients.iter().zip(&upper).map(|(g, u)| dot(g, &u.data)).sum())
    };
    let variables = variables(&arrays)?;
    let options = BackwardOptions { create_graph: true, ..Default::default() };
    let gradients = taped(sample, &variables[..count], &wrt, &variables[count..], options)?;
    let roots: Vec<_> = (gradients.into_iter().zip(&upper))
        .filter_map(|(g, u)| g.filter(Tensor::requires_grad).map(|g| (g, Some(tensor(u, DType::F64)))))
        .collect();
    let all: Vec<usize> = wrt.iter().copied().chain(count..arrays.len()).collect();
    let targets: Vec<&Tensor> = all.iter().map(|&i| &variables[i]).collect();
    let found = grad(&roots, &targets, BackwardOptions::default()).map_err(text)?;
    for (&i, gradient) in all.iter().zip(&found) {
        let gradient = match gradient {
            Some(gradient) => read_f64(gradient)?,
            None => vec![0.0; arrays[i].data.len()],
        };
        compare(&gradient, &mut arrays, i, &slope).map_err(|e| format!("variable {i}: {e}"))?;
    }
    Ok(())
}

/// Compares the gradient with respect to `arrays[i]` with differences of `f`.
fn compare(
    gradient: &[f64],
    arrays: &mut [Array],
    i: usize,
    f: &dyn Fn(&[Array]) -> Result<f64, String>,
) -> Result<(), String> {
    if gradient.len() != arrays[i].data.len() {
        return Err(format!("{} elements of gradient for {}", gradient.len(), arrays[i].data.len()));
    }
    for (k, &got) in gradient.iter().enumerate() {
        let x = arrays[i].data[k];
        let mut at = |x: f64| {
            arrays[i].data[k] = x;
            f(arrays)
        };
        let want = (at(x + STEP)? - at(x - STEP)?) / (2.0 * STEP);
        arrays[i].data[k] = x;
        let near = (got - want).abs() <= TOLERANCE * (1.0 + want.abs());
        if !near {
            return Err(format!("element {k} is {got:e}, differences give {want:e}"));
        }
    }
    Ok(())
}
