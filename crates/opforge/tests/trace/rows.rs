//! Functions of rows: each pass traced and compiled as C, driven from here, beside the kernel over the samples.

use opforge::declaration::{Array, each_index};
use opforge::dispatch::dispatch;
use opforge::operator::{Lowering, Operator, Rows};
use opforge::registry::operators;
use opforge::{DType, Device, Tensor};
use opforge_cpu::simd::Isa;
use opforge_tile::Fold;
use opforge_trace::{Pass, Passes};

use super::compiled::{Library, Source};
use super::numbers::Buffer;
use super::{fused, lowered};

/// An operator in one dtype, and the C functions of its passes.
struct Case {
    op: Box<dyn Operator>,
    arrays: Vec<Array>,
    dtype: DType,
    rows: Rows,
    passes: Passes,
    functions: Vec<usize>,
}

fn cases(source: &mut Source) -> Vec<Case> {
    let mut cases = Vec::new();
    for definition in operators() {
        for sample in (definition.samples)() {
            let Some(op) = sample.operator() else { continue };
            for dtype in [DType::F32, DType::F64] {
                let dtypes = vec![dtype; sample.inputs.len()];
                let Some((Lowering::Rows(rows), _)) = lowered(op, &sample.inputs, &dtypes) else { continue };
                let passes = rows.trace(dtype, fused(Isa::current())).expect("functions of rows have traces");
                let functions = passes.passes.iter().map(|pass| source.add(expression(pass))).collect();
                cases.push(Case { op: op.boxed(), arrays: sample.inputs.clone(), dtype, rows, passes, functions });
            }
        }
    }
    cases
}

fn expression(pass: &Pass) -> &opforge_trace::Expression {
    let (Pass::Fold(_, expression) | Pass::Write(_, expression)) = pass;
    expression
}

impl Case {
    /// The places of every row of the first output, and the elements there of each input of the function.
    fn each_row(&self, shape: &[usize]) -> Vec<(Vec<usize>, Vec<Vec<f64>>)> {
        let mut lines: Vec<(Vec<usize>, Vec<Vec<f64>>)> = Vec::new();
        let mut known = std::collections::HashMap::new();
        let mut place = 0;
        each_index(shape, |index| {
            let mut line = index.to_vec();
            line.remove(self.rows.axis);
            let number = *known.entry(line).or_insert(lines.len());
            if number == lines.len() {
                lines.push((Vec::new(), vec![Vec::new(); self.arrays.len()]));
            }
            lines[number].0.push(place);
            for (elements, array) in lines[number].1.iter_mut().zip(&self.arrays) {
                elements.push(array.at_broadcast(index));
            }
            place += 1;
        });
        lines
    }

    /// What the passes make of a row: the elements of each output.
    fn run(&self, library: &Library, elements: &[Vec<f64>], outputs: usize) -> Vec<Vec<f64>> {
        let n = elements[0].len();
        let buffer = |numbers: &[f64]| Buffer::of(self.dtype, &numbers.iter().map(|&x| x.into()).collect::<Vec<_>>());
        let mut made = vec![Vec::new(); outputs];
        let (mut kept, mut numbers) = (vec![0.0; n], Vec::new());
        for (pass, &function) in self.passes.passes.iter().zip(&self.functions) {
            let everywhere = numbers.iter().map(|&number| vec![number; n]);
            let given: Vec<Buffer> =
                elements.iter().chain([&kept]).cloned().chain(everywhere).map(|column| buffer(&column)).collect();
            let (results, _) = library.call(function, expression(pass), &given);
            let results: Vec<Vec<f64>> = results.iter().map(Buffer::numbers).collect();
            match pass {
                Pass::Fold(by, _) => {
                    numbers.push(results[0].iter().fold(by.identity(), |total, &term| match by {
                        Fold::Sum => total + term,
                        Fold::Max => total.max(term),
                    }));
                    kept = results.get(1).cloned().unwrap_or(kept);
                }
                Pass::Write(output, _) => made[*output].clone_from(&results[0]),
            }
        }
        made
    }

    fn check(&self, library: &Library) {
        let tensor = |array: &Array| {
            let tensor = Tensor::from_vec(array.data.clone(), &array.shape[..], &Device::Cpu).unwrap();
            tensor.to_dtype(self.dtype).unwrap()
        };
        let inputs: Vec<Tensor> = self.arrays.iter().map(tensor).collect();
        let outputs = dispatch(&*self.op, &inputs.iter().collect::<Vec<_>>()).unwrap();
        let computed: Vec<Vec<f64>> =
            outputs.iter().map(|t| t.to_dtype(DType::F64).unwrap().flatten_all().unwrap().to_vec1().unwrap()).collect();
        let tolerance = if self.dtype == DType::F32 { 1e-5 } else { 1e-13 };
        for (places, elements) in self.each_row(outputs[0].dims()) {
            for (output, made) in self.run(library, &elements, outputs.len()).into_iter().enumerate() {
                for (got, &place) in made.into_iter().zip(&places) {
                    let want = computed[output][place];
                    let near = (got - want).abs() <= tolerance * (1.0 + want.abs());
                    assert!(
                        near,
                        "{:?} of {}, output {output} at {place}: C {got}, kernel {want}",
                        self.op, self.dtype
                    );
                }
            }
        }
    }
}

#[test]
fn every_function_of_rows_gives_in_c_what_its_kernel_gives() {
    let mut source = Source::default();
    let cases = cases(&mut source);
    let operators: std::collections::HashSet<&str> = cases.iter().map(|case| case.op.name()).collect();
    assert!(operators.len() >= 2, "only {operators:?} are functions of rows");
    let library = source.build();
    cases.iter().for_each(|case| case.check(&library));
}
