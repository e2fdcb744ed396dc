//! Devices by name, and the one that new tensors get.

use std::cell::{Cell, RefCell};

use opforge::functional::{self as f, DefaultDevice};
use opforge::{Device, Error};
use pyo3::Borrowed;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::error::OrRaise;
use crate::{cuda, wgpu};

/// Where a tensor's elements are: `device("cpu")`, `device("cuda", 0)` for the first GPU of NVIDIA's (without a number the current one), `device("wgpu", 0)` for
/// the first by Vulkan, Metal or DX12, which Apple's machines call `device("mps")` too, or `device("meta")` for tensors that only have a shape. Any type that PyTorch has can be named; making a tensor on a device that is not there is an error. As a context
/// (`with device("meta"):`) it is the device of tensors made within for which no other is named.
#[pyclass(name = "device", module = "opforge", frozen, eq, hash, from_py_object)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PyDevice {
    kind: &'static str,
    index: Option<u8>,
}

/// The types of devices that PyTorch knows, and opforge's own.
const TYPES: [&str; 21] = [
    "cpu",
    "cuda",
    "wgpu",
    "ipu",
    "xpu",
    "mkldnn",
    "opengl",
    "opencl",
    "ideep",
    "hip",
    "ve",
    "fpga",
    "maia",
    "xla",
    "lazy",
    "vulkan",
    "mps",
    "meta",
    "hpu",
    "mtia",
    "privateuseone",
];

thread_local! {
    /// The device of new tensors, if one was chosen.
    static CHOSEN: Cell<Option<PyDevice>> = const { Cell::new(None) };
    /// What was chosen before each context that was entered.
    static BEFORE: RefCell<Vec<Option<PyDevice>>> = const { RefCell::new(Vec::new()) };
}

impl From<Device> for PyDevice {
    fn from(device: Device) -> Self {
        let name = device.name();
        let (kind, index) = name.split_once(':').unwrap_or((name, ""));
        PyDevice { kind, index: index.parse().ok() }
    }
}

impl PyDevice {
    /// A device by its name: `cpu`, `cuda:1`.
    fn parse(name: &str) -> Result<Self, Error> {
        let (kind, index) = name.split_once(':').map_or((name, None), |(kind, index)| (kind, Some(index)));
        let unknown = |accepted: String| Error::device("device", "type", format!("'{name}'"), accepted);
        let added = Device::added().map(|device| PyDevice::from(device).kind);
        let known = TYPES.into_iter().chain(added).find(|known| *known == kind);
        let kind = known.ok_or_else(|| unknown(format!("one of {}", TYPES.join(", "))))?;
        let number = |text: &str| text.parse::<u8>().ok().filter(|number| number.to_string() == text);
        let index =
            index.map(|text| number(text).ok_or_else(|| unknown("a number from 0 to 255 after the colon".into())));
        Ok(PyDevice { kind, index: index.transpose()? })
    }

    /// The device itself.
    ///
    /// # Errors
    /// For what is not there.
    pub fn present(self) -> Result<Device, Error> {
        match (self.kind, self.index) {
            ("cpu", None | Some(0)) => Ok(Device::Cpu),
            ("meta", _) => Ok(Device::Meta),
            ("cuda", index) if cuda::count() > 0 => opforge_cuda::device(index.unwrap_or_else(cuda::current).into()),
            ("wgpu", index) if !wgpu::names().is_empty() => opforge_wgsl::device(index.unwrap_or(0).into()),
            ("mps", index) if cfg!(target_os = "macos") && !wgpu::names().is_empty() => {
                opforge_wgsl::device(index.unwrap_or(0).into())
            }
            _ => Device::added().find(|&device| self == device.into()).ok_or_else(|| self.absent()),
        }
    }

    fn absent(self) -> Error {
        let others = Device::added().map(|device| format!(", '{device}'")).collect::<String>();
        let hint = if self.kind == "wgpu" { ", as there would be with a GPU and the package opforge-wgpu" } else { "" };
        let accepted = format!("'cpu' or 'meta'{others}; there are no others{hint}");
        Error::device("device", "type", format!("'{self}'"), accepted)
    }

