//! Tile functions: a thread an element.

use opforge::operator::Tile;
use opforge_core::{DType, Meta, Result};
use opforge_trace::Expression;

use crate::lower::Call;
use crate::pack;
use crate::program::{Fault, Place, Program};
use crate::tensor::{Tensor, collapsed};

pub(crate) fn tile(call: &Call<'_>, tile: &Tile) -> Result<Program> {
    let dtypes: Vec<DType> = call.inputs.iter().map(|input| input.dtype).collect();
    call.real(call.inputs)?;
    call.real(call.outputs)?;
    let traced = tile.trace(&dtypes, call.target.arithmetic());
    let expression = traced.ok_or_else(|| call.refuse("dtype", dtypes[0].as_str(), "dtypes that have a trace"))?;
    if expression.results().len() != call.outputs.len() || expression.inputs().len() != dtypes.len() {
        return Err(call.refuse("inputs", dtypes.len().to_string(), "as many tensors as the function has"));
    }
    let shape = call.outputs[0].shape();
    let stretched = call.inputs.iter().map(|input| input.layout.broadcast_as(shape, call.op));
    let layouts = stretched.collect::<Result<Vec<_>>>()?;
    let layouts: Vec<_> = layouts.iter().chain(call.outputs.iter().map(|output| &output.layout)).collect();
    let strides: Vec<&[usize]> = layouts.iter().map(|layout| layout.stride()).collect();
    let (dims, steps) = collapsed(shape.dims(), &strides);
    elementwise(call, tile, &expression, &dims, &steps)
}

fn elementwise(
    call: &Call<'_>,
    tile: &Tile,
    expression: &Expression,
    dims: &[usize],
    steps: &[Vec<usize>],
) -> Result<Program> {
    let inputs = call.inputs.len();
    call.one(|k| {
        let tensor = |place: Place, meta: &Meta, steps: &[usize]| -> Tensor<'_> {
            k.strided(place, meta.dtype, dims, steps, matches!(place, Place::Output(_)))
        };
        let given = call.inputs.iter().enumerate().map(|(i, meta)| tensor(Place::Input(i), meta, &steps[i]));
        let given: Vec<Tensor<'_>> = given.collect();
        let made = call.outputs.iter().enumerate();
        let made: Vec<_> = made.map(|(i, meta)| tensor(Place::Output(i), meta, &steps[inputs + i])).collect();
        let dtypes = call.inputs.iter().chain(call.outputs).map(|meta| meta.dtype);
        let width = pack::width(dims, dtypes.zip(steps.iter().map(Vec::as_slice)));
        k.each_of(&pack::in_packs(dims, width), |at| {
            let packs: Vec<_> = given.iter().map(|tensor| tensor.load_pack(at, width)).collect();
            let mut results = vec![Vec::new(); made.len()];
            for i in 0..width {
                let elements: Vec<_> = packs.iter().map(|pack| pack[i]).collect();
                let (values, failure) = k.apply(expression, &elements);
                if let (Some(failure), Some((argument, accepted))) = (failure, tile.failure(call.inputs[0].dtype)) {
                    k.fail(failure, Fault::Value(argument, accepted), k.index(0));
                }
                for ((tensor, results), value) in made.iter().zip(&mut results).zip(values) {
                    results.push(value.to(tensor.dtype.compute()));
                }
            }
            for (tensor, results) in made.iter().zip(&results) {
                tensor.store_pack(at, results);
            }
        });
        Ok(())
    })
}
