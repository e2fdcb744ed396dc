//! What the VM runs.

use std::sync::Arc;

use opforge_core::{Error, Result};
use smallvec::SmallVec;

use crate::device::Device;
use crate::storage::Storage;
use crate::vm::Buffer;

/// A computation prepared for fixed dtypes, shapes and strides on one kind of device; only the memory changes from run to run.
///
/// Preparing (choosing loops, collapsing dimensions, checking) happens once and is cached; running does as little else as possible.
/// Kernels of the CPU implement [`HostKernel`], which makes them one of these.
pub trait Kernel: Send + Sync + 'static {
    /// Computes the outputs from the inputs: when it returns they are there.
    ///
    /// Memory is reserved here, right before it is used. An error leaves the outputs in an unspecified but initialised state. A kernel must not
    /// call the VM, nor fork the process: it may be running under the VM's lock.
    ///
    /// # Safety
    /// There are as many arguments as tensors the kernel was prepared for. Each lies within its storage and is aligned to its element size; the
    /// storages are on the context's device, where the kernel does not say otherwise. Nothing else writes the inputs or touches the outputs
    /// meanwhile. An output may be the same tensor as an input (equal place and layout) only where the kernel's constructor allows it.
    unsafe fn launch(&self, context: &Context, inputs: &[Argument<'_>], outputs: &[Argument<'_>]) -> Result<()>;

    /// A rough estimate of the time of one run, in nanoseconds (on one core): the VM runs short kernels on the calling thread.
    fn duration(&self) -> u64;

    /// How an input that stays the same from run to run may be arranged beforehand, where that saves time.
    fn arranging(&self) -> Option<Prepack> {
        None
    }

    /// What is called instead of [`Kernel::launch`] for a queued call that is not carried out: what it reads is unusable, or nobody waits for it any
    /// more. For kernels that others outside of the VM wait for.
    fn forgo(&self, reason: &Error) {
        let _ = reason;
    }

    /// Whether it makes calls between processes and waits for them: recordings show those, instead of the kernel.
    fn is_communication(&self) -> bool {
        false
    }
}

/// Where a kernel runs.
#[derive(Debug, Clone, Copy)]
pub struct Context {
    /// The device of its outputs.
    pub device: Device,
    /// The number of the VM's stream: kernels of one stream run one after the other.
    pub stream: u32,
}

/// A tensor as a kernel's argument.
pub type Argument<'a> = Buffer<&'a Arc<Storage>>;

impl<'a> Argument<'a> {
    /// The tensor at this place in a storage, in bytes.
    #[inline]
    pub fn new(storage: &'a Arc<Storage>, byte_offset: usize) -> Self {
        Buffer { storage, byte_offset }
    }

    /// The first element's address in the memory of the storage's device, for reading; memory that is reserved now holds zeros.
    ///
    /// # Errors
    /// [`opforge_core::Error::OutOfMemory`]; [`opforge_core::Error::Device`] for a storage without data.
    #[inline]
    pub fn to_read(&self) -> Result<*const u8> {
        Ok(self.storage.data()?.as_ptr().wrapping_add(self.byte_offset).cast_const())
    }

    /// The same for writing; memory that is reserved now may hold anything.
    ///
    /// # Errors
    /// As [`Argument::to_read`].
    #[inline]
    pub fn to_write(&self) -> Result<*mut u8> {
        Ok(self.storage.data_for_output()?.as_ptr().wrapping_add(self.byte_offset))
    }
}

/// A kernel of the CPU, which is given addresses in main memory.
pub trait HostKernel: Kernel {
    /// As [`Kernel::launch`]. Pointers are to each tensor's first element, its layout's offset applied.
    ///
    /// # Safety
    /// As for [`Kernel::launch`]: each pointer is aligned to its element size and valid for every element of its tensor, of inputs for reads of
    /// initialised memory, of outputs for writes.
    unsafe fn run(&self, inputs: &[*const u8], outputs: &[*mut u8]) -> Result<()>;

    /// As [`Kernel::duration`].
    fn cost(&self) -> u64;

    /// As [`Kernel::arranging`].
    fn prepack(&self) -> Option<Prepack> {
        None
    }

    /// The kernel as one that others can follow rectangle by rectangle of its output, while that is in a cache.
    fn rectangles(&self) -> Option<&dyn Rectangles> {
        None
    }

    /// The kernel as one that computes its output strip by strip, between strips of other kernels.
    fn strips(self: Arc<Self>) -> Option<Arc<dyn Strips>> {
        None
    }
}

