//! Every operator's samples as graphs whose lengths are free: for other lengths than those that they were traced for they give the bits of eager calls.

mod sampling;

use std::collections::BTreeSet;

use opforge::declaration::{Array, Definition, Sample};
use opforge::{DType, Device, Result, Tensor};
use opforge_graph::{DynamicGraph, Size};
use opforge_runtime::Generator;
use sampling::{bits, real_of};

/// So many samples at least can be traced with free lengths; others have attributes or further arguments that fit their own shapes alone.
const TRACED: usize = 1500;

/// An array of another shape, with elements of this one, over and over.
fn stretched(array: &Array, shape: Vec<usize>) -> Array {
    let count = shape.iter().product();
    Array { data: array.data.iter().copied().cycle().take(count).collect(), shape, ..array.clone() }
}

/// What happened to a sample.
enum Outcome {
    Compared,
    /// It cannot be traced with free lengths.
    Fixed,
}

/// Frees the lengths of a sample that are `length`, and compares with eager calls for others.
fn compare(
    definition: &Definition,
    sample: &Sample,
    dtype: DType,
    length: usize,
) -> std::result::Result<Outcome, String> {
    let with = |n: usize| -> Vec<Tensor> {
        let longer = |shape: &[usize]| shape.iter().map(|&own| if own == length { n } else { own }).collect();
        let arrays = sample.inputs.iter().map(|array| stretched(array, longer(&array.shape)));
        arrays.map(|array| array.to_tensor(dtype, &Device::Cpu).unwrap()).collect()
    };
    let call = |given: &[Tensor]| -> Result<Vec<Tensor>> {
        Ok(sample.call(&given.iter().collect::<Vec<_>>())?.into_iter().collect())
    };
    let examples = with(length);
    let dims = sample
        .inputs
        .iter()
        .enumerate()
        .flat_map(|(i, x)| x.shape.iter().enumerate().map(move |(dim, n)| (i, dim, *n)));
    let free: Vec<_> = dims.filter(|(.., n)| *n == length).map(|(i, dim, _)| (i, dim, "n")).collect();
    let graph = DynamicGraph::trace(&examples.iter().collect::<Vec<_>>(), &[Size::any("n")], &free, call);
    let Ok(graph) = graph else { return Ok(Outcome::Fixed) };
    let size = &graph.sizes()[0];
    for n in [0, 1, length, length + 1, 2 * length + 3].into_iter().filter(|n| (size.min..=size.max).contains(n)) {
        let given = with(n);
        Generator::global().manual_seed(7);
        let Ok(eager) = call(&given) else { continue };
        Generator::global().manual_seed(7);
        let results =
            graph.run(&given.iter().collect::<Vec<_>>()).map_err(|error| format!("n = {n}: {error}\n{graph}"))?;
        for (i, (a, b)) in results.iter().zip(&eager).enumerate() {
            if a.dims() != b.dims() || a.dtype() != b.dtype() || bits(a) != bits(b) {
                return Err(format!("n = {n}, result {i} of {}: {a:?} instead of {b:?}\n{graph}", definition.name));
            }
        }
    }
    Ok(Outcome::Compared)
}

#[test]
fn graphs_for_any_length_give_the_bits_of_eager_calls() {
    let (mut failures, mut compared, mut count) = (Vec::new(), 0, 0);
    for definition in opforge::registry::operators() {
        let Some(dtype) = real_of(definition) else { continue };
        for (number, sample) in (definition.samples)().iter().enumerate() {
            let lengths: BTreeSet<usize> = sample.inputs.iter().flat_map(|input| input.shape.clone()).collect();
            for length in lengths.into_iter().filter(|&length| length > 1) {
                count += 1;
                match compare(definition, sample, dtype, length) {
                    Ok(Outcome::Compared) => compared += 1,
                    Ok(Outcome::Fixed) => {}
                    Err(error) => {
                        failures.push(format!("{} sample {number}, length {length}: {error}", definition.name))
                    }
                }
            }
        }
    }
    assert!(failures.is_empty(), "{} of {compared}:\n{}", failures.len(), failures.join("\n"));
    assert!(compared >= TRACED, "{compared} of {count}");
}