    /// A device, its name, or the number of an accelerator.
    pub fn extract(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let py = object.py();
        if let Ok(device) = object.cast::<PyDevice>() {
            return Ok(*device.get());
        }
        if let Ok(name) = object.cast::<PyString>() {
            return PyDevice::parse(name.to_str()?).or_raise(py);
        }
        let accepted =
            || PyTypeError::new_err(format!("a device must be a device, its name or a number, not {object}"));
        object.extract::<u8>().map(|index| PyDevice { kind: "cuda", index: Some(index) }).map_err(|_| accepted())
    }
}

impl std::fmt::Display for PyDevice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.index {
            None => f.write_str(self.kind),
            Some(index) => write!(f, "{}:{index}", self.kind),
        }
    }
}

/// The device that an argument stands for, a device or its name; none for other objects.
pub fn named(object: Borrowed<'_, '_, PyAny>) -> Option<Result<Device, Error>> {
    if let Ok(device) = object.cast::<PyDevice>() {
        return Some(device.get().present());
    }
    let name = object.cast::<PyString>().ok()?;
    Some(PyDevice::parse(name.to_str().ok()?).and_then(PyDevice::present))
}

/// The device that was chosen for new tensors, if one was.
///
/// # Errors
/// For one that this build does not have.
pub fn chosen(py: Python<'_>) -> PyResult<Option<Device>> {
    CHOSEN.get().map(PyDevice::present).transpose().or_raise(py)
}

fn choose(device: Option<PyDevice>) {
    CHOSEN.set(device);
    f::set_default_device(match device.map_or(Ok(Device::Cpu), PyDevice::present) {
        Ok(present) => DefaultDevice::Present(present),
        Err(_) => DefaultDevice::Absent(device.map_or("cpu", |device| device.kind)),
    });
}

/// Chooses the device of new tensors for which none is named, for this thread; None stands for the CPU.
#[pyfunction]
pub fn set_default_device(device: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
    choose(device.map(PyDevice::extract).transpose()?);
    Ok(())
}

/// The device of new tensors for which none is named.
#[pyfunction]
pub fn get_default_device() -> PyDevice {
    CHOSEN.get().unwrap_or(Device::Cpu.into())
}

#[pymethods]
impl PyDevice {
    #[new]
    #[pyo3(signature = (r#type, index = None))]
    fn new(r#type: &Bound<'_, PyAny>, index: Option<u8>) -> PyResult<Self> {
        let device = Self::extract(r#type)?;
        match (device.index, index) {
            (_, None) => Ok(device),
            (None, index) => Ok(PyDevice { index, ..device }),
            (Some(_), Some(_)) => {
                let accepted = "no index in the name beside 'index'";
                Err(Error::device("device", "type", format!("'{device}'"), accepted)).or_raise(r#type.py())
            }
        }
    }

    #[getter]
    fn r#type(&self) -> &'static str {
        // A placement's ranks use devices of one type: "cpu[0, 1]".
        self.kind.split_once('[').map_or(self.kind, |(kind, _)| kind)
    }

    #[getter]
    fn index(&self) -> Option<u8> {
        self.index
    }

    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        BEFORE.with_borrow_mut(|before| before.push(CHOSEN.get()));
        choose(Some(*slf.get()));
        slf
    }

    #[pyo3(signature = (*_error))]
    fn __exit__(&self, _error: &Bound<'_, PyAny>) {
        choose(BEFORE.with_borrow_mut(Vec::pop).flatten());
    }

    fn __repr__(&self) -> String {
        match self.index {
            None => format!("device(type='{}')", self.kind),
            Some(index) => format!("device(type='{}', index={index})", self.kind),
        }
    }

    fn __str__(&self) -> String {
        self.to_string()
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> (Bound<'py, PyAny>, (String,)) {
        (slf.get_type().into_any(), (slf.get().to_string(),))
    }
}
