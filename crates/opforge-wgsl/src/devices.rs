//! The driver, and the GPUs that were opened.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, OnceLock};

use opforge::{Device, Error, Result, devices};
use opforge_runtime::{Memory, vm};

use crate::backend::{Added, Wgsl};
use crate::driver::{Driver, VERSION};
use crate::gpu::Gpu;

static DRIVER: OnceLock<&'static Driver> = OnceLock::new();

/// The devices that were opened, by number.
static OPENED: Mutex<BTreeMap<usize, (Device, &'static Wgsl)>> = Mutex::new(BTreeMap::new());

fn opened() -> MutexGuard<'static, BTreeMap<usize, (Device, &'static Wgsl)>> {
    OPENED.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Brings the driver of GPUs. Of several the first stays.
///
/// # Errors
/// [`Error::Device`] for one of another version than [`VERSION`].
///
/// # Safety
/// The driver's functions do what [`Driver`] says of them.
pub unsafe fn bring(driver: &'static Driver) -> Result<()> {
    if driver.version != VERSION {
        return Err(Error::device("wgpu", "driver", driver.version, format!("a driver of version {VERSION}")));
    }
    let _ = DRIVER.set(driver);
    Ok(())
}

/// What the GPUs are called, by number; none where there is no driver.
pub fn available() -> &'static [String] {
    static NAMES: OnceLock<Vec<String>> = OnceLock::new();
    DRIVER.get().map_or(&[], |driver| NAMES.get_or_init(|| Gpu::names(driver)))
}

fn open(number: usize) -> Result<(Device, &'static Wgsl)> {
    let mut opened = opened();
    if let Some(&found) = opened.get(&number) {
        return Ok(found);
    }
    let count = available().len();
    let accepted = match count {
        0 => "no number: no driver of a GPU was found".to_owned(),
        n => format!("0 to {}", n - 1),
    };
    let driver = DRIVER.get().filter(|_| number < count);
    let driver = driver.ok_or_else(|| Error::device("wgpu", "number", number, accepted))?;
    let gpu: &'static Wgsl = Box::leak(Box::new(Wgsl::new(Gpu::open(driver, number)?)));
    let device = devices::add(Box::leak(Box::new(Added(gpu))))?;
    opened.insert(number, (device, gpu));
    Ok((device, gpu))
}

/// The GPU of this number, `wgpu:0` and so on, opened at the first call.
///
/// # Errors
/// [`Error::Device`] where there is none, or the driver refuses.
pub fn device(number: usize) -> Result<Device> {
    Ok(open(number)?.0)
}

/// Whether a GPU was opened, which processes that are forked from now on cannot use.
pub fn is_open() -> bool {
    !opened().is_empty()
}

/// Waits until everything that was issued to the GPU has run.
///
/// # Errors
/// As [`device`]; what failed before.
pub fn synchronize(number: usize) -> Result<()> {
    vm::synchronize()?;
    open(number)?.1.wait()
}
