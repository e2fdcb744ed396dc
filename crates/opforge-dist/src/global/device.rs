//! Placements as devices: tensors of one placement go together, and what is made beside them is made there.

use std::any::Any;
use std::collections::HashMap;
use std::ptr::NonNull;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use opforge::devices::{self, Backend};
use opforge::operator::{Call, Lowering, Tensors};
use opforge::{Device, Error, Meta, Result, Tensor};
use opforge_runtime::{Kernel, Memory};

use super::beside::Beside;
use super::content::Content;
use super::{convert, interpreter, operators, read};
use crate::Placement;

/// A placement under the name of its text.
struct OfPlacement {
    name: String,
    placement: Placement,
}

#[derive(Default)]
struct Registry {
    devices: HashMap<Placement, Device>,
    placements: HashMap<Device, Placement>,
}

static REGISTRY: LazyLock<Mutex<Registry>> = LazyLock::new(Mutex::default);

/// The device of a placement's tensors. It stays for the life of the process.
///
/// # Errors
/// More than [`Device::MOST_ADDED`] of them; ranks that the kind of device is not there for.
pub fn device_of(placement: &Placement) -> Result<Device> {
    let mut registry = REGISTRY.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(device) = registry.devices.get(placement) {
        return Ok(*device);
    }
    if placement.device() != crate::DeviceKind::Cpu {
        return Err(Error::device("placement", "device", placement.device(), "cpu"));
    }
    let backend = OfPlacement { name: placement.to_string(), placement: placement.clone() };
    let device = devices::add(Box::leak(Box::new(backend)))?;
    registry.devices.insert(placement.clone(), device);
    registry.placements.insert(device, placement.clone());
    Ok(device)
}

/// The placement of a device, if it is that of one.
pub fn placement_of(device: Device) -> Option<Placement> {
    match device {
        Device::Added(_) => REGISTRY.lock().unwrap_or_else(PoisonError::into_inner).placements.get(&device).cloned(),
        _ => None,
    }
}

impl OfPlacement {
    fn no_address(&self) -> Error {
        Error::device("storage", "device", &self.name, "a device whose storages have addresses")
    }
}

/// Elements are parts on ranks, which have no address here.
impl Memory for OfPlacement {
    fn name(&self) -> &str {
        &self.name
    }

    fn allocate(&self, _: usize) -> Result<NonNull<u8>> {
        Err(self.no_address())
    }

    // SAFETY: never called, as no block comes from `allocate`; nothing is done.
    unsafe fn free(&self, _: NonNull<u8>, _: usize) {}

    unsafe fn clear(&self, _: *mut u8, _: usize) -> Result<()> {
        Err(self.no_address())
    }

    unsafe fn upload(&self, _: &[u8], _: *mut u8) -> Result<()> {
        Err(self.no_address())
    }

    unsafe fn download(&self, _: *const u8, _: &mut [u8]) -> Result<()> {
        Err(self.no_address())
    }

    fn gather(&self, content: &(dyn Any + Send + Sync), to: &mut [u8]) -> Result<()> {
        let content = content.downcast_ref::<Content>().ok_or_else(|| self.no_address())?;
        read::bytes(content, to)
    }
}

impl Backend for OfPlacement {
    fn memory(&self) -> &dyn Memory {
        self
    }

    fn kernel(&self, op: &'static str, _: Lowering, _: &[&Meta], _: &[&Meta]) -> Result<Arc<dyn Kernel>> {
        Err(Error::device(op, "input", &self.name, "parts of tensors, on the ranks that have them"))
    }

    fn place_like(&self, made: Tensor, model: &Tensor) -> Result<Tensor> {
        operators::redistribute(&made, &operators::of_gradient(&*convert::distribution(model)?)?)
    }

    fn beside(&self, model: &Tensor) -> Option<Box<dyn Any>> {
        let to = operators::of_gradient(&*convert::distribution(model).ok()?).ok()?;
        Some(Box::new(Beside::begin(Arc::new(to), Some(model.shape().clone()))))
    }

    fn carry_out(&self, call: &Call<'_>) -> Option<Result<Tensors>> {
        Some(interpreter::carry_out(call, &self.placement))
    }
}
