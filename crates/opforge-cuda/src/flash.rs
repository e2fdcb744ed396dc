//! Attention of halves, and its gradients, in kernels that are written in CUDA C, whose scores stay in registers: `kernels/`.

use std::ffi::{c_int, c_uint, c_void};
use std::ptr;
use std::sync::{Arc, OnceLock};

use opforge::operator::Lowering;
use opforge::{DType, Meta, Result};
use opforge_gpu::Place::{self, Input, Output, Scratch};
use opforge_runtime::{Argument, Context, Kernel, vm};
use opforge_tile::forms::Attention;

use crate::backend::Cuda;
use crate::driver::{Address, DYNAMIC_SHARED_MEMORY};
use crate::memory::Block;
use crate::module::Function;
use crate::product::batch;

/// What stands before every source.
const COMMON: &str = concat!(include_str!("kernels/warp.h"), include_str!("kernels/tiles.h"));

/// Threads of a block, and rows of a tile, as the sources have them.
const THREADS: usize = 128;
const TILE: usize = 64;

/// Bytes of a block's shared memory beside its tiles, and how many these are.
const BESIDE: usize = 1024;
const TILES: usize = 6;

/// Queries of a head from which on most rows of a block are of use; fewer are the products' business.
const LEAST_QUERIES: usize = 16;

/// The bytes of elements that are copied at once, to which rows are aligned, and how many elements these are.
const CHUNK: usize = 16;
const CHUNK_LEN: usize = 8;

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

/// The kernel of a call.
struct Flash {
    on: &'static Cuda,
    op: &'static str,
    launches: Vec<Launch>,
    /// Bytes of a block's shared memory, and of the rows' sums.
    shared: usize,
    sums: usize,
    /// For tensors that do not begin where the kernel can copy from: what it was made for, and the kernel of products.
    form: Attention,
    metas: [Vec<Meta>; 2],
    unaligned: OnceLock<Arc<dyn Kernel>>,
}

