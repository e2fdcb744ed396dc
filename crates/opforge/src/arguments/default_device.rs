//! The device of new tensors for which none is named.

use std::cell::Cell;

use crate::{Device, Error, Result};

/// The device of new tensors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DefaultDevice {
    /// A device that is there.
    Present(Device),
    /// A device by its type's name that is not there: making a tensor there is an error.
    Absent(&'static str),
}

thread_local! {
    static DEFAULT: Cell<DefaultDevice> = const { Cell::new(DefaultDevice::Present(Device::Cpu)) };
}

/// Changes, for this thread, the device of new tensors for which none is named; gives the one before. At first it is the CPU.
///
/// ```
/// # use opforge::{Device, functional as f};
/// let before = f::set_default_device(f::DefaultDevice::Present(Device::Meta));
/// assert!(f::zeros(&[2], None, None, false)?.device().is_meta());
/// f::set_default_device(before);
/// # Ok::<(), opforge::Error>(())
/// ```
pub fn set_default_device(device: DefaultDevice) -> DefaultDevice {
    DEFAULT.replace(device)
}

/// The device that is named, or the default.
pub(crate) fn device_or_default(op: &'static str, named: Option<Device>) -> Result<Device> {
    match (named, DEFAULT.get()) {
        (Some(device), _) | (None, DefaultDevice::Present(device)) => Ok(device),
        (None, DefaultDevice::Absent(name)) => {
            Err(Error::device(op, "device", format!("'{name}', the default"), "'cpu' or 'meta'; there are no others"))
        }
    }
}
