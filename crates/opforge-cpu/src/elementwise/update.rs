//! Updates: functions that change several tensors in one pass, as an optimizer changes a parameter and its state.

use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;

use opforge_core::{DType, Error, Meta, Result, bf16, f16};
use opforge_runtime::HostKernel;
use opforge_runtime::parallel::parallel_for;

use super::check_dtypes;
use crate::loops::work::GRAIN;
use crate::simd::stored::{StoredFloat, VectorOf};
use crate::simd::{Entry, Float, Isa, Routine, Simd, Vector, resolve};
use opforge_tile::UpdateFn;

/// The kernel of an update. Its inputs are the `N` tensors to be changed, then the one that is only read; its outputs are the `N` changed
/// ones, usually the very same tensors. All are contiguous floats of one shape and dtype.
///
/// # Errors
/// Dtypes that are not floats; dtypes, shapes or numbers of tensors that differ from that; layouts that are not contiguous.
pub fn update<const N: usize, F: UpdateFn<N>>(
    op: &'static str,
    f: F,
    inputs: &[&Meta],
    outputs: &[&Meta],
) -> Result<Arc<dyn HostKernel>> {
    if inputs.len() != N + 1 || outputs.len() != N {
        let given = format!("{} inputs, {} outputs", inputs.len(), outputs.len());
        return Err(Error::value(op, "tensors", given, format!("{} inputs, {N} outputs", N + 1)));
    }
    let first = inputs[0];
    check_dtypes(op, first.dtype, inputs)?;
    check_dtypes(op, first.dtype, outputs)?;
    for meta in inputs.iter().chain(outputs) {
        if meta.shape() != first.shape() || !meta.layout.is_contiguous() {
            let accepted = format!("{:?}, contiguous", first.shape());
            return Err(Error::shape(op, "tensor", format!("{:?}", meta.layout), accepted));
        }
    }
    let len = first.elem_count();
    match first.dtype {
        DType::F16 => Ok(Update::<f16, N, F>::kernel(f, len)),
        DType::BF16 => Ok(Update::<bf16, N, F>::kernel(f, len)),
        DType::F32 => Ok(Update::<f32, N, F>::kernel(f, len)),
        DType::F64 => Ok(Update::<f64, N, F>::kernel(f, len)),
        other => Err(Error::UnsupportedDTypeForOp(other, op)),
    }
}

struct Update<E: StoredFloat, const N: usize, F: UpdateFn<N>> {
    len: usize,
    pass: Pass<E, N, F>,
    entry: Entry<Pass<E, N, F>>,
}

impl<E: StoredFloat, const N: usize, F: UpdateFn<N>> Update<E, N, F> {
    fn kernel(f: F, len: usize) -> Arc<dyn HostKernel> {
        let entry = resolve::<Pass<E, N, F>>(Isa::current());
        Arc::new(Update { len, pass: Pass { f, element: PhantomData }, entry })
    }
}

/// The tensors' first elements.
#[derive(Clone, Copy)]
struct Addresses<E, const N: usize> {
    changed: [*const E; N],
    read: *const E,
    outputs: [*mut E; N],
}

// SAFETY: addresses are numbers; threads use them for disjoint ranges of elements.
unsafe impl<E, const N: usize> Sync for Addresses<E, N> {}

impl<E: StoredFloat, const N: usize, F: UpdateFn<N>> HostKernel for Update<E, N, F> {
    unsafe fn run(&self, inputs: &[*const u8], outputs: &[*mut u8]) -> Result<()> {
        let addresses = Addresses {
            changed: std::array::from_fn(|i| inputs[i].cast::<E>()),
            read: inputs[N].cast(),
            outputs: std::array::from_fn(|i| outputs[i].cast::<E>()),
        };
        parallel_for(self.len, GRAIN, |range| {
            let addresses = &addresses;
            // SAFETY: the tensors are as the caller promises, ranges disjoint; the entry was resolved for this CPU.
            unsafe { (self.entry)(&self.pass, (range, *addresses)) };
        });
        Ok(())
    }

    /// Half a nanosecond an element and changed tensor: what memory takes.
    fn cost(&self) -> u64 {
        20 + (self.len as u64).saturating_mul(N as u64) / 2
    }
}

struct Pass<E, const N: usize, F> {
    f: F,
    element: PhantomData<fn() -> E>,
}

impl<E: StoredFloat, const N: usize, F: UpdateFn<N>> Routine for Pass<E, N, F> {
    type Args = (Range<usize>, Addresses<E, N>);
    type Output = ();

    #[inline(always)]
    unsafe fn run<S: Simd>(&self, (range, Addresses { changed, read, outputs }): Self::Args) {
        let lanes = VectorOf::<E, S>::LANES;
        let mut at = range.start;
        while at < range.end {
            let n = lanes.min(range.end - at);
            // Plain loops: what `array::map` calls is not sure to be inlined.
            let mut values = [VectorOf::<E, S>::splat(0.0); N];
            for i in 0..N {
                // SAFETY: `n` elements from `at` on are within each tensor.
                values[i] = unsafe { load::<E, S>(changed[i].add(at), n) };
            }
            // SAFETY: `n` elements from `at` on are within the tensor that is only read.
            let values = self.f.float(values, unsafe { load::<E, S>(read.add(at), n) });
            for i in 0..N {
                // SAFETY: `n` elements from `at` on are within each output, and no other range writes them.
                unsafe {
                    if n == lanes {
                        E::store::<S>(values[i], outputs[i].add(at));
                    } else {
                        E::store_partial::<S>(values[i], outputs[i].add(at), n);
                    }
                }
            }
            at += lanes;
        }
    }
}

/// # Safety
/// `n` elements are readable, at most a vector's.
#[inline(always)]
unsafe fn load<E: StoredFloat, S: Simd>(from: *const E, n: usize) -> VectorOf<E, S> {
    // SAFETY: `from` has `n` elements: a whole vector, or fewer than one.
    unsafe { if n == VectorOf::<E, S>::LANES { E::load::<S>(from) } else { E::load_partial::<S>(from, n) } }
}
