//! Who carries out what operators compute: a backend for each kind of device.
//!
//! A backend is memory, copies and kernels. Nothing above the kernels follows an address of a device's memory: kernels get storages and offsets, only
//! those of the CPU get addresses, and the host reads another device's storage by a copy. `tests/devices.rs` brings a device whose addresses lead
//! nowhere and expects the CPU's values and gradients.

use std::any::Any;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use opforge_runtime::{HostMemory, Kernel, Memory, OnHost};

use crate::operator::{Call, Lowering, Tensors};
use crate::{Device, Error, ErrorKind, Meta, Result, Tensor};

/// A device's memory, and its kernels.
///
/// The CPU's is [`Cpu`]. [`add`] brings others: their tensors are made, copied (`to_device`), computed with and differentiated like those of the
/// CPU, by the same operators, which do not know of them.
pub trait Backend: Send + Sync + 'static {
    /// The device's memory, with the copies from and to the host.
    fn memory(&self) -> &dyn Memory;

    /// A kernel that computes what an operator says, for inputs and outputs of these metas.
    ///
    /// # Errors
    /// [`Error::Device`] for what the device cannot compute, naming operator and device.
    fn kernel(
        &self,
        op: &'static str,
        lowering: Lowering,
        inputs: &[&Meta],
        outputs: &[&Meta],
    ) -> Result<Arc<dyn Kernel>>;

    /// One kernel for functions of single elements, in order: what passes between them need not reach memory.
    ///
    /// # Errors
    /// [`Error::Device`] where the device makes no such kernels, or not of these; they then run one by one.
    fn chain(&self, links: &[Link<'_>]) -> Result<Arc<dyn Kernel>> {
        let given = format!("{} calls", links.len());
        Err(Error::device("chain", "calls", given, "one call a kernel"))
    }

    /// Whether what the device has no kernel for is computed on the CPU: storages are copied to main memory and back, which takes its time.
    fn falls_back(&self) -> bool {
        false
    }

    /// Carries a call out by other means than one kernel, where the device has such: asked of every call that has to do with one of its tensors.
    fn carry_out(&self, _call: &Call<'_>) -> Option<Result<Tensors>> {
        None
    }

    /// A tensor that was made beside another one of its shape, where that lies.
    ///
    /// # Errors
    /// The device's.
    fn place_like(&self, made: Tensor, _model: &Tensor) -> Result<Tensor> {
        Ok(made)
    }

    /// Has calls of this thread that make tensors of that shape make them where it lies, if they can, until the result is dropped.
    fn beside(&self, _model: &Tensor) -> Option<Box<dyn Any>> {
        None
    }
}

/// A function of single elements that is one of several in a kernel, over tensors of one shape.
pub struct Link<'a> {
    /// The operator's name.
    pub op: &'static str,
    /// What it computes: a tile function, a copy, or one number everywhere.
    pub lowering: Lowering,
    /// What it reads, broadcast to the outputs' shape.
    pub inputs: Vec<(Operand, &'a Meta)>,
    /// What it makes, and which of the kernel's outputs that is; none for what only further links read.
    pub outputs: Vec<(&'a Meta, Option<usize>)>,
}

/// What a link reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operand {
    /// The kernel's input of this number.
    Given(usize),
    /// The element at the same place of what an earlier link made: the link's number and the output's.
    Made(usize, usize),
}

/// The backend of the CPU: compiled loops of `opforge-cpu`.
pub struct Cpu;

impl Backend for Cpu {
    fn memory(&self) -> &dyn Memory {
        &HostMemory
    }

    fn kernel(
        &self,
        op: &'static str,
        lowering: Lowering,
        inputs: &[&Meta],
        outputs: &[&Meta],
    ) -> Result<Arc<dyn Kernel>> {
        Ok(lowering.kernel(op, inputs, outputs)?)
    }
}

