//! Boxing as an instruction of the VM, on a stream of its own: it runs beside what is computed meanwhile, and in the same order on all ranks.

use std::panic::Location;
use std::ptr::NonNull;
use std::sync::Arc;

use opforge::{Device, Error, Layout, Result, Tensor};
use opforge_runtime::vm::{self, Stream};
use opforge_runtime::{Argument, Context, DeviceLocation, Kernel, Storage};

use super::World;
use crate::{Buffer, Groups, Place, Plan};

/// Has a plan carried out on a stream once `local` is computed; all ranks do so in the same order. The new part, for whoever waits for it.
pub(super) fn execute(
    world: &World,
    stream: &Stream,
    plan: &Arc<Plan>,
    local: Option<&Tensor>,
    at: &'static Location<'static>,
) -> Result<Option<Tensor>> {
    let local = local.map(Tensor::contiguous).transpose()?;
    let (groups, position) = (world.groups().clone(), plan.to().placement().position(world.rank()));
    let new = position.map(|position| room(plan, position)).transpose()?;
    let [inputs, outputs] = [&local, &new].map(|part| part.iter().map(argument).collect::<Vec<_>>());
    let kernel: Arc<dyn Kernel> =
        Arc::new(Boxing { groups: groups.clone(), plan: plan.clone(), place: world.place(at) });
    let (op, content) = ("boxing".into(), vm::Content::New);
    let call = vm::Call { op: &op, at, kernel: &kernel, part: None, inputs: &inputs, outputs: &outputs, content };
    // SAFETY: the kernel takes the elements of this part, which is dense, and writes those of a new one.
    vm::with_stream(stream, || unsafe { vm::submit(&call) }).inspect_err(|error| groups.world().abort(error))?;
    Ok(new)
}

/// Room for the part at a position.
fn room(plan: &Plan, position: usize) -> Result<Tensor> {
    let shape = plan.to().part(plan.shape(), position).shape();
    let storage = Storage::new(Device::Cpu, shape.elem_count() * plan.dtype().size_in_bytes())?;
    Tensor::over_storage(storage, plan.dtype(), Layout::contiguous(shape))
}

fn argument(tensor: &Tensor) -> Argument<'_> {
    Argument::new(tensor.storage(), tensor.layout().start_offset() * tensor.dtype().size_in_bytes())
}

/// A plan as a kernel: of the part before, where this rank has one, and of the part after. Other ranks wait for it: they are told where it is not carried
/// out.
struct Boxing {
    groups: Arc<Groups>,
    plan: Arc<Plan>,
    place: Place,
}

impl Boxing {
    /// The memory of the part at this rank, for as long as the storage lives.
    ///
    /// # Safety
    /// The tensor has the elements of that part, at this address; until the buffer is dropped nobody writes them, nor reads them if the buffer is written.
    unsafe fn part(&self, of: &crate::Distribution, tensor: &Argument<'_>, address: *mut u8) -> Option<Buffer> {
        let position = of.placement().position(self.groups.world().rank())?;
        let bytes = of.part(self.plan.shape(), position).len() * self.plan.dtype().size_in_bytes();
        let address = NonNull::new(address)?;
        // SAFETY: the storage owns the memory; the rest is the caller's promise. Memory that holds anything is written before it is read.
        Some(unsafe { Buffer::from_raw(address, bytes, DeviceLocation::Cpu, tensor.storage.clone()) })
    }
}

impl Kernel for Boxing {
    unsafe fn launch(&self, _: &Context, inputs: &[Argument<'_>], outputs: &[Argument<'_>]) -> Result<()> {
        let mut told = Told { boxing: self, how: Some(Error::Interrupted) };
        let (from, to) = (inputs.first(), outputs.first());
        let done = (|| {
            let from = from.map(|part| Ok::<_, Error>((part, part.to_read()?.cast_mut()))).transpose()?;
            let to = to.map(|part| Ok::<_, Error>((part, part.to_write()?))).transpose()?;
            // SAFETY: the VM keeps others from these tensors, which are as the plan has them, until this returns; when a request is given up, the result is
            // unusable, and the plan only reads its part.
            let from = from.and_then(|(part, address)| unsafe { self.part(self.plan.from(), part, address) });
            // SAFETY: the VM lets nobody else use the output until this returns; when a request is given up, the result is unusable.
            let to = to.and_then(|(part, address)| unsafe { self.part(self.plan.to(), part, address) });
            self.plan.execute_into(&self.groups, from, to, &self.place)
        })();
        told.how = done.as_ref().err().cloned();
        done
    }

    /// Never on the thread that calls: others may come late.
    fn duration(&self) -> u64 {
        1_000_000_000
    }

    fn is_communication(&self) -> bool {
        true
    }

    fn forgo(&self, reason: &Error) {
        self.groups.world().abort(reason);
    }
}

/// Tells the other ranks when a plan has failed, or was told to stop.
struct Told<'a> {
    boxing: &'a Boxing,
    how: Option<Error>,
}

impl Drop for Told<'_> {
    fn drop(&mut self) {
        if let Some(error) = &self.how {
            self.boxing.groups.world().abort(error);
        }
    }
}
