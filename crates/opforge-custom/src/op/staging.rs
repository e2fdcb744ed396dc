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
        for meta in inputs {
            let load = |contiguous: &Meta| copy(meta, contiguous).map(|load| (Some(load), None));
            let stand = staging.stand(meta, load)?;
            staging.inputs.push(stand);
        }
        for (i, meta) in outputs.iter().enumerate() {
            let store = |contiguous: &Meta| copy(contiguous, meta).map(|store| (None, Some(store)));
            let shared = alias(i).and_then(|input| staging.inputs[input]);
            let stand = match shared {
                Some(stand) => {
                    staging.stands[stand].store = store(&Meta::contiguous(meta.dtype, meta.shape()))?.1;
                    Some(stand)
                }
                None => staging.stand(meta, store)?,
            };
            staging.outputs.push(stand);
        }
        Ok(Some(staging))
    }

    fn stand(
        &mut self,
        meta: &Meta,
        copies: impl Fn(&Meta) -> Result<(Option<Arc<dyn HostKernel>>, Option<Arc<dyn HostKernel>>)>,
    ) -> Result<Option<usize>> {
        if meta.layout.is_contiguous() {
            return Ok(None);
        }
        let (load, store) = copies(&Meta::contiguous(meta.dtype, meta.shape()))?;
        self.stands.push(Stand { start: self.total, load, store });
        let bytes = meta.elem_count() * meta.dtype.size_in_bytes();
        self.total += bytes.next_multiple_of(ALIGNMENT);
        Ok(Some(self.stands.len() - 1))
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
        let staged_inputs: SmallVec<[*const u8; 4]> = inputs
            .iter()
            .zip(&self.inputs)
            .map(|(&given, stand)| stand.map_or(given, |i| at(i).cast_const()))
            .collect();
        let staged_outputs: SmallVec<[*mut u8; 4]> =
            outputs.iter().zip(&self.outputs).map(|(&given, stand)| stand.map_or(given, at)).collect();
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