/// The backends that were added, by the numbers of their devices.
static ADDED: [OnceLock<&'static dyn Backend>; Device::MOST_ADDED] = [const { OnceLock::new() }; Device::MOST_ADDED];

/// Brings a device: tensors can be made there from now on.
///
/// # Errors
/// [`Error::Device`] when there are [`Device::MOST_ADDED`] already.
pub fn add(backend: &'static dyn Backend) -> Result<Device> {
    let device = Device::add(backend.memory())?;
    if let Device::Added(number) = device {
        // The number is new: nobody has set this.
        let _ = ADDED[usize::from(number)].set(backend);
    }
    Ok(device)
}

impl Tensor {
    /// The tensor, which was made beside another of its shape and on its device, where that lies.
    ///
    /// # Errors
    /// Those of [`Backend::place_like`].
    pub(crate) fn placed_like(self, model: &Tensor) -> Result<Tensor> {
        match model.device() {
            Device::Added(_) if self.device() == model.device() => of(*model.device())?.place_like(self, model),
            _ => Ok(self),
        }
    }
}

/// Until the result is dropped, what is to be placed like a tensor may be made there at once ([`Backend::beside`]).
pub fn beside(model: &Tensor) -> Option<Box<dyn Any>> {
    match model.device() {
        Device::Added(_) => of(*model.device()).ok()?.beside(model),
        _ => None,
    }
}

/// Whether the CPU computes what a device has no kernel for ([`Backend::falls_back`]): at first unless an environment variable is 0.
pub struct Fallback {
    variable: &'static str,
    allowed: OnceLock<AtomicBool>,
}

impl Fallback {
    /// That which the environment variable forbids.
    pub const fn unless(variable: &'static str) -> Self {
        Fallback { variable, allowed: OnceLock::new() }
    }

    fn flag(&self) -> &AtomicBool {
        let refused = || std::env::var(self.variable).is_ok_and(|value| value == "0");
        self.allowed.get_or_init(|| AtomicBool::new(!refused()))
    }

    /// Whether it is allowed now.
    pub fn is_allowed(&self) -> bool {
        self.flag().load(Ordering::Relaxed)
    }

    /// Allows or forbids it. Calls like those before keep the kernels that they have.
    pub fn set(&self, allowed: bool) {
        self.flag().store(allowed, Ordering::Relaxed);
    }
}

/// What is not copied to the CPU: more bytes than these of one tensor.
const MOST_COPIED: usize = 1 << 33;

/// A device's kernel for what an operator lowers to, or the CPU's where the device [falls back](Backend::falls_back), for which `again` lowers once more.
///
/// # Errors
/// Those of `again` and [`Backend::kernel`].
pub fn kernel(
    device: Device,
    op: &'static str,
    lowering: Lowering,
    again: impl FnOnce() -> Result<Lowering>,
    inputs: &[&Meta],
    outputs: &[&Meta],
) -> Result<Arc<dyn Kernel>> {
    let backend = of(device)?;
    if let Lowering::Prepared(kernel) = lowering {
        return Ok(kernel);
    }
    match backend.kernel(op, lowering, inputs, outputs) {
        Err(lacking) if lacking.kind() == ErrorKind::Device && backend.falls_back() => {
            on_host(op, again()?, inputs, outputs).map_err(|_| lacking)
        }
        made => made,
    }
}

/// The kernel of the CPU for what a device has none for, where it [falls back](Backend::falls_back).
///
/// # Errors
/// The kernel's; [`Error::Device`] for tensors so large that copies are no help.
fn on_host(op: &'static str, lowering: Lowering, inputs: &[&Meta], outputs: &[&Meta]) -> Result<Arc<dyn Kernel>> {
    let is_large = |meta: &&&Meta| meta.layout.span().saturating_mul(meta.dtype.size_in_bytes()) >= MOST_COPIED;
    if let Some(meta) = inputs.iter().chain(outputs).find(is_large) {
        return Err(Error::device(
            op,
            "input",
            format!("{:?}", meta.layout),
            format!("fewer than {MOST_COPIED} bytes"),
        ));
    }
    Ok(Arc::new(OnHost(lowering.kernel(op, inputs, outputs)?)))
}

/// The backend of a device.
///
/// # Errors
/// [`Error::Device`] for one without data, or that no backend was [added](add) for.
pub fn of(device: Device) -> Result<&'static dyn Backend> {
    let added = match device {
        Device::Cpu => return Ok(&Cpu),
        Device::Added(number) => ADDED.get(usize::from(number)).and_then(OnceLock::get),
        _ => None,
    };
    added.copied().ok_or_else(|| Error::device("devices", "device", device, "a device that has a backend"))
}
