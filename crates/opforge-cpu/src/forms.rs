//! The kernels of what operators state as plain values ([`opforge_tile::forms`]). Inputs and outputs are the operator's, in their order.

use std::sync::Arc;

use opforge_core::{Error, Layout, Meta, Result, Shape};
use opforge_runtime::HostKernel;
use opforge_tile::forms::{
    Attention, Contract, Draws, Index, Move, Normalize, Part, Random, Recurrent, Sort, Windowed,
};

use crate::{attention, conv, copy, index, matmul, norm, overlay, pool, random, recurrent, resample, sample, sort};

/// Products of matrices.
///
/// # Errors
/// Shapes and dtypes that do not go together.
pub fn contract(op: &'static str, form: Contract, inputs: &[&Meta], output: &Meta) -> Result<Arc<dyn HostKernel>> {
    if let Contract::Linear { .. } = form {
        return matmul::linear(op, inputs[0], inputs[1], inputs.get(2).copied(), output);
    }
    let lead = &output.dims()[..output.rank().saturating_sub(2)];
    let stretched = |input: &Meta| {
        let matrix = &input.dims()[input.rank().saturating_sub(2)..];
        let shape: Shape = lead.iter().chain(matrix).copied().collect();
        Ok::<_, Error>(Meta { dtype: input.dtype, layout: input.layout.broadcast_as(&shape, op)? })
    };
    matmul::matmul(op, &stretched(inputs[0])?, &stretched(inputs[1])?, output)
}

/// Elements moved.
///
/// # Errors
/// Shapes and dtypes that do not go together, axes out of range.
pub fn moved(op: &'static str, form: &Move, inputs: &[&Meta], output: &Meta) -> Result<Arc<dyn HostKernel>> {
    match form {
        Move::Copy => copy::copy(op, inputs[0], output),
        &Move::Concatenate { axis } => copy::cat(op, inputs, axis, output),
        Move::Flip { axes } => copy::flip(op, inputs[0], axes, output),
        &Move::Extend { ref before, beyond } => copy::extend(op, inputs[0], before, beyond, output),
        &Move::Triangle { lower, diagonal } => copy::triangle(op, inputs[0], lower, diagonal, output),
        Move::Overlay { place } => overlaid(op, place, inputs, output),
    }
}

fn overlaid(op: &'static str, place: &Layout, inputs: &[&Meta], output: &Meta) -> Result<Arc<dyn HostKernel>> {
    match inputs {
        [part] => overlay::embed(op, part, place, output),
        [base, part] => overlay::overlay(op, base, part, place, output),
        _ => Err(Error::value(op, "inputs", inputs.len(), "1 or 2 tensors")),
    }
}

/// Elements at places that integers name.
///
/// # Errors
/// Shapes and dtypes that do not go together.
pub fn indexed(op: &'static str, form: Index, inputs: &[&Meta], output: &Meta) -> Result<Arc<dyn HostKernel>> {
    let x = inputs[0];
    match form {
        Index::NonZero => index::nonzero(op, x, output),
        Index::Exchange => index::exchange(op, x, output),
        Index::Gather { axis, indices } => index::gather(op, x, inputs[1], axis, indices, output),
        Index::Scatter { axis, indices, how } => {
            index::scatter(op, [x, inputs[1], inputs[2]], axis, indices, how, output)
        }
        Index::Select { axis, indices } => index::index_select(op, x, inputs[1], axis, indices, output),
        Index::AddSlices { axis, indices } => index::index_add(op, x, inputs[1], inputs[2], axis, indices, output),
        Index::Get { axis } => index::get(op, x, &inputs[1..], axis, output),
        Index::Put { axis, adds } => {
            let last = inputs.len() - 1;
            index::put(op, x, &inputs[1..last], inputs[last], axis, adds, output)
        }
    }
}

/// Elements made of those under windows.
///
/// # Errors
/// Shapes and dtypes that do not go together.
pub fn windowed(op: &'static str, form: &Windowed, inputs: &[&Meta], outputs: &[&Meta]) -> Result<Arc<dyn HostKernel>> {
    let (x, out) = (inputs[0], outputs[0]);
    match form {
        Windowed::Convolution { geometry, part } => {
            let (other, bias) = (inputs[1], inputs.get(2).copied());
            match part {
                Part::Output => conv::convolve(op, geometry, x, other, bias, out),
                Part::Input => conv::transposed(op, geometry, x, other, bias, out),
                Part::Weight => conv::weight_gradient(op, geometry, x, other, out),
            }
        }
        &Windowed::Average { ref average, spatial, gradient: false } => {
            pool::average_pool(op, average, spatial, x, out)
        }
        &Windowed::Average { ref average, spatial, gradient: true } => {
            pool::average_pool_gradient(op, average, spatial, x, out)
        }
        &Windowed::Greatest { ref windows, spatial } => {
            pool::max_pool(op, windows, spatial, x, out, outputs.get(1).copied())
        }
        &Windowed::Spread { spatial, .. } => pool::max_pool_gradient(op, spatial, x, inputs[1], out),
        &Windowed::Resample { ref how, spatial, gradient: false } => resample::resample(op, how, spatial, x, out),
        &Windowed::Resample { ref how, spatial, gradient: true } => {
            resample::resample_gradient(op, how, spatial, x, out)
        }
        &Windowed::Sample { sampling, part } => sample::sample(op, sampling, part, inputs, out),
    }
}

