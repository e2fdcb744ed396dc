//! Programs as kernels of the runtime.

use std::sync::OnceLock;

use opforge_core::Result;
use opforge_gpu::kernel::LANES;
use opforge_gpu::{Launch, Memory, Place, Program};
use opforge_runtime::{Argument, Context, Kernel};

use crate::backend::Wgsl;
use crate::gpu::{Buffer, Compiled, Issued};

/// Groups of a launch at most: more work is shared by these.
const MOST_GROUPS: usize = 1 << 14;

/// A program with its compiled kernels.
pub(crate) struct Prepared {
    pub on: &'static Wgsl,
    pub op: &'static str,
    pub program: Program,
    /// One a launch.
    pub kernels: Vec<Compiled>,
    /// The program's tables, which the first run uploads.
    pub tables: OnceLock<Vec<Option<Buffer>>>,
}

/// A buffer, and the byte where a tensor begins.
type Located = (Buffer, usize);

/// The uniform buffer: each buffer's first element, and the parameters.
fn uniforms(launch: &Launch, at: &[Located]) -> Vec<u8> {
    let of_buffers = at.iter().zip(&launch.kernel.buffers);
    let firsts = of_buffers.map(|((_, offset), buffer)| (offset / buffer.dtype.size_in_bytes()) as u32);
    // The last word is 0.
    let words = firsts.chain(launch.parameters.iter().copied()).chain([0]);
    let mut bytes: Vec<u8> = words.flat_map(u32::to_ne_bytes).collect();
    bytes.resize(bytes.len().next_multiple_of(16), 0);
    bytes
}

impl Prepared {
    fn tables(&self) -> Result<&[Option<Buffer>]> {
        if let Some(tables) = self.tables.get() {
            return Ok(tables);
        }
        let upload = |memory: &Memory| match memory {
            Memory::Space(_) => Ok(None),
            Memory::Table(bytes) => {
                let buffer = self.on.gpu.buffer(bytes.len())?;
                let mut words = bytes.to_vec();
                words.resize(buffer.size(), 0);
                self.on.gpu.write(self.op, &buffer, 0, &words)?;
                Ok(Some(buffer))
            }
        };
        let tables = self.program.scratch.iter().map(upload).collect::<Result<Vec<_>>>()?;
        Ok(self.tables.get_or_init(|| tables))
    }

    /// A launch with its buffers.
    fn issued(
        &self,
        (launch, kernel): (&Launch, Compiled),
        memory: [&[Located]; 3],
        status: Option<&Buffer>,
    ) -> Issued {
        let of = |place: &Place| match *place {
            Place::Input(i) => memory[0][i].clone(),
            Place::Output(i) => memory[1][i].clone(),
            Place::Scratch(i) => memory[2][i].clone(),
        };
        let at: Vec<Located> = launch.places.iter().map(of).collect();
        let groups = if launch.kernel.is_of_groups() { launch.count } else { launch.count.div_ceil(LANES) };
        Issued {
            kernel,
            uniforms: uniforms(launch, &at),
            buffers: at.into_iter().map(|(buffer, _)| buffer).collect(),
            status: status.filter(|_| launch.kernel.can_fail()).cloned(),
            groups: groups.clamp(1, MOST_GROUPS) as u32,
        }
    }

    /// Runs all launches, and waits for those that may fail.
    fn run(&self, inputs: &[Located], outputs: &[Located]) -> Result<()> {
        let own = |(memory, table): (&Memory, &Option<Buffer>)| match (memory, table) {
            (_, Some(table)) => Ok((table.clone(), 0)),
            (Memory::Space(nbytes), _) => Ok((self.on.gpu.buffer(*nbytes)?, 0)),
            (Memory::Table(bytes), _) => Ok((self.on.gpu.buffer(bytes.len())?, 0)),
        };
        let own = self.program.scratch.iter().zip(self.tables()?).map(own).collect::<Result<Vec<Located>>>()?;
        let fails = self.program.launches.iter().any(|launch| launch.kernel.can_fail());
        // New buffers are of zeros.
        let status = if fails { Some(self.on.gpu.buffer(16)?) } else { None };
        let launches = self.program.launches.iter().zip(self.kernels.iter().copied());
        let issued = launches.map(|launch| self.issued(launch, [inputs, outputs, &own], status.as_ref()));
        self.on.gpu.run(self.op, &issued.collect::<Vec<_>>())?;
        self.on.tidy();
        let Some(status) = status else { return Ok(()) };
        let bytes = self.on.gpu.read(&status, 0, 12)?;
        let word = |i: usize| u32::from_ne_bytes([bytes[4 * i], bytes[4 * i + 1], bytes[4 * i + 2], bytes[4 * i + 3]]);
        self.program.check(self.op, [word(0), word(1), word(2)])
    }
}

impl Drop for Prepared {
    fn drop(&mut self) {
        // Compiled kernels stay with the backend.
        self.on.retire(self.tables.take().into_iter().flatten().flatten());
    }
}

impl Kernel for Prepared {
    unsafe fn launch(&self, _: &Context, inputs: &[Argument<'_>], outputs: &[Argument<'_>]) -> Result<()> {
        let place = |address: usize| self.on.places.find(address);
        let inputs = inputs.iter().map(|x| place(x.to_read()?.addr())).collect::<Result<Vec<_>>>()?;
        let outputs = outputs.iter().map(|y| place(y.to_write()?.addr())).collect::<Result<Vec<_>>>()?;
        self.run(&inputs, &outputs)
    }

    fn duration(&self) -> u64 {
        // What a launch takes until it is handed over.
        20_000 * self.program.launches.len() as u64
    }
}
