//! Elements of cases' inputs, and tensors of bytes.

use std::ops::Range;

use opforge::{DType, Layout, Result, Shape, Tensor};
use opforge_runtime::{Storage, vm};

/// Random elements within a range, as bytes; the same for the same seed. Integers are whole numbers within it, not negative where they cannot be.
pub(super) fn random(dtype: DType, count: usize, range: &Range<f64>, seed: u64) -> Result<Vec<u8>> {
    let mut state = seed;
    let (start, end) = match dtype {
        DType::Bool => (0.0, 2.0),
        DType::U8 | DType::U16 | DType::U32 | DType::U64 => (range.start.max(0.0), range.end.max(1.0)),
        _ => (range.start, range.end),
    };
    let is_whole = dtype.is_int() || dtype == DType::Bool;
    let element = |_| {
        let value = start + uniform(&mut state) * (end - start);
        if is_whole { value.floor() } else { value }
    };
    let values: Vec<f64> = (0..count).map(element).collect();
    bytes(&Tensor::from_vec(values, count, &opforge::Device::Cpu)?.to_dtype(dtype)?)
}

/// From 0 to 1, by the generator SplitMix64 (Steele, Lea and Flood 2014).
fn uniform(state: &mut u64) -> f64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^= z >> 31;
    (z >> 11) as f64 / (1u64 << 53) as f64
}

/// A tensor's elements in row-major order.
pub(super) fn bytes(tensor: &Tensor) -> Result<Vec<u8>> {
    let dense = tensor.contiguous()?;
    let size = dense.dtype().size_in_bytes();
    let start = dense.layout().start_offset() * size;
    vm::read(dense.storage())?.to_vec::<u8>(start, dense.elem_count() * size)
}

/// A tensor of elements in row-major order.
pub(super) fn tensor(bytes: &[u8], shape: &[usize], dtype: DType) -> Result<Tensor> {
    Tensor::over_storage(Storage::from_bytes(bytes)?, dtype, Layout::contiguous(Shape::from(shape)))
}
