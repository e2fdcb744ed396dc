//! Calls as they are made, with all that they read and wrote.

use std::cell::RefCell;
use std::fmt::{self, Debug};

use opforge::dispatch::{Call, EAGER, Interpreter, interpreted_by};
use opforge::fusion::{Access, Chain, Kind, Part};
use opforge::operator::Tensors;
use opforge::{Meta, Result, Tensor};
use opforge_runtime::{HostKernel, Storage, vm};
use std::sync::Arc;

/// A call that had a kernel.
struct Recorded {
    name: &'static str,
    part: Option<Part>,
    inputs: Vec<Tensor>,
    outputs: Vec<Tensor>,
}

/// Calls in order.
pub struct Program(Vec<Recorded>);

impl Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|call| call.name)).finish()
    }
}

thread_local!(static CALLS: RefCell<Vec<Recorded>> = const { RefCell::new(Vec::new()) });

struct Recorder;
static RECORDER: Recorder = Recorder;

impl Interpreter for Recorder {
    fn interpret(&self, call: &Call<'_>) -> Result<Tensors> {
        let outputs = EAGER.interpret(call)?;
        let metas = |tensors: &[Tensor]| tensors.iter().map(|t| t.meta().clone()).collect::<Vec<Meta>>();
        let inputs: Vec<Tensor> = call.inputs.iter().map(|t| (*t).clone()).collect();
        if matches!(&inputs[..], [input] if call.op.view(input.layout()).is_some()) {
            return Ok(outputs);
        }
        let (before, after) = (metas(&inputs), metas(&outputs));
        let (before, after): (Vec<&Meta>, Vec<&Meta>) = (before.iter().collect(), after.iter().collect());
        let lowering = call.op.lower(&before, &after)?;
        let kind = Kind::of(call.op, &lowering, &before, &after);
        let part = kind.map(|kind| Part::new(call.op, kind, &before, &after));
        let recorded = Recorded { name: call.op.name(), part, inputs, outputs: outputs.to_vec() };
        CALLS.with_borrow_mut(|calls| calls.push(recorded));
        Ok(outputs)
    }
}

/// The calls that `f` makes.
pub fn record(f: impl FnOnce() -> Result<Tensor>) -> Program {
    CALLS.take();
    interpreted_by(&RECORDER, f).unwrap();
    Program(CALLS.take())
}

impl Program {
    pub fn len(&self) -> usize {
        self.0.len()
    }

    fn chain(&self, most: usize) -> Chain<'_> {
        let mut storages = Vec::new();
        let mut chain = Chain::default();
        for call in self.0.iter().take(most) {
            let mut access = |t: &Tensor| access(&mut storages, t);
            let inputs: Vec<Access> = call.inputs.iter().map(&mut access).collect();
            let outputs: Vec<Access> = call.outputs.iter().map(&mut access).collect();
            let Some(part) = &call.part else { break };
            if chain.push(part, &inputs, &outputs).is_err() {
                break;
            }
        }
        chain
    }

    /// How many calls, from the first on, one kernel can carry out.
    pub fn joined(&self) -> usize {
        self.chain(usize::MAX).len()
    }

    /// Runs the first calls as one kernel, and compares the results that are wanted, and the last call's, with theirs.
    pub fn check(&self, calls: usize, wanted: &[usize]) {
        let mut storages: Vec<Arc<Storage>> = Vec::new();
        for call in &self.0[..calls] {
            call.inputs.iter().chain(&call.outputs).for_each(|t| _ = access(&mut storages, t));
        }
        let is_wanted = |call: usize| call + 1 == calls || wanted.contains(&call);
        let results: Vec<&Tensor> =
            (0..calls).filter(|&call| is_wanted(call)).flat_map(|call| &self.0[call].outputs).collect();
        let number = |t: &Tensor| storages.iter().position(|s| Arc::ptr_eq(s, t.storage())).unwrap();
        let numbers: Vec<usize> = results.iter().map(|t| number(t)).collect();
        let fused = self.chain(calls).fuse(|storage| numbers.contains(&storage)).unwrap();
        let kernel: Arc<dyn HostKernel> = fused.kernel;

        let guards: Vec<_> = fused.inputs.iter().map(|input| vm::read(&storages[input.storage]).unwrap()).collect();
        let inputs: Vec<*const u8> = guards
            .iter()
            .zip(&fused.inputs)
            .map(|(guard, input)| guard.as_ptr().wrapping_add(input.byte_offset))
            .collect();
        let mut made: Vec<Vec<u64>> = fused
            .outputs
            .iter()
            .map(|output| vec![0xA5A5_A5A5_A5A5_A5A5; storages[output.storage].nbytes().div_ceil(8)])
            .collect();
        let outputs: Vec<*mut u8> = made.iter_mut().map(|bytes| bytes.as_mut_ptr().cast()).collect();
        // SAFETY: the inputs are those of the recorded calls, and the outputs have the bytes of theirs.
        unsafe { kernel.run(&inputs, &outputs).unwrap() };
        assert_eq!(fused.outputs.len(), results.len());
        for (output, made) in fused.outputs.iter().zip(&made) {
            let storage = &storages[output.storage];
            let want = vm::read(storage).unwrap();
            // SAFETY: both are as long as the storage.
            let (want, got) = unsafe {
                (
                    std::slice::from_raw_parts(want.as_ptr(), storage.nbytes()),
                    std::slice::from_raw_parts(made.as_ptr().cast::<u8>(), storage.nbytes()),
                )
            };
            let differ = want.iter().zip(got).position(|(a, b)| a != b);
            assert_eq!(differ, None, "byte of {} in {self:?}, {wanted:?}", storage.nbytes());
        }
    }
}

fn access(storages: &mut Vec<Arc<Storage>>, t: &Tensor) -> Access {
    let known = storages.iter().position(|s| Arc::ptr_eq(s, t.storage()));
    let storage = known.unwrap_or_else(|| {
        storages.push(t.storage().clone());
        storages.len() - 1
    });
    Access { storage, byte_offset: t.layout().start_offset() * t.dtype().size_in_bytes() }
}
