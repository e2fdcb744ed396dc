//! In-place forms of compositions: memory that is about to be overwritten by the result of calls that saved it. They hold a copy from then on.

use std::collections::HashSet;
use std::sync::Arc;

use opforge_runtime::Storage;

use super::node::Node;
use super::slot::Edge;
use super::{is_grad_enabled, no_grad};
use crate::{DType, Meta, Result, Tensor};

/// A moment in the order of recorded calls.
#[derive(Clone, Copy)]
pub(crate) struct Moment(u64);

impl Moment {
    pub(crate) fn now() -> Self {
        Moment(Node::next_sequence())
    }

    /// To be called before `target` is overwritten with what was computed since this moment: what calls on the way to `results` have saved
    /// of its memory, they hold in a copy from now on. So in-place forms of compositions keep what their gradients read.
    pub(crate) fn preserve(&self, results: &[&Tensor], target: &Tensor) -> Result<()> {
        if !is_grad_enabled() {
            return Ok(());
        }
        let mut copy = None;
        let mut seen = HashSet::new();
        let mut edges: Vec<Edge> = results.iter().filter_map(|result| result.edge()).collect();
        while let Some(edge) = edges.pop() {
            let Edge::Node(node, _) = edge else { continue };
            if node.sequence < self.0 || !seen.insert(node.sequence) {
                continue;
            }
            if node.has_saved(target.storage()) {
                if copy.is_none() {
                    copy = Some(duplicate(target.storage())?);
                }
                copy.iter().for_each(|copy| node.move_saved(target.storage(), copy));
            }
            edges.extend(node.edges.iter().flatten().cloned());
        }
        Ok(())
    }
}

fn duplicate(storage: &Arc<Storage>) -> Result<Arc<Storage>> {
    let bytes = Tensor::from_parts(Meta::contiguous(DType::U8, storage.nbytes()), storage.clone());
    Ok(no_grad(|| bytes.copy())?.storage().clone())
}
