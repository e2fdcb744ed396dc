//! Programs as kernels of the runtime.

use std::ffi::{c_uint, c_void};
use std::ptr;
use std::sync::OnceLock;

use opforge_core::Result;
use opforge_gpu::kernel::LANES;
use opforge_gpu::{Launch, Memory, Place, Program};
use opforge_runtime::{Argument, Context, Kernel, vm};
use smallvec::SmallVec;

use crate::driver::Address;
use crate::gpu::Gpu;
use crate::memory::Block;
use crate::module::Function;
use crate::status::Status;

/// Blocks of a launch at most: more work is shared by these.
const MOST_BLOCKS: usize = 1 << 16;

/// A program with its compiled kernels.
pub(crate) struct Prepared {
    pub on: &'static Gpu,
    op: &'static str,
    program: Program,
    /// One a launch.
    steps: Vec<Step>,
    /// The program's tables, which the first run uploads.
    tables: OnceLock<Vec<Option<Block>>>,
}

/// What is known of a launch once its kernel is compiled.
struct Step {
    function: Function,
    blocks: c_uint,
    can_fail: bool,
}

impl Step {
    fn of(launch: &Launch, function: Function) -> Self {
        let blocks = if launch.kernel.is_of_groups() { launch.count } else { launch.count.div_ceil(LANES) };
        Step { function, blocks: blocks.clamp(1, MOST_BLOCKS) as c_uint, can_fail: launch.kernel.can_fail() }
    }
}

impl Prepared {
    /// Of a program, and the compiled function of each launch.
    pub fn new(on: &'static Gpu, op: &'static str, program: Program, functions: Vec<Function>) -> Self {
        let steps = program.launches.iter().zip(functions).map(|(launch, function)| Step::of(launch, function));
        Prepared { on, op, steps: steps.collect(), program, tables: OnceLock::new() }
    }

    fn tables(&self) -> Result<&[Option<Block>]> {
        if let Some(tables) = self.tables.get() {
            return Ok(tables);
        }
        let upload = |memory: &Memory| match memory {
            Memory::Space(_) => Ok(None),
            Memory::Table(bytes) => Block::of(self.on, self.op, bytes).map(Some),
        };
        let tables = self.program.scratch.iter().map(upload).collect::<Result<Vec<_>>>()?;
        Ok(self.tables.get_or_init(|| tables))
    }

    /// Memory of the program's own: spaces, which this run has, and tables.
    fn own(&self) -> Result<(Vec<Block>, Vec<Address>)> {
        if self.program.scratch.is_empty() {
            return Ok((Vec::new(), Vec::new()));
        }
        let (mut spaces, mut addresses) = (Vec::new(), Vec::new());
        for (memory, table) in self.program.scratch.iter().zip(self.tables()?) {
            addresses.push(match (memory, table) {
                (_, Some(table)) => table.at,
                (Memory::Space(nbytes), None) => {
                    spaces.push(Block::new(self.on, *nbytes)?);
                    spaces[spaces.len() - 1].at
                }
                (Memory::Table(bytes), None) => {
                    spaces.push(Block::of(self.on, self.op, bytes)?);
                    spaces[spaces.len() - 1].at
                }
            });
        }
        Ok((spaces, addresses))
    }

    /// Hands a launch over to the GPU.
    ///
    /// # Safety
    /// Addresses are those of tensors that the program was made for, and of its own memory.
    unsafe fn issue(
        &self,
        (launch, step): (&Launch, &Step),
        memory: [&[Address]; 3],
        status: Option<Address>,
    ) -> Result<()> {
        let of = |place: &Place| match *place {
            Place::Input(i) => memory[0][i],
            Place::Output(i) => memory[1][i],
            Place::Scratch(i) => memory[2][i],
        };
        let mut addresses: SmallVec<[Address; 8]> = launch.places.iter().map(of).collect();
        if launch.copies && addresses[0] == addresses[1] {
            return Ok(());
        }
        let mut status = status.filter(|_| step.can_fail);
        let mut arguments: SmallVec<[*mut c_void; 10]> = addresses.iter_mut().map(|at| (&raw mut *at).cast()).collect();
        // The driver reads the arguments before it returns, and writes none.
        if !launch.parameters.is_empty() {
            arguments.push(launch.parameters.as_ptr().cast_mut().cast());
        }
        if let Some(status) = &mut status {
            arguments.push((&raw mut *status).cast());
        }
        let lanes = LANES as c_uint;
        // SAFETY: there are as many arguments as the kernel's text has, of its types; the addresses are those that this function demands.
        self.on.checked(self.op, unsafe {
            let launch = self.on.driver.launch;
            launch(
                step.function.0,
                step.blocks,
                1,
                1,
                lanes,
                1,
                1,
                0,
                self.on.stream,
                arguments.as_mut_ptr(),
                ptr::null_mut(),
            )
        })
    }

    /// Hands all launches over, and marks when those that may fail have told.
    ///
    /// # Safety
    /// As [`Prepared::issue`].
    unsafe fn issue_all(&self, memory: [&[Address]; 3], status: Option<&Status>) -> Result<()> {
        let last = self.steps.iter().rposition(|step| step.can_fail);
        for (n, step) in self.program.launches.iter().zip(&self.steps).enumerate() {
            // SAFETY: the addresses are those of the tensors that the program was made for, as `issue_all` demands, and the status has three words.
            unsafe { self.issue(step, memory, status.map(|status| status.at))? };
            if let Some(status) = status.filter(|_| last == Some(n)) {
                status.record(self.on, self.op)?;
            }
        }
        Ok(())
    }

    /// Issues all launches, and waits until those that may fail have run.
    ///
    /// # Safety
    /// As [`Kernel::launch`], of tensors at these addresses.
    pub unsafe fn run(&self, inputs: &[Address], outputs: &[Address]) -> Result<()> {
        self.on.enter(self.op)?;
        let (_spaces, own) = self.own()?;
        let can_fail = self.steps.iter().any(|step| step.can_fail);
        let status = can_fail.then(|| self.on.status(self.op)).transpose()?;
        // SAFETY: the addresses are those of the caller's tensors and of the program's memory.
        let issued = unsafe { self.issue_all([inputs, outputs, &own], status.as_deref()) };
        if let Some(status) = status {
            if issued.is_err() {
                // What was issued may tell still, and the status is the next call's then.
                let _ = self.on.wait(self.op);
                return issued;
            }
            self.program.check(self.op, status.wait(self.on, self.op)?)?;
        }
        issued?;
        // An error is then this call's.
        if vm::is_sync() { self.on.wait(self.op) } else { Ok(()) }
    }
}

impl Kernel for Prepared {
    unsafe fn launch(&self, _: &Context, inputs: &[Argument<'_>], outputs: &[Argument<'_>]) -> Result<()> {
        let read = |x: &Argument<'_>| x.to_read().map(|at| at.addr() as Address);
        let write = |y: &Argument<'_>| y.to_write().map(|at| at.addr() as Address);
        let inputs = inputs.iter().map(read).collect::<Result<SmallVec<[Address; 4]>>>()?;
        let outputs = outputs.iter().map(write).collect::<Result<SmallVec<[Address; 4]>>>()?;
        // SAFETY: arguments are as `launch` demands.
        unsafe { self.run(&inputs, &outputs) }
    }

    fn duration(&self) -> u64 {
        // What a launch takes until it is handed over.
        3_000 * self.program.launches.len() as u64
    }
}
