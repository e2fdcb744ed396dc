//! Every call that the registry's samples and their gradients make, with the bytes of its inputs.
#![allow(dead_code)]

mod bytes;
#[path = "../../../opforge/tests/fixtures/cores.rs"]
mod cores;
/// An operator's file as anybody would write it.
#[path = "../../../opforge/tests/fixtures/cube.rs"]
mod cube;
mod long;

use std::cell::RefCell;
use std::collections::HashSet;

use opforge::declaration::{Array, Content, Definition, Sample};
use opforge::dispatch::{Call, EAGER, Interpreter, interpreted_by};
use opforge::operator::{Lowering, Operator, Tensors};
use opforge::registry::{operators, register};
use opforge::{DType, Device, Layout, Meta, Result, Tensor};

pub use bytes::Bytes;
pub use cores::found_in;
use opforge_tile::forms::Windowed;

/// A call: an operator and its inputs, which lie as their metas say.
pub struct Case {
    pub name: String,
    pub op: Box<dyn Operator>,
    pub inputs: Vec<(Meta, Bytes)>,
    pub outputs: Vec<Meta>,
    /// Whether some inputs are not finite.
    pub special: bool,
}

impl Case {
    /// Whether infinities spread differently, and rightly so, where sums have another order or zeros are added in.
    pub fn is_loose(&self) -> bool {
        let form = self.lowering().ok().filter(|_| self.special);
        matches!(
            form,
            Some(Lowering::Fourier(_) | Lowering::Windowed(Windowed::Convolution { .. } | Windowed::Resample { .. }))
        )
    }

    pub fn metas(&self) -> (Vec<&Meta>, Vec<&Meta>) {
        (self.inputs.iter().map(|(meta, _)| meta).collect(), self.outputs.iter().collect())
    }

    pub fn lowering(&self) -> Result<Lowering> {
        let (inputs, outputs) = self.metas();
        self.op.lower(&inputs, &outputs)
    }

    /// What the CPU's kernel gives.
    pub fn on_cpu(&self) -> Result<Vec<Bytes>> {
        let (inputs, outputs) = self.metas();
        let kernel = self.lowering()?.kernel(self.op.name(), &inputs, &outputs)?;
        let mut results: Vec<Bytes> = outputs.iter().map(|meta| Bytes::for_layout(meta)).collect();
        let from: Vec<*const u8> = self.inputs.iter().map(|(meta, bytes)| bytes.first(meta)).collect();
        let to: Vec<*mut u8> = results.iter_mut().map(Bytes::as_mut_ptr).collect();
        // SAFETY: the buffers hold what the metas say.
        unsafe { kernel.run(&from, &to) }?;
        assert!(results.iter().all(Bytes::is_intact), "{}: the CPU writes beyond memory", self.name);
        Ok(results)
    }

    /// The same elements, in another layout; none where the operator depends on it.
    pub fn laid_out(&self, stride: fn(&[usize]) -> Vec<usize>) -> Option<Case> {
        let place = |(meta, bytes): &(Meta, Bytes)| {
            let layout = Layout::new(meta.shape().clone(), stride(meta.dims()).as_slice().into(), 0, "test").ok()?;
            let to = Meta { dtype: meta.dtype, layout };
            Some((to.clone(), bytes.moved(meta, &to)))
        };
        let inputs = self.inputs.iter().map(place).collect::<Option<Vec<_>>>()?;
        let metas: Vec<&Meta> = inputs.iter().map(|(meta, _)| meta).collect();
        if self.op.infer(&metas).ok()?.as_slice() != self.outputs {
            return None;
        }
        let name = format!(
            "{}, laid out {:?}",
            self.name,
            inputs.iter().map(|(meta, _)| meta.layout.stride().to_vec()).collect::<Vec<_>>()
        );
        Some(Case { name, op: self.op.boxed(), inputs, outputs: self.outputs.clone(), special: self.special })
    }
}

/// Column-major, with a gap after each element.
pub fn transposed(shape: &[usize]) -> Vec<usize> {
    let mut next = 2;
    let step = |&len: &usize| {
        next *= len.max(1);
        next / len.max(1)
    };
    shape.iter().map(step).collect()
}

/// A call that was made: its operator, and its inputs.
type Made = (Box<dyn Operator>, Vec<(Meta, Bytes)>);

thread_local! {
    static CALLS: RefCell<Vec<Made>> = const { RefCell::new(Vec::new()) };
}

/// Notes every call before it is carried out.
struct Recorder;

