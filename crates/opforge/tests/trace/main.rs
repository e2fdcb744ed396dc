//! Traced tile functions, printed as C and compiled by the host's compiler, against the kernels: equal bits on every instruction set.

mod compiled;
mod numbers;

use std::collections::HashSet;

use compiled::{Library, Source};
use numbers::{Buffer, places};
use opforge::declaration::{Array, Content};
use opforge::operator::{Lowering, Operator};
use opforge::registry::operators;
use opforge::ops::pointwise::{gelu, to_dtype::ToDType};
use opforge::{DType, Meta};
use opforge_cpu::simd::{Isa, with_isa};
use opforge_trace::Expression;

/// A tile function in one dtype on one instruction set.
struct Case {
    name: String,
    op: Box<dyn Operator>,
    isa: Isa,
    inputs: Vec<DType>,
    output: DType,
    /// Numbers of the sample, for each input.
    samples: Vec<Array>,
    expression: Expression,
    function: usize,
}

/// Whether the vectors of an instruction set round `mul_add` once.
fn fused(isa: Isa) -> bool {
    isa > Isa::Portable || cfg!(target_arch = "aarch64")
}

fn contiguous(dtypes: &[DType], n: usize) -> Vec<Meta> {
    dtypes.iter().map(|&dtype| Meta::contiguous(dtype, n)).collect()
}

/// Adds an operator in the dtypes of its inputs, if it is a tile function.
fn add(cases: &mut Vec<Case>, source: &mut Source, op: &dyn Operator, inputs: &[DType], samples: &[Array]) {
    let metas = contiguous(inputs, 1);
    let metas: Vec<&Meta> = metas.iter().collect();
    let outputs = op.infer(&metas).unwrap_or_else(|error| panic!("{op:?} of {inputs:?}: {error}"));
    let Ok(Lowering::Tile(tile)) = op.lower(&metas, &outputs.iter().collect::<Vec<_>>()) else { return };
    let complex = inputs.iter().chain([&outputs[0].dtype]).any(|dtype| dtype.is_complex());
    for isa in Isa::supported() {
        let Some(expression) = tile.trace(inputs, fused(isa)) else {
            assert!(complex, "{op:?} of {inputs:?} has no trace");
            return;
        };
        let function = source.add(&expression);
        cases.push(Case {
            name: format!("{op:?} of {inputs:?} on {isa:?}"),
            op: op.boxed(),
            isa,
            inputs: inputs.to_vec(),
            output: outputs[0].dtype,
            samples: samples.to_vec(),
            expression,
            function,
        });
    }
}

/// Every operator of the registry that is a tile function, in every dtype that it takes.
fn cases(source: &mut Source) -> Vec<Case> {
    let (mut cases, mut seen) = (Vec::new(), HashSet::new());
    for definition in operators() {
        for sample in (definition.samples)() {
            let Some(op) = sample.operator() else { continue };
            for dtype in definition.dtypes.iter() {
                let inputs: Vec<DType> = sample
                    .inputs
                    .iter()
                    .map(|array| match array.content {
                        Content::Real => dtype,
                        Content::Index => DType::I64,
                        Content::Truth => DType::Bool,
                    })
                    .collect();
                // Samples of an operator differ in shapes, which do not matter here.
                let takes = sample.inputs.iter().any(|array| array.content == Content::Real);
                if takes
                    && seen.insert(format!("{} {op:?} {inputs:?}", definition.name))
                    && lowers_alone(op, &sample.inputs, &inputs)
                {
                    add(&mut cases, source, op, &inputs, &sample.inputs);
                }
            }
        }
    }
    for from in DType::ALL {
        for to in DType::ALL.into_iter().filter(|&to| to != from) {
            add(&mut cases, source, &ToDType { dtype: to }, &[from], &[]);
        }
    }
    cases
}

/// Whether an operator is a tile function: the others are not asked for other shapes than their samples have.
fn lowers_alone(op: &dyn Operator, arrays: &[Array], dtypes: &[DType]) -> bool {
    let metas: Vec<Meta> =
        arrays.iter().zip(dtypes).map(|(a, &dtype)| Meta::contiguous(dtype, a.shape.clone())).collect();
    let metas: Vec<&Meta> = metas.iter().collect();
    let Ok(outputs) = op.infer(&metas) else { return false };
    matches!(op.lower(&metas, &outputs.iter().collect::<Vec<_>>()), Ok(Lowering::Tile(_)))
}

impl Case {
    /// Compares what C and the kernel compute, as text on a difference.
    fn check(&self, library: &Library) -> Result<(), String> {
        let inputs = places(&self.inputs, &self.samples);
        let computed: Vec<Buffer> = inputs.iter().map(Buffer::widened).collect();
        let (results, failed) = library.call(self.function, &self.expression, &computed);
        if failed.iter().any(|&failed| failed) {
            self.run(&inputs).err().ok_or("the kernel accepts what C refuses")?;
        }
        let accepted: Vec<usize> = (0..failed.len()).filter(|&i| !failed[i]).collect();
        let inputs: Vec<Buffer> = inputs.iter().map(|buffer| buffer.only(&accepted)).collect();
        let want = self.run(&inputs).map_err(|error| format!("the kernel refuses what C accepts: {error}"))?;
        let got = results[0].only(&accepted).rounded(self.output);
        match (0..accepted.len()).find(|&i| !got.same(&want, i)) {
            None => Ok(()),
            Some(i) => {
                let at: Vec<String> = inputs.iter().map(|input| input.show(i)).collect();
                Err(format!("at {}: C {}, kernel {}", at.join(", "), got.show(i), want.show(i)))
            }
        }
    }

    /// The kernel's results.
    fn run(&self, inputs: &[Buffer]) -> opforge::Result<Buffer> {
        let n = inputs[0].len();
        let metas = contiguous(&self.inputs, n);
        let metas: Vec<&Meta> = metas.iter().collect();
        let output = Meta::contiguous(self.output, n);
        let kernel = with_isa(self.isa, || self.op.lower(&metas, &[&output])?.kernel("test", &metas, &[&output]))?;
        let mut result = Buffer::zeros(self.output, n);
        let addresses: Vec<*const u8> = inputs.iter().map(Buffer::as_ptr).collect();
        // SAFETY: the buffers hold n elements of the metas' dtypes, for which the kernel was made.
        unsafe { kernel.run(&addresses, &[result.as_mut_ptr()]) }?;
        Ok(result)
    }
}

#[test]
fn every_tile_function_gives_in_c_the_bits_that_its_kernel_gives() {
    let mut source = Source::default();
    let cases = cases(&mut source);
    let operators: HashSet<&str> = cases.iter().map(|case| case.op.name()).collect();
    assert!(operators.len() > 110, "only {} operators are tile functions: {operators:?}", operators.len());
    let library = source.build();
    let failures: Vec<String> = cases
        .iter()
        .filter_map(|case| case.check(&library).err().map(|difference| format!("{}: {difference}", case.name)))
        .collect();
    assert!(failures.is_empty(), "{} of {} differ:\n{}", failures.len(), cases.len(), failures.join("\n"));
}

/// What people see of a trace: names for what is used twice, everything else as it would be written.
#[test]
fn gelu_is_readable_in_c() {
    let op = opforge::family::UnaryOp(gelu::Gelu { form: gelu::Form::Erf });
    let meta = Meta::contiguous(DType::F32, 1);
    let Lowering::Tile(tile) = op.lower(&[&meta], &[&meta]).unwrap() else { panic!("gelu is no tile function") };
    assert_eq!(tile.trace(&[DType::F32], true).unwrap().to_c("gelu"), include_str!("gelu.c"));
}