/// Places of elements in sorted order.
///
/// # Errors
/// Shapes and dtypes that do not go together, complex numbers.
pub fn sorted(op: &'static str, form: Sort, inputs: &[&Meta], output: &Meta) -> Result<Arc<dyn HostKernel>> {
    match form {
        Sort::Order { axis, descending } => sort::arg_sort(op, inputs[0], axis, descending, output),
        Sort::Place { axis, rank } => sort::arg_place(op, inputs[0], axis, rank, output),
        Sort::Search { right } => sort::search(op, inputs[0], inputs[1], right, output),
    }
}

/// Numbers drawn at random.
///
/// # Errors
/// Parameters that are no distribution's, a wrong key, dtypes that the distribution does not have.
pub fn drawn(op: &'static str, form: &Draws, inputs: &[&Meta], output: &Meta) -> Result<Arc<dyn HostKernel>> {
    let (key, target) = (inputs[0], random::Target { meta: output, portion: form.portion.as_ref() });
    match form.random {
        Random::Uniform { low, high } => random::uniform(op, low.to_f64(), high.to_f64(), key, target),
        Random::Normal { mean, std } => random::normal(op, mean.to_f64(), std.to_f64(), key, target),
        Random::Bernoulli { p } => random::bernoulli(op, p.to_f64(), key, target),
        Random::Integers { low, high } => random::randint(op, low, high, key, target),
        Random::Poisson => random::poisson(op, key, inputs[1], target),
        Random::Dropout { keep } => random::dropout(op, keep.to_f64(), key, inputs[1], target),
    }
}

/// Elements less their mean over their deviation, and gradients of that.
///
/// # Errors
/// Shapes and dtypes that do not go together.
pub fn normalized(
    op: &'static str,
    form: Normalize,
    inputs: &[&Meta],
    outputs: &[&Meta],
) -> Result<Arc<dyn HostKernel>> {
    let (x, y, given) = (inputs[0], outputs[0], |i: usize| inputs.get(i).copied());
    match form {
        Normalize::Rows { eps } => norm::layer_norm(op, x, given(1), given(2), eps.to_f64(), y, true),
        Normalize::RootMeanSquare { eps } => norm::rms_norm(op, x, given(1), eps.to_f64(), y, true),
        Normalize::RowsGradient => norm::layer_norm_backward(op, x, inputs[1], &inputs[2..4], given(4), outputs),
        Normalize::RootMeanSquareGradient => {
            norm::rms_norm_backward(op, x, inputs[1], &inputs[2..3], given(3), outputs)
        }
        Normalize::Sets { over, eps } => {
            norm::batch_norm(op, over, x, [given(1), given(2)], eps.to_f64(), first(op, "outputs", outputs)?)
        }
        Normalize::SetsGradient { over, eps } => {
            let (inputs, outputs) = (first(op, "inputs", inputs)?, first(op, "outputs", outputs)?);
            norm::batch_norm_backward(op, over, inputs, given(4), eps.to_f64(), outputs)
        }
        Normalize::Channels => norm::channel_affine(op, x, first(op, "inputs", &inputs[1..])?, y),
    }
}

/// Attention, and its gradients.
///
/// # Errors
/// Shapes and dtypes that do not go together.
pub fn attended(op: &'static str, form: Attention, inputs: &[&Meta], outputs: &[&Meta]) -> Result<Arc<dyn HostKernel>> {
    match form.gradient {
        false => attention::attention(op, form, first(op, "inputs", inputs)?, inputs.get(3).copied(), outputs[0]),
        true => {
            let (mask, outputs) = (inputs.get(4).copied(), first(op, "outputs", outputs)?);
            attention::attention_gradients(op, form, first(op, "inputs", inputs)?, mask, outputs)
        }
    }
}

/// A recurrent cell over a sequence, and its gradients.
///
/// # Errors
/// Shapes, dtypes and layouts that do not go together.
pub fn recurred(op: &'static str, form: Recurrent, inputs: &[&Meta], outputs: &[&Meta]) -> Result<Arc<dyn HostKernel>> {
    let kernel = if form.gradient { recurrent::backward } else { recurrent::forward };
    kernel(op, form.cell, form.reverse, inputs, outputs)
}

/// The first `N` tensors.
fn first<'a, const N: usize>(op: &'static str, name: &'static str, metas: &[&'a Meta]) -> Result<[&'a Meta; N]> {
    let few = || Error::value(op, name, metas.len(), format!("at least {N} tensors"));
    metas.first_chunk().copied().ok_or_else(few)
}
