//! Kernels of the CPU for tensors of other devices.

use std::sync::Arc;

use opforge_core::Result;

use crate::device::Device;
use crate::kernel::{Argument, Context, Kernel};
use crate::storage::Storage;

/// A kernel of the CPU that is given copies, in main memory, of the storages that a call is about, and whose outputs are taken back.
pub struct OnHost(pub Arc<dyn Kernel>);

/// A storage with its copy.
type Copied<'a> = (&'a Arc<Storage>, Arc<Storage>);

/// Copies of the arguments' storages, one each.
fn copies<'a>(arguments: impl Iterator<Item = &'a Argument<'a>>) -> Result<Vec<Copied<'a>>> {
    let mut copies: Vec<Copied<'a>> = Vec::new();
    for Argument { storage, .. } in arguments {
        if copies.iter().any(|(known, _)| Arc::ptr_eq(known, storage)) {
            continue;
        }
        let copy = Storage::new(Device::Cpu, storage.nbytes())?;
        if storage.is_reserved() && storage.nbytes() > 0 {
            let (from, to) = (storage.data()?, copy.data_for_output()?);
            // SAFETY: the copy is new, has as many bytes, and nobody else knows it.
            let bytes = unsafe { std::slice::from_raw_parts_mut(to.as_ptr(), copy.nbytes()) };
            // SAFETY: the storage has as many bytes, which the VM lets nobody else write meanwhile.
            unsafe { storage.device().memory()?.download(from.as_ptr(), bytes)? };
        }
        copies.push((storage, copy));
    }
    Ok(copies)
}

impl Kernel for OnHost {
    unsafe fn launch(&self, context: &Context, inputs: &[Argument<'_>], outputs: &[Argument<'_>]) -> Result<()> {
        let copies = copies(inputs.iter().chain(outputs))?;
        let copy_of = |storage: &Arc<Storage>| copies.iter().find(|(known, _)| Arc::ptr_eq(known, storage));
        let copied = |arguments: &[Argument<'_>]| -> Vec<(Arc<Storage>, usize)> {
            let places = arguments.iter().filter_map(|a| Some((copy_of(a.storage)?.1.clone(), a.byte_offset)));
            places.collect()
        };
        let (sources, targets) = (copied(inputs), copied(outputs));
        let (sources, targets) = (as_arguments(&sources), as_arguments(&targets));
        // SAFETY: the arguments are those of the caller, at the same places of storages of the same sizes, on the kernel's device. Storages that were one
        // still are.
        unsafe { self.0.launch(&Context { device: Device::Cpu, ..*context }, &sources, &targets)? };
        for (i, output) in outputs.iter().enumerate() {
            if outputs[..i].iter().all(|before| !Arc::ptr_eq(before.storage, output.storage)) {
                take_back(&targets[i], output)?;
            }
        }
        Ok(())
    }

    fn duration(&self) -> u64 {
        // The copies' at least.
        self.0.duration() + 20_000
    }
}

fn as_arguments(places: &[(Arc<Storage>, usize)]) -> Vec<Argument<'_>> {
    places.iter().map(|(storage, offset)| Argument::new(storage, *offset)).collect()
}

/// Brings the whole storage of an output back.
fn take_back(copy: &Argument<'_>, output: &Argument<'_>) -> Result<()> {
    let nbytes = copy.storage.nbytes();
    if nbytes == 0 {
        return Ok(());
    }
    let (from, to) = (copy.storage.data()?, output.storage.data_for_output()?);
    // SAFETY: the kernel has run, and nobody else knows its copy.
    let bytes = unsafe { std::slice::from_raw_parts(from.as_ptr(), nbytes) };
    // SAFETY: the storage has as many bytes, which the VM lets nobody else use meanwhile.
    unsafe { output.storage.device().memory()?.upload(bytes, to.as_ptr()) }
}
