//! Attention of halves, and its gradients, in kernels whose scores need not reach memory: cuDNN's where they are worth a plan, else our own (`flash.rs`).

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use opforge::operator::Lowering;
use opforge::{DType, Meta, Result};
use opforge_runtime::{Argument, Context, Kernel, vm};
use opforge_tile::forms::Attention;

use crate::backend::Cuda;
use crate::cudnn::{self, AttentionProblem, numbers};
use crate::driver::Address;
use crate::flash::Flash;
use crate::product::batch;

/// Multiplications of queries and keys from which on attention is cuDNN's.
static LEAST_OF_CUDNN: AtomicUsize = AtomicUsize::new(1 << 32);

/// Sets from how many multiplications of queries and keys on attention of halves is cuDNN's, where that is there; at first `2^32`. Its kernels are about
/// twice as fast as ours, but their plan takes some 70 ms for each new shape, and a second for the first of a kind. Calls like those before keep the kernels
/// that they have.
pub fn set_least_attention_of_cudnn(multiplications: usize) {
    LEAST_OF_CUDNN.store(multiplications, Ordering::Relaxed);
}

/// Queries of a head from which on most rows of a block are of use; fewer are the products' business.
const LEAST_QUERIES: usize = 16;

/// The bytes of elements that are copied at once, to which rows are aligned, and how many elements these are.
pub(crate) const CHUNK: usize = 16;
const CHUNK_LEN: usize = 8;

/// A call: tensors `[batches, heads, rows, columns]`, with their strides of the first three dimensions; those of columns are 1.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub form: Attention,
    pub dtype: DType,
    pub batches: usize,
    pub heads: usize,
    /// How many heads of queries share one of keys.
    pub group: usize,
    pub queries: usize,
    pub keys: usize,
    /// The columns of queries and keys, and of values.
    pub width: usize,
    pub size: usize,
    pub q: [usize; 3],
    pub k: [usize; 3],
    pub v: [usize; 3],
    /// Those of the result's gradient, if there is one.
    pub grad: [usize; 3],
}

impl Call {
    /// The call; none where it is one that such kernels do not take.
    fn of(form: &Attention, inputs: &[&Meta], outputs: &[&Meta]) -> Option<Call> {
        let (&[q, k, v], rest) = inputs.split_first_chunk()?;
        let grad = match (rest, form.gradient) {
            (&[], false) => q,
            (&[grad], true) => grad,
            _ => return None,
        };
        let rank = q.rank();
        let [queries, width] = [q.dims()[rank - 2], q.dims()[rank - 1]];
        let [keys, size] = [v.dims()[rank - 2], v.dims()[rank - 1]];
        let is_taken = matches!(q.dtype, DType::F16 | DType::BF16)
            && inputs.iter().chain(outputs).all(|meta| meta.dtype == q.dtype)
            && outputs.iter().all(|output| output.layout.is_contiguous())
            && [width, size].iter().all(|len| *len <= 128 && len.is_multiple_of(CHUNK_LEN))
            && queries >= LEAST_QUERIES
            // Weights are relative to the greatest product, which is the greatest score only where they are above 0.
            && form.scale.to_f64() > 0.0;
        if !is_taken {
            return None;
        }
        let (heads, outer) = q.dims()[..rank - 2].split_last().map_or((1, &[][..]), |(&heads, outer)| (heads, outer));
        let steps = |of: [&Meta; 3]| batch(outer, of.map(|meta| &meta.layout.stride()[..outer.len()]));
        let ((batches, [of_q, of_k, of_v]), (_, [.., of_grad])) = (steps([q, k, v])?, steps([q, k, grad])?);
        let shared_heads = if rank > 2 { k.dims()[rank - 3] } else { 1 };
        Some(Call {
            form: *form,
            dtype: q.dtype,
            batches,
            heads,
            group: heads / shared_heads,
            queries,
            keys,
            width,
            size,
            q: strides(q, of_q)?,
            k: strides(k, of_k)?,
            v: strides(v, of_v)?,
            grad: strides(grad, of_grad)?,
        })
    }

    /// The call as cuDNN is told it; none where a tensor repeats its elements.
    fn for_cudnn(&self) -> Option<AttentionProblem> {
        let number = |n: usize| i64::try_from(n).ok();
        let shared_heads = self.heads / self.group;
        // The stride of a dimension of one element is as good as any.
        let strides = |[batch, head, row]: [usize; 3], heads: usize, rows: usize| {
            let row = if rows == 1 { CHUNK_LEN } else { row };
            let head = if heads == 1 { rows * row } else { head };
            let batch = if self.batches == 1 { heads * head } else { batch };
            let repeats = [batch, head, row].contains(&0);
            if repeats { None } else { Some([number(batch)?, number(head)?, number(row)?]) }
        };
        Some(AttentionProblem {
            dtype: numbers(self.dtype)?.0,
            batches: number(self.batches)?,
            heads: number(self.heads)?,
            shared_heads: number(shared_heads)?,
            queries: number(self.queries)?,
            keys: number(self.keys)?,
            width: number(self.width)?,
            size: number(self.size)?,
            q: strides(self.q, self.heads, self.queries)?,
            k: strides(self.k, shared_heads, self.keys)?,
            v: strides(self.v, shared_heads, self.keys)?,
            grad: strides(self.grad, self.heads, self.queries)?,
            causal: self.form.causal,
            gradient: self.form.gradient,
            scale: self.form.scale.to_f64() as f32,
        })
    }

