//! Contiguous stand-ins for tensors of other layouts, which kernels do not know.

use std::sync::Arc;

use opforge::operator::Operator;
use opforge::ops::pointwise::copy::Copy;
use opforge::{Meta, Result};
use opforge_runtime::HostKernel;
use opforge_runtime::alloc::Workspace;
use smallvec::SmallVec;

/// A stand-in's place in the block of memory that holds them all, and the copies that fill it and write it back.
struct Stand {
    start: usize,
    load: Option<Arc<dyn HostKernel>>,
    store: Option<Arc<dyn HostKernel>>,
}

/// Which arguments have stand-ins. Memory for them is taken for each run.
#[derive(Default)]
pub(super) struct Staging {
    inputs: SmallVec<[Option<usize>; 4]>,
    outputs: SmallVec<[Option<usize>; 4]>,
    stands: Vec<Stand>,
    total: usize,
}

/// The kernel that copies one tensor to another.
fn copy(from: &Meta, to: &Meta) -> Result<Arc<dyn HostKernel>> {
    Copy.lower(&[from], &[to])?.kernel("copy", &[from], &[to])
}

/// What stands begin at multiples of, in bytes.
const ALIGNMENT: usize = 64;

impl Staging {
    /// Stand-ins for what is not contiguous; `None` if everything is. `alias` says which input an output is.
    pub fn new(inputs: &[&Meta], outputs: &[&Meta], alias: impl Fn(usize) -> Option<usize>) -> Result<Option<Self>> {
        if inputs.iter().chain(outputs).all(|meta| meta.layout.is_contiguous()) {
            return Ok(None);
        }
        let mut staging = Staging::default();
        let contiguous = |meta: &Meta| Meta::contiguous(meta.dtype, meta.shape());
        for meta in inputs {
            let stand = staging.stand(meta);
            if let Some(stand) = stand {
                staging.stands[stand].load = Some(copy(meta, &contiguous(meta))?);
            }
            staging.inputs.push(stand);
        }
        for (i, meta) in outputs.iter().enumerate() {
            let shared = alias(i).and_then(|input| staging.inputs[input]);
            let stand = shared.or_else(|| staging.stand(meta));
            if let Some(stand) = stand {
                staging.stands[stand].store = Some(copy(&contiguous(meta), meta)?);
            }
            staging.outputs.push(stand);
        }
        Ok(Some(staging))
    }

    /// A place for a stand-in, if the tensor needs one.
    fn stand(&mut self, meta: &Meta) -> Option<usize> {
        if meta.layout.is_contiguous() {
            return None;
        }
        self.stands.push(Stand { start: self.total, load: None, store: None });
        let bytes = meta.elem_count() * meta.dtype.size_in_bytes();
        self.total += bytes.next_multiple_of(ALIGNMENT);
        Some(self.stands.len() - 1)
    }

    /// Runs `f` on the stand-ins' addresses where there are any, between the copies.
    ///
    /// # Safety
    /// As for [`HostKernel::run`], for tensors of the metas given before.
    pub unsafe fn run(
        &self,
        inputs: &[*const u8],
        outputs: &[*mut u8],
        f: impl FnOnce(&[*const u8], &[*mut u8]) -> Result<()>,
    ) -> Result<()> {
        let block = Workspace::new(self.total)?;
        let at = |stand: usize| block.as_ptr().wrapping_add(self.stands[stand].start);
        let staged = inputs.iter().zip(&self.inputs);
        let staged_inputs: SmallVec<[*const u8; 4]> =
            staged.map(|(&given, stand)| stand.map_or(given, |i| at(i).cast_const())).collect();
        let staged = outputs.iter().zip(&self.outputs);
        let staged_outputs: SmallVec<[*mut u8; 4]> = staged.map(|(&given, stand)| stand.map_or(given, at)).collect();
        for (&given, stand) in inputs.iter().zip(&self.inputs) {
            if let Some((stand, load)) = stand.and_then(|i| Some((i, self.stands[i].load.as_ref()?))) {
                // SAFETY: the copy was prepared for this input and a contiguous tensor, which has its place in the block.
                unsafe { load.run(&[given], &[at(stand)]) }?;
            }
        }
        f(&staged_inputs, &staged_outputs)?;
        for (&given, stand) in outputs.iter().zip(&self.outputs) {
            if let Some((stand, store)) = stand.and_then(|i| Some((i, self.stands[i].store.as_ref()?))) {
                // SAFETY: the copy was prepared for a contiguous tensor, which has its place in the block, and this output.
                unsafe { store.run(&[at(stand).cast_const()], &[given]) }?;
            }
        }
        Ok(())
    }
}
