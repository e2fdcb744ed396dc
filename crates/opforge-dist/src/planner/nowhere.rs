//! The engine of simulated ranks, seen from a rank that is none of them: it moves nothing.

use std::sync::Arc;

use opforge_core::{Error, Result};

use crate::engine::{Call, Engine, Request};

/// So many ranks, of which none is this one: their tensors have no elements here, and nobody hears a call.
#[derive(Debug)]
pub(super) struct Nowhere(pub usize);

impl Engine for Nowhere {
    fn name(&self) -> &'static str {
        "simulated"
    }

    fn rank(&self) -> usize {
        self.0
    }

    fn size(&self) -> usize {
        self.0 + 1
    }

    fn subgroup(&self, _: &[usize]) -> Result<Arc<dyn Engine>> {
        Err(no_elements("subgroup"))
    }

    fn start(&self, call: Call) -> Result<Request> {
        Err(no_elements(call.collective.name()))
    }
}

fn no_elements(call: &'static str) -> Error {
    Error::value(
        call,
        "world",
        "simulated ranks",
        "a program that needs no elements: tensors are global, and are not read",
    )
}
