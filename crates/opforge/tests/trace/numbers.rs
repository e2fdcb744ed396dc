//! Arrays of any dtype, and the numbers at which functions are compared.

use std::f64::consts::{FRAC_PI_2, FRAC_PI_4, PI};

use opforge::declaration::Array;
use opforge::{DType, Element, Scalar, bf16, f16};
use opforge_core::with_element;

/// Elements of a dtype as bytes.
#[derive(Clone)]
pub struct Buffer {
    dtype: DType,
    /// Aligned for every dtype.
    words: Vec<u64>,
    len: usize,
}

impl Buffer {
    pub fn zeros(dtype: DType, len: usize) -> Self {
        Buffer { dtype, words: vec![0; (len * dtype.size_in_bytes()).div_ceil(8)], len }
    }

    pub fn of(dtype: DType, elements: &[Scalar]) -> Self {
        let mut buffer = Buffer::zeros(dtype, elements.len());
        elements.iter().enumerate().for_each(|(i, &element)| buffer.set(i, element));
        buffer
    }

    pub fn dtype(&self) -> DType {
        self.dtype
    }

    pub fn len(&self) -> usize {
        self.len
    }

    pub fn as_ptr(&self) -> *const u8 {
        self.words.as_ptr().cast()
    }

    pub fn as_mut_ptr(&mut self) -> *mut u8 {
        self.words.as_mut_ptr().cast()
    }

    pub fn bytes(&self) -> &[u8] {
        // SAFETY: the words hold that many bytes.
        unsafe { std::slice::from_raw_parts(self.as_ptr(), self.len * self.dtype.size_in_bytes()) }
    }

    fn get(&self, i: usize) -> Scalar {
        assert!(i < self.len);
        // SAFETY: the buffer holds `len` elements of this type.
        with_element!(self.dtype, T => unsafe { self.as_ptr().cast::<T>().add(i).read() }.to_scalar())
    }

    fn set(&mut self, i: usize, value: Scalar) {
        assert!(i < self.len);
        // SAFETY: the buffer holds `len` elements of this type.
        with_element!(self.dtype, T => unsafe { self.as_mut_ptr().cast::<T>().add(i).write(T::from_scalar(value)) });
    }

    /// Only the elements of these numbers.
    pub fn only(&self, which: &[usize]) -> Buffer {
        Buffer::of(self.dtype, &which.iter().map(|&i| self.get(i)).collect::<Vec<_>>())
    }

    fn in_dtype(&self, dtype: DType) -> Buffer {
        Buffer::of(dtype, &(0..self.len).map(|i| self.get(i)).collect::<Vec<_>>())
    }

    /// As it is computed in: halves as f32.
    pub fn widened(&self) -> Buffer {
        self.in_dtype(self.dtype.compute())
    }

    /// As it is stored: f32 as halves.
    pub fn rounded(&self, dtype: DType) -> Buffer {
        match (self.dtype, dtype) {
            (DType::F32, DType::F16 | DType::BF16) => {
                let mut halves = Buffer::zeros(dtype, self.len);
                for i in 0..self.len {
                    let x = self.get(i).to_f64() as f32;
                    // Not by way of f64: `bf16::from_f64` does not round all numbers to the nearest.
                    let half =
                        if dtype == DType::F16 { f16::from_f32(x).to_scalar() } else { bf16::from_f32(x).to_scalar() };
                    halves.set(i, half);
                }
                halves
            }
            _ => {
                assert_eq!(self.dtype.size_in_bytes(), dtype.size_in_bytes());
                self.clone()
            }
        }
    }

    /// Whether element `i` has the same bits in both; any NaN is as good as another.
    pub fn same(&self, other: &Buffer, i: usize) -> bool {
        let size = self.dtype.size_in_bytes();
        let bytes = |buffer: &Buffer| buffer.bytes()[i * size..][..size].to_vec();
        let nan = |buffer: &Buffer| buffer.dtype.is_float() && buffer.get(i).to_f64().is_nan();
        bytes(self) == bytes(other) || nan(self) && nan(other)
    }

    pub fn numbers(&self) -> Vec<f64> {
        (0..self.len).map(|i| self.get(i).to_f64()).collect()
    }

    pub fn show(&self, i: usize) -> String {
        format!("{:?}", self.get(i))
    }
}

/// Numbers at which functions of floats are apt to differ: where formulas change, overflow, underflow, and what is no number.
#[rustfmt::skip]
const FLOATS: &[f64] = &[
    0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, -1.5, 2.0, -2.0, 2.5, 3.0, -3.5, 5.0, 10.0, -10.0, 17.25, 23.0, -37.5, 100.0,
    0.1, -0.1, 0.3, 0.66, 0.75, 0.927, 0.93, 0.99999994, 1.0000001, -0.99, 1e-3, 1e-5, -1e-8, 1e-12, 1e-30, -1e-38,
    PI, FRAC_PI_2, -FRAC_PI_4, 88.5, 89.0, -104.0, 709.5, 710.0, -745.0,
    65504.0, 99999.0, -1e5, 1.1e5, 1e6, -1.1e6, 1e9, 1e10, -1e30, 1e300, f64::INFINITY, f64::NEG_INFINITY, f64::NAN,
    1.1754943508222875e-38, 1e-40, -1e-45, 2.2250738585072014e-308, 5e-324, 3.4028234663852886e38, -f64::MAX,
];

/// The same of integers; those that a dtype does not hold are left out.
const INTS: &[i128] = &[0, 1, 2, 3, 5, 7, 12, 18, 31, 32, 63, 64, 100, -1, -2, -3, -7, -12, -64];

fn specials(dtype: DType) -> Vec<Scalar> {
    if dtype == DType::Bool {
        return vec![Scalar::Bool(false), Scalar::Bool(true)];
    }
    if dtype.is_float() {
        return FLOATS.iter().map(|&x| Scalar::Float(x)).collect();
    }
    let bits = 8 * dtype.size_in_bytes() as u32;
    let (least, greatest) =
        if dtype.is_signed() { (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1) } else { (0, (1i128 << bits) - 1) };
    let limits = [least, least + 1, greatest, greatest - 1, greatest / 2];
    let all = INTS.iter().copied().filter(|i| (least..=greatest).contains(i)).chain(limits);
    all.map(|i| i64::try_from(i).map_or(Scalar::UInt(i as u64), Scalar::Int)).collect()
}

/// Combinations of special numbers at most: of more, some are taken from all over.
const MOST: usize = 300_000;

/// Arguments of these dtypes: every combination of special numbers, or [`MOST`] of them, then the samples' numbers.
pub fn places(dtypes: &[DType], samples: &[Array]) -> Vec<Buffer> {
    let own: Vec<Vec<Scalar>> = dtypes.iter().map(|&dtype| specials(dtype)).collect();
    let all: usize = own.iter().map(Vec::len).product();
    let count = all.min(MOST);
    let step = (all / count) | 1;
    let longest = samples.iter().map(|array| array.data.len()).max().unwrap_or(0);
    let mut repeat = 1;
    let columns = dtypes.iter().zip(&own).enumerate().map(|(k, (&dtype, own))| {
        let mut column: Vec<Scalar> = (0..count).map(|i| own[i * step % all / repeat % own.len()]).collect();
        repeat *= own.len();
        if let Some(array) = samples.get(k).filter(|array| !array.data.is_empty()) {
            column.extend((0..longest).map(|i| Scalar::Float(array.data[i % array.data.len()])));
        }
        Buffer::of(dtype, &column)
    });
    columns.collect()
}
