//! Kernels of contiguous inputs, for inputs of any strides.

use std::sync::Arc;

use opforge_core::{Meta, Result};
use opforge_runtime::HostKernel;
use opforge_runtime::alloc::Workspace;
use smallvec::SmallVec;

use crate::copy::Plan;

/// The kernel that `make` prepares for contiguous inputs; others are copied first, each time it runs.
pub(crate) fn with_contiguous(
    inputs: &[&Meta],
    make: impl FnOnce(&[&Meta]) -> Result<Arc<dyn HostKernel>>,
) -> Result<Arc<dyn HostKernel>> {
    if inputs.iter().all(|m| m.layout.is_contiguous()) {
        return make(inputs);
    }
    let flat: SmallVec<[Meta; 4]> = inputs.iter().map(|m| Meta::contiguous(m.dtype, m.shape())).collect();
    let kernel = make(&flat.iter().collect::<SmallVec<[&Meta; 4]>>())?;
    let copy = |(from, to): (&&Meta, &Meta)| {
        let bytes = to.elem_count() * to.dtype.size_in_bytes();
        (!from.layout.is_contiguous()).then(|| Copy { plan: Plan::new(from, to, &[]), bytes })
    };
    Ok(Arc::new(Staged { copies: inputs.iter().zip(&flat).map(copy).collect(), kernel }))
}

struct Copy {
    plan: Plan,
    bytes: usize,
}

struct Staged {
    copies: SmallVec<[Option<Copy>; 4]>,
    kernel: Arc<dyn HostKernel>,
}

impl HostKernel for Staged {
    unsafe fn run(&self, inputs: &[*const u8], outputs: &[*mut u8]) -> Result<()> {
        let mut pointers: SmallVec<[*const u8; 4]> = inputs.into();
        let mut copies: SmallVec<[Workspace; 4]> = SmallVec::new();
        for (pointer, copy) in pointers.iter_mut().zip(&self.copies) {
            if let Some(copy) = copy {
                let space = Workspace::new(copy.bytes)?;
                // SAFETY: the input has the layout that the plan was made for, and the workspace the bytes that its copy takes.
                unsafe { copy.plan.run(*pointer, space.as_ptr()) };
                *pointer = space.as_ptr();
                copies.push(space);
            }
        }
        // SAFETY: the kernel was prepared for the copies' layouts, and they outlive it.
        unsafe { self.kernel.run(&pointers, outputs) }
    }

    fn cost(&self) -> u64 {
        self.copies.iter().flatten().map(|c| c.plan.cost()).sum::<u64>() + self.kernel.cost()
    }
}
