//! The same elements elsewhere: other dtypes, devices, memory.

use opforge::{DType, Device, Error, Tensor};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use super::PyTensor;
use crate::device;
use crate::dtype;
use crate::error::{OrRaise, raise};
use crate::front_end;

/// What `to` is asked for.
#[derive(Default)]
struct Target {
    dtype: Option<DType>,
    device: Option<Device>,
    copy: bool,
}

impl Target {
    /// Takes a dtype, a device or its name, or a tensor to be like.
    fn take(&mut self, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = value.py();
        if let Ok(tensor) = value.cast::<PyTensor>() {
            let like = PyTensor::of(tensor);
            (self.dtype, self.device) = (Some(like.dtype()), Some(*like.device()));
        } else if let Some(dtype) = dtype::extract(value) {
            self.dtype = Some(dtype);
        } else if let Some(device) = device::named(value.as_borrowed()) {
            self.device = Some(device.or_raise(py)?);
        } else if !value.is_none() {
            let class = value.get_type().name()?;
            return Err(PyTypeError::new_err(format!("to(): expected a dtype, a device or a Tensor, not {class}")));
        }
        Ok(())
    }

    fn parse(args: &Bound<'_, PyTuple>, options: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let mut target = Target::default();
        // After dtype and device PyTorch takes `non_blocking` and `copy` by position.
        let flags = args.iter().skip_while(|a| a.cast::<pyo3::types::PyBool>().is_err());
        target.copy = flags.into_iter().nth(1).is_some_and(|copy| copy.is_truthy().unwrap_or(false));
        let targets = args.iter().take_while(|a| a.cast::<pyo3::types::PyBool>().is_err());
        targets.into_iter().try_for_each(|value| target.take(&value))?;
        for (name, value) in options.into_iter().flatten() {
            match name.extract::<String>()?.as_str() {
                "dtype" | "device" | "other" => target.take(&value)?,
                "copy" => target.copy = value.is_truthy()?,
                "non_blocking" | "memory_format" => {}
                other => {
                    return Err(PyTypeError::new_err(format!("to(): got an unexpected keyword argument '{other}'")));
                }
            }
        }
        Ok(target)
    }

    fn apply(&self, tensor: &Tensor) -> opforge::Result<Tensor> {
        let moved = tensor.to_device(&self.device.unwrap_or(*tensor.device()))?;
        let cast = moved.to_dtype(self.dtype.unwrap_or(tensor.dtype()))?;
        if self.copy && cast.id() == tensor.id() { cast.copy() } else { Ok(cast) }
    }
}

/// What `f` makes of the tensor: the receiver itself if nothing had to be done.
fn changed(slf: &Bound<'_, PyTensor>, f: impl FnOnce(&Tensor) -> opforge::Result<Tensor>) -> PyResult<Py<PyAny>> {
    let tensor = PyTensor::of(slf);
    let result = front_end::attempt(|| f(&tensor)).or_raise(slf.py())?;
    if result.id() == tensor.id() { Ok(slf.clone().into_any().unbind()) } else { PyTensor::wrap(slf.py(), result) }
}

/// What was made, in the order of a memory format, if one is given.
fn laid_in(py: Python<'_>, made: Py<PyAny>, format: Option<&Bound<'_, PyAny>>) -> PyResult<Py<PyAny>> {
    let Some(format) = format else { return Ok(made) };
    Ok(py.import("opforge._tensors.layouts")?.getattr("laid_in")?.call1((made, format))?.unbind())
}

macro_rules! casts {
    ($($(#[doc = $doc:literal])* $name:ident: $dtype:ident;)*) => {
        #[pymethods]
        impl PyTensor {
            $($(#[doc = $doc])*
            #[pyo3(signature = (memory_format = None))]
            fn $name(slf: &Bound<'_, Self>, memory_format: Option<&Bound<'_, PyAny>>) -> PyResult<Py<PyAny>> {
                laid_in(slf.py(), changed(slf, |tensor| tensor.to_dtype(DType::$dtype))?, memory_format)
            })*
        }
    };
}

#[allow(unsafe_op_in_unsafe_fn)] // what `#[pymethods]` makes of methods that a macro writes
mod dtypes {
    use super::*;

    casts! {
        /// In float16.
        half: F16;
        /// In bfloat16.
        bfloat16: BF16;
        /// In float32.
        float: F32;
        /// In float64.
        double: F64;
        /// In int64.
        long: I64;
        /// In int32.
        int: I32;
        /// In int16.
        short: I16;
        /// In int8.
        char: I8;
        /// In uint8.
        byte: U8;
        /// In bool: whether elements differ from zero.
        bool: Bool;
    }
}

#[pymethods]
impl PyTensor {
    /// The elements in another dtype or on another device: `to(dtype)`, `to(device, dtype)`, `to(other)`. The tensor itself if it is there
    /// already and no copy is asked for.
    #[pyo3(signature = (*args, **options))]
    fn to(
        slf: &Bound<'_, Self>,
        args: &Bound<'_, PyTuple>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Py<PyAny>> {
        let target = Target::parse(args, options)?;
        let format = options.map(|options| options.get_item("memory_format")).transpose()?.flatten();
        let made = changed(slf, |tensor| target.apply(tensor))?;
        laid_in(slf.py(), made, format.as_ref().filter(|format| !format.is_none()))
    }

    /// In main memory.
    #[pyo3(signature = (memory_format = None))]
    fn cpu(slf: &Bound<'_, Self>, memory_format: Option<&Bound<'_, PyAny>>) -> PyResult<Py<PyAny>> {
        laid_in(slf.py(), changed(slf, |tensor| tensor.to_device(&Device::Cpu))?, memory_format)
    }

    /// The tensor on a device: itself if it is there already. The CPU has no streams, so there is none to give.
    #[pyo3(signature = (device, /, *, stream = None))]
    fn to_device(
        slf: &Bound<'_, Self>,
        device: &Bound<'_, PyAny>,
        stream: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Py<PyAny>> {
        let py = slf.py();
        if stream.is_some() {
            let error = Error::value("to_device", "stream", "a stream", "None: the CPU has no streams");
            return Err(raise(py, &error));
        }
        let class = device.get_type().name()?;
        let other = || PyTypeError::new_err(format!("to_device(): expected a device or its name, not {class}"));
        let device = device::named(device.as_borrowed()).ok_or_else(other)?.or_raise(py)?;
        changed(slf, |tensor| tensor.to_device(&device))
    }

    /// The dtype's name, or the elements in another dtype.
    #[pyo3(signature = (dtype = None, **_options))]
    fn r#type(
        slf: &Bound<'_, Self>,
        dtype: Option<&Bound<'_, PyAny>>,
        _options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Py<PyAny>> {
        let py = slf.py();
        match dtype {
            None => Ok(dtype::object(py, slf.get().tensor(py).dtype())?.bind(py).repr()?.into_any().unbind()),
            Some(dtype) => Self::to(slf, &PyTuple::new(py, [dtype])?, None),
        }
    }

    /// In the dtype of another tensor.
    fn type_as(slf: &Bound<'_, Self>, other: &Bound<'_, PyTensor>) -> PyResult<Py<PyAny>> {
        changed(slf, |tensor| tensor.to_dtype(PyTensor::of(other).dtype()))
    }
}