impl Interpreter for Recorder {
    fn interpret(&self, call: &Call<'_>) -> Result<Tensors> {
        let own = |t: &&Tensor| -> Result<(Meta, Bytes)> {
            let t = t.detach().copy()?;
            Ok((t.meta().clone(), Bytes::of(&t)?))
        };
        let inputs = interpreted_by(&EAGER, || call.inputs.iter().map(own).collect::<Result<Vec<_>>>())?;
        CALLS.with_borrow_mut(|calls| calls.push((call.op.boxed(), inputs)));
        EAGER.interpret(call)
    }
}

/// A sample's call, and the gradients of floats.
fn run(sample: &Sample, dtype: DType, special: Option<f64>) -> Result<()> {
    let mut arrays = sample.inputs.clone();
    for array in arrays.iter_mut().filter(|array| array.content == Content::Real) {
        if let Some(special) = special {
            array.data.iter_mut().step_by(3).for_each(|x| *x = special);
        }
    }
    let tensor = |array: &Array| array.to_tensor(dtype, &Device::Cpu);
    let inputs: Vec<Tensor> = interpreted_by(&EAGER, || arrays.iter().map(tensor).collect::<Result<_>>())?;
    let mut leaves = inputs.iter().filter(|t| sample.smooth && t.dtype().is_float());
    leaves.try_for_each(|t| t.set_requires_grad(true))?;
    sample.call_with_gradients(&inputs).map(drop)
}

/// The calls of one sample that were not seen before.
fn calls(
    definition: &Definition,
    sample: &Sample,
    dtype: DType,
    special: Option<f64>,
    seen: &mut HashSet<u64>,
) -> Vec<Case> {
    // What fails has made calls nevertheless.
    let label = format!("{} of {dtype}{}", definition.name, special.map_or(String::new(), |x| format!(" with {x}")));
    recorded(&label, special.is_some(), seen, || drop(run(sample, dtype, special)))
}

/// The calls that a function makes and that were not seen before.
fn recorded(label: &str, special: bool, seen: &mut HashSet<u64>, run: impl FnOnce()) -> Vec<Case> {
    CALLS.take();
    interpreted_by(&Recorder, run);
    let case = |(op, inputs): Made| {
        let metas: Vec<&Meta> = inputs.iter().map(|(meta, _)| meta).collect();
        let outputs = op.infer(&metas).ok()?.to_vec();
        let kernel = op.view(&metas.first().map_or(Layout::contiguous(()), |meta| meta.layout.clone())).is_none();
        let made = outputs.iter().any(|meta| meta.elem_count() > 0);
        let content: Vec<&[u8]> = inputs.iter().map(|(_, bytes)| bytes.bytes()).collect();
        let new = kernel && made && seen.insert(hash(&(format!("{op:?} {metas:?}"), content)));
        let name = format!("{label}: {op:?} of {metas:?}");
        new.then_some(Case { name, op, inputs, outputs, special })
    };
    CALLS.take().into_iter().filter_map(case).collect()
}

fn hash(of: &impl std::hash::Hash) -> u64 {
    std::hash::BuildHasher::hash_one(&std::hash::BuildHasherDefault::<std::hash::DefaultHasher>::default(), of)
}

/// The dtypes that are tried: a few, or with `OPFORGE_DTYPES=all` many.
fn dtypes() -> Vec<DType> {
    let few = [DType::F32, DType::F16, DType::I64, DType::Bool];
    let many = [DType::F64, DType::BF16, DType::I32, DType::I8, DType::U8, DType::U32, DType::C64, DType::F8E4M3];
    let all = std::env::var("OPFORGE_DTYPES").is_ok_and(|text| text == "all");
    if all { [&few[..], &many].concat() } else { few.to_vec() }
}

/// All of them, in several dtypes, for f32 with numbers that are none too.
pub fn all() -> Vec<Case> {
    // One from elsewhere is an operator as any other. Another test of this process may have added it.
    let _ = register(&cube::DEFINITION);
    let (mut cases, mut seen, dtypes) = (Vec::new(), HashSet::new(), dtypes());
    for definition in operators() {
        for sample in (definition.samples)() {
            for &dtype in dtypes.iter().filter(|&&dtype| sample.dtypes(definition.dtypes).contains(dtype)) {
                cases.extend(calls(definition, &sample, dtype, None, &mut seen));
                if dtype == DType::F32 {
                    for special in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0] {
                        cases.extend(calls(definition, &sample, dtype, Some(special), &mut seen));
                    }
                }
            }
        }
    }
    for dtype in [DType::F32, DType::F16] {
        let run =
            || drop(long::calls(dtype, &Device::Cpu).unwrap_or_else(|error| panic!("long calls of {dtype}: {error}")));
        cases.extend(recorded(&format!("long calls of {dtype}"), false, &mut seen, run));
    }
    cases
}
