//! Constants and ranges.

use opforge_core::{DType, Kind, Result, Scalar};

use crate::kernel::INDEX;
use crate::lower::Call;
use crate::program::{Place, Program};
use crate::tensor::collapsed;

pub(crate) fn fill(call: &Call<'_>, value: Scalar) -> Result<Program> {
    let output = call.outputs[0];
    if output.dtype.is_storage_only() {
        return Err(call.refuse("dtype", output.dtype.as_str(), "numbers that are computed with"));
    }
    let (dims, steps) = collapsed(output.dims(), &[output.layout.stride()]);
    if output.dtype.is_complex() {
        return filled_with_pair(call, value, &dims, &steps[0]);
    }
    call.one(|k| {
        let y = k.strided(Place::Output(0), output.dtype, &dims, &steps[0], true);
        let value = k.constant(value.cast(output.dtype), output.dtype.compute());
        k.each_of(&dims, |at| y.store(at, value));
        Ok(())
    })
}

/// Complex numbers are pairs of real ones.
fn filled_with_pair(call: &Call<'_>, value: Scalar, dims: &[usize], steps: &[usize]) -> Result<Program> {
    let part = if call.outputs[0].dtype == DType::C64 { DType::F32 } else { DType::F64 };
    let (dims, mut steps) = ([dims, &[2]].concat(), steps.iter().map(|step| 2 * step).collect::<Vec<_>>());
    steps.push(1);
    call.one(|k| {
        let y = k.strided(Place::Output(0), part, &dims, &steps, true);
        let (re, im) = value.to_complex();
        let (re, im) = (k.constant(re, part), k.constant(im, part));
        k.each_of(&dims, |at| {
            let second = at.last().map_or(k.constant(false, DType::Bool), |&part| part.equals(k.index(1)));
            y.store(at, second.choose(im, re));
        });
        Ok(())
    })
}

/// Of integers it is computed in integers, wrapping to the dtype; else in f64, where the target has it, rounded once.
pub(crate) fn range(call: &Call<'_>, start: Scalar, step: Scalar) -> Result<Program> {
    let output = call.outputs[0];
    let kind = start.kind().max(step.kind());
    if kind == Kind::Complex || !(output.dtype.is_int() || output.dtype.is_float()) {
        return Err(call.refuse("dtype", output.dtype.as_str(), "real numbers"));
    }
    let dtype = match output.dtype {
        dtype if kind == Kind::Float || !dtype.is_int() => call.wide(DType::F32),
        dtype if dtype.size_in_bytes() == 8 => DType::I64,
        _ => INDEX,
    };
    call.one(|k| {
        let y = k.output(0, output);
        let number =
            |x: Scalar| if dtype.is_int() { k.constant(x.to_i64(), dtype) } else { k.constant(x.to_f64(), dtype) };
        let (start, step) = (number(start), number(step));
        k.each_of(output.dims(), |at| {
            let i = at.first().copied().unwrap_or(k.index(0));
            y.store(at, (start + i.to(dtype) * step).to(output.dtype.compute()));
        });
        Ok(())
    })
}
