//! What the tests of kernels share: tensors of any dtype and strides whose elements are read and written as f64.

use std::sync::{Mutex, MutexGuard, PoisonError};

use opforge_core::{DType, Element, Layout, Meta, Scalar, Shape, Strides, with_element};
use opforge_runtime::HostKernel;
use opforge_runtime::parallel::{num_threads, set_num_threads};

/// A tensor with its own storage. Storage that the layout does not reach is poisoned with 77.
pub struct Array {
    pub meta: Meta,
    storage: Vec<u64>,
}

fn set<T: Element>(storage: &mut [u64], index: usize, value: f64) {
    // SAFETY: the storage holds whole elements, aligned to 8 bytes as any type asks for at most; `index` is checked against its size.
    unsafe {
        assert!((index + 1) * size_of::<T>() <= size_of_val(storage));
        storage.as_mut_ptr().cast::<T>().add(index).write(T::from_scalar(Scalar::Float(value)));
    }
}

fn get<T: Element>(storage: &[u64], index: usize) -> f64 {
    // SAFETY: the storage holds whole elements, aligned to 8 bytes as any type asks for at most, all of them initialised; `index` is checked against its size.
    unsafe {
        assert!((index + 1) * size_of::<T>() <= size_of_val(storage));
        storage.as_ptr().cast::<T>().add(index).read().to_scalar().to_f64()
    }
}

impl Array {
    /// Element `i`, in row-major order, is the dtype's nearest to `value(i)`.
    pub fn new(dtype: DType, layout: Layout, mut value: impl FnMut(usize) -> f64) -> Array {
        let span = layout.span().max(1);
        let mut storage = vec![0u64; (span * dtype.size_in_bytes()).div_ceil(8)];
        with_element!(dtype, T => {
            (0..span).for_each(|i| set::<T>(&mut storage, i, 77.0));
            layout.indices().enumerate().for_each(|(i, at)| set::<T>(&mut storage, at, value(i)));
        });
        Array { meta: Meta { dtype, layout }, storage }
    }

    pub fn contiguous(dtype: DType, dims: &[usize], value: impl FnMut(usize) -> f64) -> Array {
        Array::new(dtype, Layout::contiguous(dims), value)
    }

    /// The elements in row-major order.
    pub fn values(&self) -> Vec<f64> {
        let indices = self.meta.layout.indices();
        with_element!(self.meta.dtype, T => indices.map(|at| get::<T>(&self.storage, at)).collect())
    }

    pub fn ptr(&self) -> *const u8 {
        self.storage.as_ptr().cast()
    }

    pub fn ptr_mut(&mut self) -> *mut u8 {
        self.storage.as_mut_ptr().cast()
    }
}

/// Runs a kernel on these inputs and new outputs.
pub fn run(kernel: &dyn HostKernel, inputs: &[&Array], outputs: &[Meta]) -> Vec<Array> {
    let mut made: Vec<Array> = outputs.iter().map(|m| Array::new(m.dtype, m.layout.clone(), |_| 55.0)).collect();
    let inputs: Vec<*const u8> = inputs.iter().map(|a| a.ptr()).collect();
    let pointers: Vec<*mut u8> = made.iter_mut().map(Array::ptr_mut).collect();
    // SAFETY: the arrays cover the metas that the tests prepare their kernels for.
    unsafe { kernel.run(&inputs, &pointers) }.expect("the kernel runs");
    made
}

/// So many threads compute while this is held. The number is the process's: tests that choose it take turns.
pub struct Threads {
    before: usize,
    _turn: MutexGuard<'static, ()>,
}

impl Threads {
    pub fn set(threads: usize) -> Threads {
        static TURN: Mutex<()> = Mutex::new(());
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        let before = num_threads();
        set_num_threads(threads);
        Threads { before, _turn: turn }
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        set_num_threads(self.before);
    }
}

/// Layouts of a shape: contiguous, with gaps, permuted in memory, and with the first dimension repeated.
pub fn layouts(dims: &[usize]) -> Vec<Layout> {
    let from_order = |order: &[usize], gap: usize| {
        let mut stride = vec![0; dims.len()];
        let mut next = gap;
        for &d in order.iter().rev() {
            stride[d] = next;
            next *= dims[d].max(1);
        }
        Layout::new(Shape::from_dims(dims), Strides::from_vec(stride), 0, "test").expect("small layouts are valid")
    };
    let forward: Vec<usize> = (0..dims.len()).collect();
    let backward: Vec<usize> = forward.iter().rev().copied().collect();
    let mut rotated = forward.clone();
    rotated.rotate_left(dims.len().min(1));
    let mut all =
        vec![from_order(&forward, 1), from_order(&forward, 3), from_order(&backward, 1), from_order(&rotated, 1)];
    if !dims.is_empty() {
        let mut stride: Strides = all[0].stride().into();
        stride[0] = 0;
        all.push(Layout::new(Shape::from_dims(dims), stride, 0, "test").expect("small layouts are valid"));
    }
    all
}

/// Reproducible numbers in -4..4 with steps of 1/8, which every float dtype holds exactly.
pub fn noise(i: usize) -> f64 {
    let hash = (i as u64 ^ 0x9e37_79b9).wrapping_mul(0x2545_f491_4f6c_dd1d);
    ((hash >> 40) % 64) as f64 / 8.0 - 4.0
}

/// The relative accuracy of a float dtype.
pub fn epsilon(dtype: DType) -> f64 {
    match dtype {
        DType::F16 => 2f64.powi(-11),
        DType::BF16 => 2f64.powi(-8),
        DType::F32 => 2f64.powi(-23),
        DType::F64 => 2f64.powi(-52),
        _ => 0.0,
    }
}

/// The sum with Neumaier's compensation: a reference for sums that are themselves accurate.
pub fn exact_sum(values: impl IntoIterator<Item = f64>) -> f64 {
    let (mut sum, mut lost) = (0.0f64, 0.0f64);
    for x in values {
        let next = sum + x;
        if !next.is_finite() {
            lost = 0.0;
        } else {
            lost += if sum.abs() >= x.abs() { (sum - next) + x } else { (x - next) + sum };
        }
        sum = next;
    }
    sum + lost
}
