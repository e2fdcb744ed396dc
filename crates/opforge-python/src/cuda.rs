//! CUDA devices: which there are, the thread's current one, their memory, moments in their work. `opforge.cuda` is made of these.

use std::cell::Cell;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Once;

use opforge::Error;
use pyo3::prelude::*;

use crate::error::{OrRaise, raise};

thread_local! {
    static CURRENT: Cell<u8> = const { Cell::new(0) };
}

/// The number of the thread's current device, for which `cuda` stands.
pub fn current() -> u8 {
    CURRENT.get()
}

/// The number of devices. NVIDIA's libraries are looked for at the first call, also where pip installs them: `nvidia/*/lib` beside packages.
pub fn count() -> usize {
    static SEARCHED: Once = Once::new();
    SEARCHED.call_once(|| {
        let paths = Python::attach(|py| py.import("sys")?.getattr("path")?.extract::<Vec<PathBuf>>());
        // Without paths there are the system's.
        opforge_cuda::search_in(paths.unwrap_or_default().iter().flat_map(|path| installed(path)));
    });
    opforge_cuda::count()
}

/// The folders of NVIDIA's packages beside a package.
fn installed(packages: &Path) -> Vec<PathBuf> {
    let folders = fs::read_dir(packages.join("nvidia")).into_iter().flatten().flatten();
    folders.map(|folder| folder.path().join("lib")).filter(|folder| folder.is_dir()).collect()
}

/// The number of devices; 0 where there is no driver.
#[pyfunction]
pub fn _cuda_count() -> usize {
    count()
}

/// The number of the thread's current device.
#[pyfunction]
pub fn _cuda_current() -> u8 {
    current()
}

/// Makes a device the thread's current one.
#[pyfunction]
pub fn _cuda_set_current(py: Python<'_>, index: usize) -> PyResult<()> {
    let there = u8::try_from(index).ok().filter(|_| index < count());
    let refused = || raise(py, &Error::device("set_device", "device", index, format!("less than {}", count())));
    CURRENT.set(there.ok_or_else(refused)?);
    Ok(())
}

/// Opens a device, which otherwise happens where it is first used.
#[pyfunction]
pub fn _cuda_open(py: Python<'_>, index: usize) -> PyResult<()> {
    opforge_cuda::device(index).map(drop).or_raise(py)
}

/// Whether a device was opened.
#[pyfunction]
pub fn _cuda_is_open() -> bool {
    opforge_cuda::is_open()
}

/// A device's name, compute capability, bytes and multiprocessors.
#[pyfunction]
pub fn _cuda_properties(py: Python<'_>, index: usize) -> PyResult<(String, (u32, u32), usize, usize)> {
    let found = opforge_cuda::properties(index).or_raise(py)?;
    Ok((found.name, found.capability, found.total_memory, found.multiprocessors))
}

/// A device's bytes in use, the most of them, those reserved, the most of them, those that are free, all.
#[pyfunction]
pub fn _cuda_usage(py: Python<'_>, index: usize) -> PyResult<(usize, usize, usize, usize, usize, usize)> {
    let found = opforge_cuda::usage(index).or_raise(py)?;
    Ok((found.allocated, found.most_allocated, found.reserved, found.most_reserved, found.free, found.total))
}

/// Has the most bytes in use counted from now on.
#[pyfunction]
pub fn _cuda_reset_peak(py: Python<'_>, index: usize) -> PyResult<()> {
    opforge_cuda::reset_peak(index).or_raise(py)
}

/// Limits the bytes in use.
#[pyfunction]
pub fn _cuda_limit(py: Python<'_>, index: usize, nbytes: usize) -> PyResult<()> {
    opforge_cuda::set_memory_limit(index, nbytes).or_raise(py)
}

/// Gives memory that nobody uses back to the system.
#[pyfunction]
pub fn _cuda_empty_cache(py: Python<'_>, index: usize) -> PyResult<()> {
    py.detach(|| opforge_cuda::empty_cache(index)).or_raise(py)
}

/// Waits until everything that was called for on a device has run.
#[pyfunction]
pub fn _cuda_synchronize(py: Python<'_>, index: usize) -> PyResult<()> {
    opforge_runtime::vm::hand_over().or_raise(py)?;
    py.detach(|| opforge_cuda::synchronize(index)).or_raise(py)
}

/// Whether everything that was called for on a device has run.
#[pyfunction]
pub fn _cuda_is_idle(py: Python<'_>, index: usize) -> PyResult<bool> {
    opforge_runtime::vm::hand_over().or_raise(py)?;
    py.detach(|| opforge_cuda::is_idle(index)).or_raise(py)
}

/// cuDNN's major, minor and patch version; None where it is not found.
#[pyfunction]
pub fn _cuda_cudnn_version() -> Option<(u32, u32, u32)> {
    // Libraries are looked for where devices are.
    count();
    opforge_cuda::cudnn_version().map(<(u32, u32, u32)>::from)
}

/// Whether convolutions of float32 may be computed as TF32.
#[pyfunction]
pub fn _cuda_tf32_convolutions() -> bool {
    opforge_cuda::tf32_convolutions()
}

/// Allows or forbids that.
#[pyfunction]
pub fn _cuda_set_tf32_convolutions(py: Python<'_>, allowed: bool) -> PyResult<()> {
    py.detach(|| opforge_cuda::set_tf32_convolutions(allowed)).or_raise(py)
}

/// Allows or forbids that products of matrices of float32 are computed as TF32.
#[pyfunction]
pub fn _cuda_set_tf32_products(py: Python<'_>, allowed: bool) -> PyResult<()> {
    py.detach(|| opforge_cuda::set_tf32_products(allowed)).or_raise(py)
}

/// Sets from how many multiplications of queries and keys on attention of halves is cuDNN's.
#[pyfunction]
pub fn _cuda_set_least_attention_of_cudnn(multiplications: usize) {
    opforge_cuda::set_least_attention_of_cudnn(multiplications);
}

/// A moment in a device's work.
#[pyclass(name = "_CudaEvent", module = "opforge._core", frozen)]
pub struct PyCudaEvent(opforge_cuda::Event);

#[pymethods]
impl PyCudaEvent {
    /// Of a device by its number.
    #[new]
    fn new(py: Python<'_>, index: usize) -> PyResult<Self> {
        opforge_cuda::Event::new(index).map(PyCudaEvent).or_raise(py)
    }

    /// Marks the end of what was called for until now.
    fn record(&self, py: Python<'_>) -> PyResult<()> {
        self.0.record().or_raise(py)
    }

    /// Whether that has run.
    fn query(&self, py: Python<'_>) -> PyResult<bool> {
        self.0.is_over().or_raise(py)
    }

    /// Waits until that has run.
    fn synchronize(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.0.wait()).or_raise(py)
    }

    /// The milliseconds from here to another one.
    fn elapsed_time(&self, py: Python<'_>, end_event: &Self) -> PyResult<f32> {
        self.0.milliseconds_to(&end_event.0).or_raise(py)
    }
}