/// A kernel of a matrix whose elements are each made of those at the same place in its inputs, of which there are three at most: any part of it can be
/// computed by itself. Inputs come first in arrays of its operands, the output last.
pub trait Strips: Send + Sync {
    /// The matrix's rows and columns. One row may be taken as several.
    fn shape(&self) -> [usize; 2];

    /// Bytes from a row to the next, and from a column to the next, of each operand. Where elements are repeated these are 0.
    fn steps(&self) -> [[isize; 2]; 4];

    /// Computes so many rows and columns, from these addresses on; `rows` are the bytes from a row to the next of each operand.
    ///
    /// # Errors
    /// As [`HostKernel::run`].
    ///
    /// # Safety
    /// As [`HostKernel::run`], for operands of that shape with these steps.
    unsafe fn run_strip(&self, operands: &[*mut u8; 4], shape: [usize; 2], rows: &[isize; 4]) -> Result<()>;
}

/// A kernel whose output, as a contiguous matrix or several below each other, comes into being rectangle by rectangle.
pub trait Rectangles {
    /// How many matrices the output is of, none of whose rectangles reaches into the next, and their rows and columns.
    fn shape(&self) -> [usize; 3];

    /// The rows and columns that rectangles have, the largest of both first.
    fn sizes(&self) -> Vec<[usize; 2]>;

    /// As [`HostKernel::run`]. Whenever the elements of a rectangle are there, calls `then` on the thread that made them, with where it begins, among the
    /// rows of all matrices, and how many rows and columns it has. Together they are the output, and none overlaps another.
    ///
    /// # Errors
    /// The kernel's, and that of `then`.
    ///
    /// # Safety
    /// As [`HostKernel::run`]. `then` may change the rectangle: the kernel neither reads nor writes it afterwards.
    unsafe fn run_then(&self, inputs: &[*const u8], outputs: &[*mut u8], then: Then<'_>) -> Result<()>;
}

/// What is done with a rectangle: where it begins, and its rows and columns.
pub type Then<'a> = &'a (dyn Fn([usize; 2], [usize; 2]) -> Result<()> + Sync);

/// An input arranged once, as a kernel works on it, for all runs in which it holds the same elements.
#[derive(Clone)]
pub struct Prepack {
    /// Which input.
    pub input: usize,
    /// Arranges it: one input, one output.
    pub pack: Arc<dyn HostKernel>,
    /// The bytes of the arrangement.
    pub bytes: usize,
    /// Tells arrangements apart: of one input, those with equal numbers are equal.
    pub arrangement: [usize; 6],
    /// The kernel that reads the arrangement in the input's place; the bits of its results are the same.
    pub kernel: Arc<dyn HostKernel>,
}

impl<K: HostKernel> Kernel for K {
    unsafe fn launch(&self, _: &Context, inputs: &[Argument<'_>], outputs: &[Argument<'_>]) -> Result<()> {
        // SAFETY: arguments are as `launch` demands, for this kernel.
        unsafe { launch_on_host(self, inputs, outputs) }
    }

    fn duration(&self) -> u64 {
        self.cost()
    }

    fn arranging(&self) -> Option<Prepack> {
        self.prepack()
    }
}

/// [`Kernel::launch`] of every kernel of the CPU, compiled once.
///
/// # Safety
/// As [`Kernel::launch`].
unsafe fn launch_on_host(kernel: &dyn HostKernel, inputs: &[Argument<'_>], outputs: &[Argument<'_>]) -> Result<()> {
    // SAFETY: arguments of storages in main memory, at their places.
    unsafe {
        // For the usual few, arrays that are built in place.
        match (inputs, outputs) {
            ([a], [y]) => return kernel.run(&[a.to_read()?], &[y.to_write()?]),
            ([a, b], [y]) => return kernel.run(&[a.to_read()?, b.to_read()?], &[y.to_write()?]),
            _ => {}
        }
    }
    let mut sources = SmallVec::<[*const u8; 8]>::new();
    for input in inputs {
        sources.push(input.to_read()?);
    }
    let mut targets = SmallVec::<[*mut u8; 4]>::new();
    for output in outputs {
        targets.push(output.to_write()?);
    }
    // SAFETY: arguments of storages in main memory, at their places.
    unsafe { kernel.run(&sources, &targets) }
}

/// The kernel for results without elements, which others might go through 2^32 rows of none to make.
pub struct NoKernel;

impl Kernel for NoKernel {
    unsafe fn launch(&self, _: &Context, _: &[Argument<'_>], _: &[Argument<'_>]) -> Result<()> {
        Ok(())
    }

    fn duration(&self) -> u64 {
        0
    }
}