    fn multiplications(&self) -> usize {
        [self.heads, self.queries, self.width, self.keys].iter().fold(self.batches, |all, n| all.saturating_mul(*n))
    }
}

/// The strides of a tensor `[.., heads, rows, columns]`; none where rows are not dense, or not aligned to chunks.
fn strides(meta: &Meta, batch: usize) -> Option<[usize; 3]> {
    let (rank, dims, strides) = (meta.rank(), meta.dims(), meta.layout.stride());
    let step = |d: usize| if dims[d] == 1 { 0 } else { strides[d] };
    let steps = [batch, if rank > 2 { step(rank - 3) } else { 0 }, step(rank - 2)];
    let is_taken = strides[rank - 1] == 1 && steps.iter().all(|step| step.is_multiple_of(CHUNK_LEN));
    is_taken.then_some(steps)
}

/// Whose kernels they are.
enum Way {
    Ours(Flash),
    Cudnn(&'static cudnn::Dnn, cudnn::Attention),
}

/// The kernel of a call.
struct Fused {
    on: &'static Cuda,
    op: &'static str,
    way: Way,
    /// For tensors that do not begin where the kernel can copy from: what it was made for, and the kernel for these.
    form: Attention,
    metas: [Vec<Meta>; 2],
    unaligned: OnceLock<Arc<dyn Kernel>>,
}

impl Cuda {
    /// The kernel of attention, or of its gradients, that has no scores in memory, where the call is one that it takes.
    pub fn fused_attention(
        &'static self,
        op: &'static str,
        form: Attention,
        inputs: &[&Meta],
        outputs: &[&Meta],
    ) -> Option<Result<Arc<dyn Kernel>>> {
        let call = Call::of(&form, inputs, outputs)?;
        let way = match self.attention_of_cudnn(op, &call) {
            Some(way) => way,
            None => match self.flash(op, &call)? {
                Ok(flash) => Way::Ours(flash),
                Err(error) => return Some(Err(error)),
            },
        };
        let metas = [inputs, outputs].map(|metas| metas.iter().map(|&meta| meta.clone()).collect());
        Some(Ok(Arc::new(Fused { on: self, op, way, form, metas, unaligned: OnceLock::new() })))
    }

    fn attention_of_cudnn(&'static self, op: &'static str, call: &Call) -> Option<Way> {
        if call.multiplications() < LEAST_OF_CUDNN.load(Ordering::Relaxed) {
            return None;
        }
        let (problem, dnn) = (call.for_cudnn()?, self.dnn()?);
        Some(Way::Cudnn(dnn, dnn.attention(self.gpu, op, &problem)?))
    }
}

impl Fused {
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

impl Kernel for Fused {
    unsafe fn launch(&self, context: &Context, inputs: &[Argument<'_>], outputs: &[Argument<'_>]) -> Result<()> {
        let read = |x: &Argument<'_>| x.to_read().map(|at| at.addr() as Address);
        let write = |y: &Argument<'_>| y.to_write().map(|at| at.addr() as Address);
        let reads = inputs.iter().map(read).collect::<Result<Vec<_>>>()?;
        let writes = outputs.iter().map(write).collect::<Result<Vec<_>>>()?;
        if reads.iter().chain(&writes).any(|at| !at.is_multiple_of(CHUNK as Address)) {
            // SAFETY: that kernel was made for the same tensors, wherever they begin.
            return unsafe { self.unaligned()?.launch(context, inputs, outputs) };
        }
        let gpu = self.on.gpu;
        gpu.enter(self.op)?;
        // SAFETY: the tensors are those that the kernel was made for, as `launch` demands, and aligned.
        unsafe {
            match &self.way {
                Way::Ours(flash) => flash.issue((gpu, self.op), [&reads, &writes])?,
                Way::Cudnn(dnn, attention) => dnn.attend((gpu, self.op), attention, [&reads, &writes])?,
            }
        }
        if vm::is_sync() { gpu.wait(self.op) } else { Ok(()) }
    }

    fn duration(&self) -> u64 {
        match &self.way {
            Way::Ours(flash) => flash.duration(),
            Way::Cudnn(..) => 8_000,
        }
    }
}