impl Cuda {
    /// The kernel of attention, or of its gradients, that has no scores in memory, where the call is one that it takes.
    pub fn flash(
        &'static self,
        op: &'static str,
        form: Attention,
        inputs: &[&Meta],
        outputs: &[&Meta],
    ) -> Option<Result<Arc<dyn Kernel>>> {
        let (problem, batches) = problem(&form, inputs, outputs)?;
        let columns = if problem.width.max(problem.size) <= 64 { 64 } else { 128 };
        let shared = TILES * TILE * columns * 2 + BESIDE;
        let properties = &self.gpu.properties;
        if properties.capability < (8, 0) || properties.shared_memory < shared {
            return None;
        }
        let is_bfloat = inputs[0].dtype == DType::BF16;
        let sources = if form.gradient { &GRADIENTS[..] } else { &[FORWARD] };
        let mut launches = Vec::new();
        for source in sources {
            let (problem, blocks) = problem.shared_out(source, batches)?;
            match self.with_shared_memory(op, source.whole(columns, is_bfloat, form.causal), shared) {
                Ok(function) => launches.push(Launch { function, places: source.places, problem, blocks }),
                Err(error) => return Some(Err(error)),
            }
        }
        let metas = [inputs, outputs].map(|metas| metas.iter().map(|&meta| meta.clone()).collect());
        let rows = if form.gradient { batches * problem.heads as usize * problem.queries as usize } else { 0 };
        let (sums, unaligned) = (rows * 2 * size_of::<f32>(), OnceLock::new());
        Some(Ok(Arc::new(Flash { on: self, op, launches, shared, sums, form, metas, unaligned })))
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

/// What kernels are told, and the number of batches; none for what they do not take.
fn problem(form: &Attention, inputs: &[&Meta], outputs: &[&Meta]) -> Option<(Problem, usize)> {
    let (&[q, k, v], rest) = inputs.split_first_chunk()?;
    let grad = match (rest, form.gradient) {
        (&[], false) => q,
        (&[grad], true) => grad,
        _ => return None,
    };
    let rank = q.rank();
    let [queries, width] = [q.dims()[rank - 2], q.dims()[rank - 1]];
    let [keys, size] = [v.dims()[rank - 2], v.dims()[rank - 1]];
    // Exponents are of 2. Weights are relative to the greatest product, which is the greatest score only where they are above 0.
    let scale = (form.scale.to_f64() * std::f64::consts::LOG2_E) as f32;
    let is_taken = matches!(q.dtype, DType::F16 | DType::BF16)
        && inputs.iter().chain(outputs).all(|meta| meta.dtype == q.dtype)
        && outputs.iter().all(|output| output.layout.is_contiguous())
        && [width, size].iter().all(|len| *len <= 128 && len.is_multiple_of(CHUNK_LEN))
        && queries >= LEAST_QUERIES
        && scale > 0.0
        && scale.is_normal();
    if !is_taken {
        return None;
    }
    let (heads, outer) = q.dims()[..rank - 2].split_last().map_or((1, &[][..]), |(&heads, outer)| (heads, outer));
    let steps = |of: [&Meta; 3]| batch(outer, of.map(|meta| &meta.layout.stride()[..outer.len()]));
    let ((batches, [of_q, of_k, of_v]), (_, [.., of_grad])) = (steps([q, k, v])?, steps([q, k, grad])?);
    let shared_heads = if rank > 2 { k.dims()[rank - 3] } else { 1 };
    // Tiles reach beyond the last row.
    let number = |n: usize| c_int::try_from(n).ok().filter(|n| *n < c_int::MAX - 2 * TILE as c_int);
    let problem = Problem {
        q: stride(q, of_q)?,
        k: stride(k, of_k)?,
        v: stride(v, of_v)?,
        grad: stride(grad, of_grad)?,
        queries: number(queries)?,
        keys: number(keys)?,
        width: number(width)?,
        size: number(size)?,
        heads: number(heads)?,
        group: number(heads / shared_heads)?,
        tiles: 0,
        scale,
    };
    Some((problem, batches))
}

/// The strides of a tensor `[.., heads, rows, columns]`; none where rows are not dense, or not aligned to chunks.
fn stride(meta: &Meta, batch: usize) -> Option<Stride> {
    let (rank, dims, strides) = (meta.rank(), meta.dims(), meta.layout.stride());
    let step = |d: usize| if dims[d] == 1 { 0 } else { strides[d] };
    let steps = [batch, if rank > 2 { step(rank - 3) } else { 0 }, step(rank - 2)];
    let is_taken = strides[rank - 1] == 1 && steps.iter().all(|step| step.is_multiple_of(CHUNK_LEN));
    let [batch, head, row] = steps.map(|step| step as i64);
    is_taken.then_some(Stride { batch, head, row })
}

impl Flash {
    /// Hands a launch over to the GPU.
    ///
    /// # Safety
    /// The addresses are those of tensors that the kernel was made for, aligned to chunks, and of room for the sums.
    unsafe fn issue(&self, launch: &Launch, [inputs, outputs, own]: [&[Address]; 3]) -> Result<()> {
        let (gpu, mut problem) = (self.on.gpu, launch.problem);
        let of = |place: &Place| match *place {
            Input(i) => inputs[i],
            Output(i) => outputs[i],
            Scratch(i) => own[i],
        };
        let mut addresses: Vec<Address> = launch.places.iter().map(of).collect();
        let mut arguments: Vec<*mut c_void> = addresses.iter_mut().map(|at| (&raw mut *at).cast()).collect();
        arguments.push((&raw mut problem).cast());
        let (threads, shared) = (THREADS as c_uint, self.shared as c_uint);
        // SAFETY: these are the arguments of the source's `kernel`, of its types, which the driver reads before it returns; the memory is the caller's.
        gpu.checked(self.op, unsafe {
            let (issue, at) = (gpu.driver.launch, arguments.as_mut_ptr());
            issue(launch.function.0, launch.blocks, 1, 1, threads, 1, 1, shared, gpu.stream, at, ptr::null_mut())
        })
    }

    /// The kernel for tensors that begin anywhere.
    fn unaligned(&self) -> Result<&Arc<dyn Kernel>> {
        if let Some(kernel) = self.unaligned.get() {
            return Ok(kernel);
        }
        let [inputs, outputs] = self.metas.each_ref().map(|metas| metas.iter().collect::<Vec<_>>());
        let products = self.on.attention_by_products(self.op, self.form, &inputs, &outputs);
        let lowering = Lowering::Attention(self.form);
        let written = || Ok(Arc::new(self.on.written(self.op, &lowering, &inputs, &outputs)?) as Arc<dyn Kernel>);
        let kernel = products.unwrap_or_else(written)?;
        Ok(self.unaligned.get_or_init(|| kernel))
    }
}

impl Kernel for Flash {
    unsafe fn launch(&self, context: &Context, inputs: &[Argument<'_>], outputs: &[Argument<'_>]) -> Result<()> {
        let read = |x: &Argument<'_>| x.to_read().map(|at| at.addr() as Address);
        let write = |y: &Argument<'_>| y.to_write().map(|at| at.addr() as Address);
        let reads = inputs.iter().map(read).collect::<Result<Vec<_>>>()?;
        let writes = outputs.iter().map(write).collect::<Result<Vec<_>>>()?;
        if reads.iter().chain(&writes).any(|at| !at.is_multiple_of(CHUNK as Address)) {
            // SAFETY: that kernel was made for the same tensors, wherever they begin.
            return unsafe { self.unaligned()?.launch(context, inputs, outputs) };
        }
        self.on.gpu.enter(self.op)?;
        let sums = if self.sums > 0 { Some(Block::new(self.on.gpu, self.sums)?) } else { None };
        let own: Vec<Address> = sums.iter().map(|block| block.at).collect();
        for launch in &self.launches {
            // SAFETY: the tensors are those that the kernel was made for, as `launch` demands, and the block has as many bytes as there are sums.
            unsafe { self.issue(launch, [&reads, &writes, &own])? };
        }
        if vm::is_sync() { self.on.gpu.wait(self.op) } else { Ok(()) }
    }

    fn duration(&self) -> u64 {
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
