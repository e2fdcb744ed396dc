//! Calls that give the same in each run, made once: what a traced function computes of numbers of its own, such as masks and tables of positions.

use std::sync::Arc;

use opforge::dispatch::dispatch;
use opforge::operator::{Lowering, Tensors};
use opforge::{Meta, Result, Tensor, no_grad};
use opforge_runtime::Storage;

use crate::graph::{Captured, Graph, Node, Origin, Use};
use crate::kernel::metas;

/// Results of more bytes are computed in each run: they would take memory for as long as the program is there.
const MOST: usize = 4 << 20;

impl Graph {
    /// Makes calls now whose inputs are numbers of the traced function's own, which nobody changes. What only fills memory is left, as cheap as to read it,
    /// unless calls that are made now read it.
    ///
    /// # Errors
    /// What operators refuse of these tensors.
    pub fn without_constant_calls(mut self) -> Result<Graph> {
        let (writes, returned) = (self.writes(), self.marks(&self.outputs));
        let own = |value: usize| self.is_constant(value) && writes[value] == 0;
        let mut known: Vec<Option<Arc<Storage>>> =
            (0..self.values.len()).map(|value| own(value).then(|| self.captured(value)).flatten()).collect();
        let may_hold = |graph: &Graph, output: &Use| {
            let value = output.value;
            let whole = output.meta.layout.is_contiguous() && output.byte_offset() == 0;
            let fits = graph.values[value].bytes == bytes_of(&output.meta) && graph.values[value].bytes <= MOST;
            whole && fits && graph.is_made(value) && writes[value] == 1 && !returned[value]
        };
        let mut kept = Vec::with_capacity(self.nodes.len());
        for node in std::mem::take(&mut self.nodes) {
            let inputs_known = node.inputs.iter().all(|input| known[input.value].is_some());
            if !inputs_known || !node.outputs.iter().all(|output| may_hold(&self, output)) {
                kept.push(node);
                continue;
            }
            let Some(kind) = kind(&node)? else {
                kept.push(node);
                continue;
            };
            let made = made(&node, &known)?;
            for (output, tensor) in node.outputs.iter().zip(&made) {
                known[output.value] = Some(tensor.storage().clone());
                if kind == Kind::Computed {
                    self.values[output.value].origin = Origin::Captured(Captured::new(tensor));
                }
            }
            if kind == Kind::Filled {
                kept.push(node);
            }
        }
        self.nodes = kept;
        Ok(self)
    }

    /// The memory of a captured value.
    fn captured(&self, value: usize) -> Option<Arc<Storage>> {
        match &self.values[value].origin {
            Origin::Captured(captured) => captured.tensor().map(|tensor| tensor.storage().clone()),
            _ => None,
        }
    }
}

/// What a call that gives the same in each run does.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Writes numbers that depend on nothing.
    Filled,
    Computed,
}

/// None of a call that may give something else each time.
fn kind(node: &Node) -> Result<Option<Kind>> {
    Ok(match node.op.lower(&metas(&node.inputs), &metas(&node.outputs))? {
        _ if node.op.has_effects() => None,
        Lowering::Random(_) | Lowering::Opaque(_) | Lowering::Prepared(_) | Lowering::Function(_) => None,
        Lowering::Transfer | Lowering::View(_) => None,
        Lowering::Fill(_) | Lowering::Range { .. } => Some(Kind::Filled),
        _ => Some(Kind::Computed),
    })
}

/// The results of a call on known memory, laid out as the graph has them.
fn made(node: &Node, known: &[Option<Arc<Storage>>]) -> Result<Tensors> {
    let tensor = |input: &Use| {
        let storage = known[input.value].clone().expect("the inputs are known");
        Tensor::over_storage(storage, input.meta.dtype, input.meta.layout.clone())
    };
    let inputs = node.inputs.iter().map(tensor).collect::<Result<Vec<Tensor>>>()?;
    no_grad(|| dispatch(&*node.op, &inputs.iter().collect::<Vec<_>>()))
}

fn bytes_of(meta: &Meta) -> usize {
    meta.elem_count() * meta.dtype.size_in_bytes()
}
