//! Attention of halves, and its gradients, in kernels that are written in CUDA C, whose scores stay in registers: `kernels/`.

use std::ffi::{c_int, c_uint, c_void};
use std::ptr;

use opforge::{DType, Result};
use opforge_gpu::Place::{self, Input, Output, Scratch};

use crate::backend::Cuda;
use crate::driver::{Address, DYNAMIC_SHARED_MEMORY};
use crate::fused::Call;
use crate::gpu::Gpu;
use crate::memory::Block;
use crate::module::Function;

/// What stands before every source.
const COMMON: &str = concat!(include_str!("kernels/warp.h"), include_str!("kernels/tiles.h"));

/// Threads of a block, and rows of a tile, as the sources have them.
const THREADS: usize = 128;
const TILE: usize = 64;

/// Bytes of a block's shared memory beside its tiles, and how many these are.
const BESIDE: usize = 1024;
const TILES: usize = 6;

/// A kernel in CUDA C.
struct Source {
    text: &'static str,
    /// How many rows, of queries or of keys, a block makes.
    rows: usize,
    of_keys: bool,
    /// Its arguments before the problem.
    places: &'static [Place],
}

const FORWARD: Source = Source {
    text: include_str!("kernels/flash_attention.cu"),
    rows: 2 * TILE,
    of_keys: false,
    places: &[Input(0), Input(1), Input(2), Output(0)],
};

/// The first writes sums of each row, which the second reads.
const GRADIENTS: [Source; 2] = [
    Source {
        text: include_str!("kernels/flash_queries.cu"),
        rows: TILE,
        of_keys: false,
        places: &[Input(0), Input(1), Input(2), Input(3), Output(0), Scratch(0)],
    },
    Source {
        text: include_str!("kernels/flash_keys.cu"),
        rows: TILE,
        of_keys: true,
        places: &[Input(0), Input(1), Input(2), Input(3), Output(1), Output(2), Scratch(0)],
    },
];

impl Source {
    /// The whole text, of tiles of so many columns.
    fn whole(&self, columns: usize, is_bfloat: bool, is_causal: bool) -> String {
        let [is_bfloat, is_causal] = [is_bfloat, is_causal].map(u8::from);
        let defined = format!("#define WIDTH {columns}\n#define BFLOAT {is_bfloat}\n#define CAUSAL {is_causal}\n");
        defined + COMMON + self.text
    }
}

/// Strides in elements, as the sources have them.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stride {
    batch: i64,
    head: i64,
    row: i64,
}

/// What kernels are told, as the sources have it.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq)]
struct Problem {
    q: Stride,
    k: Stride,
    v: Stride,
    grad: Stride,
    queries: c_int,
    keys: c_int,
    width: c_int,
    size: c_int,
    heads: c_int,
    group: c_int,
    tiles: c_int,
    /// In exponents of 2.
    scale: f32,
}

/// A launch of a source's kernel.
struct Launch {
    function: Function,
    places: &'static [Place],
    problem: Problem,
    blocks: c_uint,
}

/// The kernels of a call.
pub(crate) struct Flash {
    launches: Vec<Launch>,
    /// Bytes of a block's shared memory, and of the rows' sums.
    shared: usize,
    sums: usize,
}

impl Cuda {
    /// The kernels of a call, where the GPU has what they need.
    pub fn flash(&'static self, op: &'static str, call: &Call) -> Option<Result<Flash>> {
        let problem = Problem::of(call)?;
        let columns = if call.width.max(call.size) <= 64 { 64 } else { 128 };
        let shared = TILES * TILE * columns * 2 + BESIDE;
        let properties = &self.gpu.properties;
        if properties.capability < (8, 0) || properties.shared_memory < shared {
            return None;
        }
        let sources = if call.form.gradient { &GRADIENTS[..] } else { &[FORWARD] };
        let mut launches = Vec::new();
        for source in sources {
            let (problem, blocks) = problem.shared_out(source, call.batches)?;
            let text = source.whole(columns, call.dtype == DType::BF16, call.form.causal);
            match self.with_shared_memory(op, text, shared) {
                Ok(function) => launches.push(Launch { function, places: source.places, problem, blocks }),
                Err(error) => return Some(Err(error)),
            }
        }
        let rows = if call.form.gradient { call.batches * call.heads * call.queries } else { 0 };
        Some(Ok(Flash { launches, shared, sums: rows * 2 * size_of::<f32>() }))
    }

    /// The function of a text whose blocks have so many bytes of dynamic shared memory.
    fn with_shared_memory(&self, op: &'static str, text: String, nbytes: usize) -> Result<Function> {
        let function = self.function_of(op, text.into())?;
        self.gpu.enter(op)?;
        let set = self.gpu.driver.function_set;
        // SAFETY: the function is loaded, and never unloaded.
        self.gpu.checked(op, unsafe { set(function.0, DYNAMIC_SHARED_MEMORY, nbytes as c_int) })?;
        Ok(function)
    }
}

