//! Elements as bytes.

use opforge::{DType, Device, Meta, Result, Tensor, bf16, f16};

/// Words after the elements, which nobody may change.
const GUARD: [u64; 64] = [0x5ca1_ab1e_0dd5_eed5; 64];

/// Memory that is aligned for every dtype.
#[derive(Clone)]
pub struct Bytes {
    words: Vec<u64>,
}

impl Bytes {
    pub fn zeros(nbytes: usize) -> Self {
        let mut words = vec![0; nbytes.div_ceil(8)];
        words.extend(GUARD);
        Bytes { words }
    }

    /// Whether nothing was written after the elements.
    pub fn is_intact(&self) -> bool {
        self.words.ends_with(&GUARD)
    }

    pub fn for_layout(meta: &Meta) -> Self {
        Self::zeros(meta.layout.span() * meta.dtype.size_in_bytes())
    }

    /// The elements of a contiguous tensor.
    pub fn of(tensor: &Tensor) -> Result<Self> {
        Device::Cpu.synchronize()?;
        let nbytes = tensor.elem_count() * tensor.dtype().size_in_bytes();
        let mut bytes = Self::zeros(nbytes);
        let from = tensor
            .storage()
            .data()?
            .as_ptr()
            .wrapping_add(tensor.layout().start_offset() * tensor.dtype().size_in_bytes());
        // SAFETY: the tensor is contiguous, its storage holds all its elements, and nothing that was issued is running any more.
        unsafe { bytes.as_mut_ptr().copy_from_nonoverlapping(from, nbytes) };
        Ok(bytes)
    }

    pub fn as_ptr(&self) -> *const u8 {
        self.words.as_ptr().cast()
    }

    pub fn as_mut_ptr(&mut self) -> *mut u8 {
        self.words.as_mut_ptr().cast()
    }

    /// The first element of a tensor.
    pub fn first(&self, meta: &Meta) -> *const u8 {
        self.as_ptr().wrapping_add(meta.layout.start_offset() * meta.dtype.size_in_bytes())
    }

    pub fn bytes(&self) -> &[u8] {
        // SAFETY: words are bytes, eight each.
        unsafe { std::slice::from_raw_parts(self.as_ptr(), 8 * self.words.len()) }
    }

    /// The same elements laid out as another meta says.
    pub fn moved(&self, from: &Meta, to: &Meta) -> Self {
        let (mut bytes, size) = (Self::for_layout(to), from.dtype.size_in_bytes());
        for (a, b) in from.layout.indices().zip(to.layout.indices()) {
            let element = self.bytes()[a * size..(a + 1) * size].to_vec();
            // SAFETY: `b` is an element of the layout that the bytes were made for.
            unsafe { bytes.as_mut_ptr().add(b * size).copy_from_nonoverlapping(element.as_ptr(), size) };
        }
        bytes
    }

    /// How two tensors of one meta differ: floats by more than what orders of sums explain, others at all.
    /// What is not finite in both is not compared where `loose`.
    pub fn difference(&self, want: &Bytes, meta: &Meta, loose: bool) -> Option<String> {
        let size = meta.dtype.size_in_bytes();
        let of = |bytes: &Bytes, i: usize| bytes.bytes()[i * size..(i + 1) * size].to_vec();
        meta.layout.indices().find_map(|i| {
            let (got, want) = (of(self, i), of(want, i));
            let near = got == want
                || numbers(meta.dtype, &got).zip(numbers(meta.dtype, &want)).is_some_and(|(a, b)| {
                    let lost = loose && !(a.is_finite() && b.is_finite());
                    lost || a == b
                        || a.is_nan() && b.is_nan()
                        || (a - b).abs() <= tolerance(meta.dtype) * (1.0 + b.abs())
                });
            let show = |x: &[u8]| numbers(meta.dtype, x).map_or(format!("{x:?}"), |x| format!("{x:e}"));
            (!near).then(|| format!("element {i} is {}, not {}", show(&got), show(&want)))
        })
    }
}

fn tolerance(dtype: DType) -> f64 {
    match dtype {
        DType::F64 => 1e-11,
        DType::F32 => 1e-5,
        DType::F16 => 2e-3,
        _ => 2e-2,
    }
}

/// A float's value.
fn numbers(dtype: DType, bytes: &[u8]) -> Option<f64> {
    Some(match dtype {
        DType::F64 => f64::from_ne_bytes(bytes.try_into().ok()?),
        DType::F32 => f32::from_ne_bytes(bytes.try_into().ok()?).into(),
        DType::F16 => f16::from_ne_bytes(bytes.try_into().ok()?).into(),
        DType::BF16 => bf16::from_ne_bytes(bytes.try_into().ok()?).into(),
        _ => return None,
    })
}
