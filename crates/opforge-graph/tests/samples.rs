//! Every operator's samples, traced, written, read and run: the bits of eager calls, gradients included.

mod sampling;

use opforge::declaration::{Definition, Sample};
use opforge::{DType, Device, Result, Tensor};
use opforge_graph::{Graph, trace};
use opforge_runtime::Generator;
use sampling::{bits, real_of};

/// Functions whose results' shapes, or whose arguments' validity, depend on elements: they read them.
const READ_ELEMENTS: [&str; 0] = [];

fn inputs(sample: &Sample, real: DType) -> Vec<Tensor> {
    sample.inputs.iter().map(|input| input.to_tensor(real, &Device::Cpu).unwrap()).collect()
}

/// The outputs, and the gradients of the sum of the real ones with respect to real inputs.
fn with_gradients(sample: &Sample, given: &[Tensor]) -> Result<Vec<Tensor>> {
    let given: Vec<Tensor> = given.iter().map(Tensor::detach).collect();
    given.iter().filter(|x| x.dtype().is_float()).try_for_each(|x| x.set_requires_grad(true))?;
    sample.call_with_gradients(&given)
}

/// The graph that its text tells, with the memory that it captured.
fn read_again(graph: &Graph) -> std::result::Result<Graph, String> {
    let text = graph.to_string();
    let fault = |error: opforge::Error| format!("{error}\n{text}");
    let read = Graph::parse(&text).map_err(fault)?;
    for (own, read) in graph.nodes().iter().zip(read.nodes()) {
        if !own.op.same(&*read.op) {
            return Err(format!("{:?} was read as {:?}", own.op, read.op));
        }
    }
    if read.to_string() != text {
        return Err(format!("{text} was read as {read}"));
    }
    read.bind(&graph.weights().map_err(fault)?).map_err(fault)
}

fn compare(definition: &Definition, sample: &Sample, dtype: DType) -> std::result::Result<(), String> {
    let text = |error: opforge::Error| error.to_string();
    let given = inputs(sample, dtype);
    let references: Vec<&Tensor> = given.iter().collect();
    Generator::global().manual_seed(7);
    let eager = with_gradients(sample, &given).map_err(text)?;
    let graph = trace(&references, |x| with_gradients(sample, x)).map_err(text)?;
    let program = read_again(&graph)?.compile().map_err(text)?;
    for _ in 0..2 {
        Generator::global().manual_seed(7);
        let lazy = program.run(&references).map_err(text)?;
        if lazy.len() != eager.len() {
            return Err(format!("{} results instead of {}", lazy.len(), eager.len()));
        }
        for (i, (a, b)) in lazy.iter().zip(&eager).enumerate() {
            let same = a.dims() == b.dims() && a.dtype() == b.dtype() && bits(a) == bits(b);
            if !same {
                return Err(format!("result {i} of {}: {a:?} instead of {b:?}", definition.name));
            }
        }
    }
    Ok(())
}

#[test]
fn graphs_give_the_bits_of_eager_calls() {
    let mut failures = Vec::new();
    let mut count = 0;
    for definition in opforge::registry::operators() {
        let Some(dtype) = real_of(definition) else { continue };
        for (number, sample) in (definition.samples)().iter().enumerate() {
            count += 1;
            if let Err(error) = compare(definition, sample, dtype) {
                failures.push(format!("{} sample {number}: {error}", definition.name));
            }
        }
    }
    failures.retain(|failure| !READ_ELEMENTS.iter().any(|name| failure.starts_with(&format!("{name} "))));
    assert!(failures.is_empty(), "{} of {count}:\n{}", failures.len(), failures.join("\n"));
    assert!(count > 500);
}