impl Problem {
    /// What kernels are told; none for what they do not take.
    fn of(call: &Call) -> Option<Problem> {
        // Exponents are of 2.
        let scale =
            Some((call.form.scale.to_f64() * std::f64::consts::LOG2_E) as f32).filter(|scale| scale.is_normal())?;
        // Tiles reach beyond the last row.
        let number = |n: usize| c_int::try_from(n).ok().filter(|n| *n < c_int::MAX - 2 * TILE as c_int);
        let stride = |all: [usize; 3]| {
            let [batch, head, row] = all.map(|step| step as i64);
            Stride { batch, head, row }
        };
        Some(Problem {
            q: stride(call.q),
            k: stride(call.k),
            v: stride(call.v),
            grad: stride(call.grad),
            queries: number(call.queries)?,
            keys: number(call.keys)?,
            width: number(call.width)?,
            size: number(call.size)?,
            heads: number(call.heads)?,
            group: number(call.group)?,
            tiles: 0,
            scale,
        })
    }

    /// What a source's kernel is told, and the number of its blocks.
    fn shared_out(mut self, source: &Source, batches: usize) -> Option<(Problem, c_uint)> {
        let (rows, heads) =
            if source.of_keys { (self.keys, self.heads / self.group) } else { (self.queries, self.heads) };
        let tiles = (rows as usize).div_ceil(source.rows);
        self.tiles = c_int::try_from(tiles).ok()?;
        let blocks = batches.checked_mul(heads as usize)?.checked_mul(tiles)?;
        Some((self, c_int::try_from(blocks).ok()? as c_uint))
    }
}

impl Flash {
    /// Hands a launch over to the GPU.
    ///
    /// # Safety
    /// The addresses are those of tensors that the kernel was made for, aligned to chunks, and of room for the sums.
    unsafe fn hand_over(
        &self,
        (gpu, op): (&Gpu, &'static str),
        launch: &Launch,
        [inputs, outputs, own]: [&[Address]; 3],
    ) -> Result<()> {
        let mut problem = launch.problem;
        let of = |place: &Place| match *place {
            Input(i) => inputs[i],
            Output(i) => outputs[i],
            Scratch(i) => own[i],
        };
        let mut addresses: Vec<Address> = launch.places.iter().map(of).collect();
        let mut arguments: Vec<*mut c_void> = addresses.iter_mut().map(|at| (&raw mut *at).cast()).collect();
        arguments.push((&raw mut problem).cast());
        let (threads, shared) = (THREADS as c_uint, self.shared as c_uint);
        // SAFETY: these are the arguments of the source's `kernel`, of its types, which the driver reads before it returns; the addresses are those that this function demands.
        gpu.checked(op, unsafe {
            let (issue, at) = (gpu.driver.launch, arguments.as_mut_ptr());
            issue(launch.function.0, launch.blocks, 1, 1, threads, 1, 1, shared, gpu.stream, at, ptr::null_mut())
        })
    }

    /// Hands all launches over to the GPU.
    ///
    /// # Safety
    /// The addresses are those of tensors that the kernels were made for, aligned to chunks.
    pub unsafe fn issue(
        &self,
        (gpu, op): (&'static Gpu, &'static str),
        [reads, writes]: [&[Address]; 2],
    ) -> Result<()> {
        let sums = if self.sums > 0 { Some(Block::new(gpu, self.sums)?) } else { None };
        let own: Vec<Address> = sums.iter().map(|block| block.at).collect();
        // SAFETY: the tensors are the caller's promise, and the block has as many bytes as there are sums.
        self.launches.iter().try_for_each(|launch| unsafe { self.hand_over((gpu, op), launch, [reads, writes, &own]) })
    }

    pub fn duration(&self) -> u64 {
        5_000 * self.launches.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::{FORWARD, GRADIENTS};
    use crate::compiler::Compiler;

    #[test]
    fn sources_compile_where_there_is_a_compiler() {
        let compiler = match Compiler::get() {
            Ok(compiler) => compiler,
            Err(missing) => return eprintln!("skipped: {missing}"),
        };
        for source in GRADIENTS.iter().chain([&FORWARD]) {
            for (columns, is_bfloat, is_causal) in [(64, false, false), (128, true, true)] {
                let text = opforge_gpu::print::cuda_prelude() + &source.whole(columns, is_bfloat, is_causal);
                for architecture in ["sm_80", "sm_90"] {
                    let code = compiler.compile("test", &text, architecture).expect("code");
                    assert!(code.len() > 1000, "{} bytes are no program", code.len());
                }
            }
        }
    }
}
