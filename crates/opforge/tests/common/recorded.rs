//! What the samples' calls, and the gradients of these, call.

use std::cell::RefCell;

use opforge::autograd::{BackwardOptions, grad};
use opforge::declaration::{Definition, Sample};
use opforge::dispatch::{Call, EAGER, Interpreter, interpreted_by};
use opforge::operator::{Operator, Tensors};
use opforge::{DType, Tensor};

use super::data::{Types, inputs_in, refs, tensors};
use super::text;

/// A call: its operator and inputs of its own.
pub struct Recorded {
    pub op: Box<dyn Operator>,
    pub inputs: Vec<Tensor>,
}

thread_local! {
    static CALLS: RefCell<Vec<Recorded>> = const { RefCell::new(Vec::new()) };
}

/// Notes every call before it is carried out.
struct Recorder;

impl Interpreter for Recorder {
    fn interpret(&self, call: &Call<'_>) -> opforge::Result<Tensors> {
        let own = |t: &&Tensor| t.detach().copy();
        let inputs = interpreted_by(&EAGER, || call.inputs.iter().map(own).collect::<opforge::Result<_>>())?;
        CALLS.with_borrow_mut(|calls| calls.push(Recorded { op: call.op.boxed(), inputs }));
        EAGER.interpret(call)
    }
}

/// What a sample's call and its gradients call: `again` for gradients that can be differentiated.
pub fn recorded(definition: &Definition, sample: &Sample, again: bool) -> Result<Vec<Recorded>, String> {
    let types = Types::real(DType::F64);
    let inputs = tensors(&inputs_in(definition.name, sample, types), types);
    let wrt: Vec<Tensor> = inputs.iter().filter(|t| t.dtype() == DType::F64).cloned().collect();
    CALLS.take();
    let run = || -> opforge::Result<()> {
        wrt.iter().try_for_each(|t| t.set_requires_grad(true))?;
        let outputs = sample.call(&refs(&inputs))?;
        let roots: Vec<_> = outputs.iter().filter(|t| t.requires_grad()).map(|t| (t.clone(), None)).collect();
        if roots.is_empty() {
            return Ok(());
        }
        let options = BackwardOptions { create_graph: again, ..Default::default() };
        grad(&roots, &refs(&wrt), options).map(drop)
    };
    interpreted_by(&Recorder, run).map_err(text)?;
    Ok(CALLS.take())
}

/// Whether two calls are equal but for the elements.
pub fn alike(a: &Recorded, b: &Recorded) -> bool {
    let metas = |r: &Recorded| r.inputs.iter().map(|t| t.meta().clone()).collect::<Vec<_>>();
    a.op.same(&*b.op) && metas(a) == metas(b)
}
