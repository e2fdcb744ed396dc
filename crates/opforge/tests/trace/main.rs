//! Traced tile functions, printed as C and compiled by the host's compiler, against the kernels: equal bits on every instruction set.

mod compiled;
#[path = "../fixtures/cores.rs"]
mod cores;
#[path = "../fixtures/cube.rs"]
mod cube;
mod numbers;
mod rows;

use std::collections::HashSet;

use compiled::{Library, Source};
use cores::found_in;
use numbers::{Buffer, places};
use opforge::declaration::{Array, Content};
use opforge::family::{Binary, Side, Unary, UnaryOp, WithScalar};
use opforge::operator::{Lowering, Metas, Operator};
use opforge::ops::pointwise::{add, div, floor_divide, mul, pow};
use opforge::ops::pointwise::{gelu, hardswish, relu, sigmoid, silu, tanh, to_dtype::ToDType};
use opforge::registry::{operators, register};
use opforge::{DType, Meta, Scalar};
use opforge_cpu::simd::{Isa, with_isa};
use opforge_tile::{Float, UnaryFn};
use opforge_trace::Expression;

/// A tile function in one dtype on one instruction set.
struct Case {
    name: String,
    op: Box<dyn Operator>,
    isa: Isa,
    inputs: Vec<DType>,
    outputs: Vec<DType>,
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
    let untraced = |dtype: &DType| dtype.is_complex() || dtype.is_storage_only();
    let untraced = inputs.iter().chain([&outputs[0].dtype]).any(untraced);
    for isa in Isa::supported() {
        let Some(expression) = tile.trace(inputs, fused(isa)) else {
            assert!(untraced, "{op:?} of {inputs:?} has no trace");
            return;
        };
        let function = source.add(&expression);
        cases.push(Case {
            name: format!("{op:?} of {inputs:?} on {isa:?}"),
            op: op.boxed(),
            isa,
            inputs: inputs.to_vec(),
            outputs: outputs.iter().map(|output| output.dtype).collect(),
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
                let inputs: Vec<DType> = sample.inputs.iter().map(|array| array.content.dtype(dtype)).collect();
                // Samples of an operator differ in shapes, which do not matter here.
                let takes = sample.inputs.iter().any(|array| array.content == Content::Real);
                if takes
                    && seen.insert(format!("{} {op:?} {inputs:?}", definition.name))
                    && matches!(lowered(op, &sample.inputs, &inputs), Some((Lowering::Tile(_), _)))
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
    add_slopes(&mut cases, source);
    add_numbers(&mut cases, source);
    cases
}

/// Functions with a number that f16 and bf16 do not hold: rounded, or one of f32.
fn add_numbers(cases: &mut Vec<Case>, source: &mut Source) {
    fn with_number<F: Binary>(cases: &mut Vec<Case>, source: &mut Source, f: F) {
        for (side, dtype) in
            [Side::Left, Side::Right].into_iter().flat_map(|side| [(side, DType::F16), (side, DType::BF16)])
        {
            add(cases, source, &WithScalar { f, scalar: Scalar::Float(0.3), side }, &[dtype], &[]);
        }
    }
    with_number(cases, source, add::Add);
    with_number(cases, source, div::Div);
    with_number(cases, source, floor_divide::FloorDivide);
    with_number(cases, source, mul::Mul);
    with_number(cases, source, pow::Pow);
}

/// What an operator lowers to for inputs of the arrays' shapes, with the outputs' metas; none where it refuses them.
fn lowered(op: &dyn Operator, arrays: &[Array], dtypes: &[DType]) -> Option<(Lowering, Metas)> {
    let metas = arrays.iter().zip(dtypes).map(|(array, &dtype)| Meta::contiguous(dtype, array.shape.clone()));
    let metas: Vec<Meta> = metas.collect();
    let metas: Vec<&Meta> = metas.iter().collect();
    let outputs = op.infer(&metas).ok()?;
    let lowering = op.lower(&metas, &outputs.iter().collect::<Vec<_>>()).ok()?;
    Some((lowering, outputs))
}

/// The fused gradient of a function as a function of its own, of what arrives when that is 1.5.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, opforge::operator::Attributes)]
struct Slope<F>(F);

impl<F: Unary> UnaryFn for Slope<F> {
    #[inline(always)]
    fn float<V: Float>(self, x: V) -> V {
        self.0.gradient(x, V::splat(1.5))
    }
}
impl<F: Unary> Unary for Slope<F> {
    const NAME: &'static str = F::NAME;
}

/// Slopes of functions, which no operator of the registry computes alone.
fn add_slopes(cases: &mut Vec<Case>, source: &mut Source) {
    fn slope<F: Unary>(cases: &mut Vec<Case>, source: &mut Source, f: F) {
        assert!(F::FUSED);
        for dtype in [DType::F32, DType::F64] {
            add(cases, source, &UnaryOp(Slope(f)), &[dtype], &[]);
        }
    }
    slope(cases, source, hardswish::Hardswish);
    slope(cases, source, relu::Relu);
    slope(cases, source, sigmoid::Sigmoid);
    slope(cases, source, silu::Silu);
    slope(cases, source, tanh::Tanh);
    slope(cases, source, gelu::Gelu { form: gelu::Form::Erf });
    slope(cases, source, gelu::Gelu { form: gelu::Form::Tanh });
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
        for ((result, want), &dtype) in results.iter().zip(&want).zip(&self.outputs) {
            let got = result.only(&accepted).rounded(dtype);
            if let Some(i) = (0..accepted.len()).find(|&i| !got.same(want, i)) {
                let at: Vec<String> = inputs.iter().map(|input| input.show(i)).collect();
                return Err(format!("at {}: C {}, kernel {}", at.join(", "), got.show(i), want.show(i)));
            }
        }
        Ok(())
    }

    /// The kernel's results.
    fn run(&self, inputs: &[Buffer]) -> opforge::Result<Vec<Buffer>> {
        let n = inputs[0].len();
        let metas = contiguous(&self.inputs, n);
        let metas: Vec<&Meta> = metas.iter().collect();
        let outputs = contiguous(&self.outputs, n);
        let outputs: Vec<&Meta> = outputs.iter().collect();
        let kernel = with_isa(self.isa, || self.op.lower(&metas, &outputs)?.kernel("test", &metas, &outputs))?;
        let mut results: Vec<Buffer> = self.outputs.iter().map(|&dtype| Buffer::zeros(dtype, n)).collect();
        let addresses: Vec<*const u8> = inputs.iter().map(Buffer::as_ptr).collect();
        // SAFETY: the buffers hold n elements of the metas' dtypes, for which the kernel was made.
        unsafe { kernel.run(&addresses, &results.iter_mut().map(Buffer::as_mut_ptr).collect::<Vec<_>>()) }?;
        Ok(results)
    }
}

#[test]
fn every_tile_function_gives_in_c_the_bits_that_its_kernel_gives() {
    // One from outside of the crate is a tile function as any other.
    register(&cube::DEFINITION).unwrap();
    let mut source = Source::default();
    let cases = cases(&mut source);
    let operators: HashSet<&str> = cases.iter().map(|case| case.op.name()).collect();
    assert!(operators.len() > 110, "only {} operators are tile functions: {operators:?}", operators.len());
    assert!(operators.contains("cube"));
    let library = source.build();
    let failures =
        found_in(&cases, |case| case.check(&library).err().map(|difference| format!("{}: {difference}", case.name)));
    assert!(failures.is_empty(), "{} of {} differ:\n{}", failures.len(), cases.len(), failures.join("\n"));
}

/// Numbers whose sums and products are exact, so that their order does not matter.
fn folded(dtype: DType, n: usize, special: f64) -> Buffer {
    let number = |i: usize| if i == n / 2 { special } else { [2.0, -1.0, 1.0, 0.0, 3.0][i % 5] };
    Buffer::of(dtype, &(0..n).map(|i| Scalar::Float(number(i))).collect::<Vec<_>>())
}

#[test]
fn every_reduction_gives_in_c_the_bits_that_its_kernel_gives() {
    let mut source = Source::default();
    let mut cases = Vec::new();
    for definition in operators() {
        for sample in (definition.samples)() {
            let (Some(op), [array]) = (sample.operator(), &sample.inputs[..]) else { continue };
            for dtype in definition.dtypes.iter() {
                let Some((Lowering::Reduce(reduce), outputs)) = lowered(op, &sample.inputs, &[dtype]) else { continue };
                if reduce.axes.len() == array.shape.len() {
                    let n = array.data.len();
                    let fused = fused(Isa::current());
                    let fold = reduce.trace(dtype, outputs[0].dtype, n, fused).expect("reductions have traces");
                    cases.push((
                        op.boxed(),
                        array.shape.clone(),
                        dtype,
                        outputs[0].clone(),
                        source.add_fold(&fold),
                        fold,
                    ));
                }
            }
        }
    }
    let operators: HashSet<&str> = cases.iter().map(|case| case.0.name()).collect();
    assert!(operators.len() >= 8, "only {operators:?} are reductions");
    let library = source.build();
    for (op, shape, dtype, output, number, fold) in cases {
        for special in [1.0, 0.0, 3.0, f64::INFINITY, f64::NAN] {
            let input = folded(dtype, shape.iter().product(), special);
            let meta = Meta::contiguous(dtype, shape.clone());
            let lowering = op.lower(&[&meta], &[&output]).unwrap();
            let kernel = lowering.kernel("test", &[&meta], &[&output]).unwrap();
            let mut want = Buffer::zeros(output.dtype, 1);
            // SAFETY: the buffers hold what the metas say.
            unsafe { kernel.run(&[input.as_ptr()], &[want.as_mut_ptr()]) }.unwrap();
            let got = library.fold(number, &fold, &input.widened()).rounded(output.dtype);
            assert!(got.same(&want, 0), "{op:?} of {dtype} with {special}: C {}, kernel {}", got.show(0), want.show(0));
        }
    }
}

/// What people see of a trace: names for what is used twice, everything else as it would be written.
#[test]
fn gelu_is_readable_in_c() {
    let op = UnaryOp(gelu::Gelu { form: gelu::Form::Erf });
    let meta = Meta::contiguous(DType::F32, 1);
    let Lowering::Tile(tile) = op.lower(&[&meta], &[&meta]).unwrap() else { panic!("gelu is no tile function") };
    assert_eq!(tile.trace(&[DType::F32], true).unwrap().to_c("gelu"), include_str!("gelu.c"));
}
