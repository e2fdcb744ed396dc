//! opforge for Python: the extension module `opforge._core`, which the package `opforge` is made of.
//!
//! [`binding`] makes Python functions and methods from the operators' declared signatures; nothing in it knows an operator. What else a tensor
//! of Python's has (properties, conversions, indexing) is in [`tensor`].

mod autograd;
mod binding;
mod cell;
mod custom;
mod device;
mod dtype;
mod error;
mod exit_status;
mod front_end;
mod generator;
mod info;
mod io;
mod print;
mod profiler;
mod runtime;
mod tensor;

use std::f64::consts::{E, PI};

use pyo3::prelude::*;

#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    front_end::install(module.py())?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    for (name, value) in [("inf", f64::INFINITY), ("nan", f64::NAN), ("pi", PI), ("e", E)] {
        module.add(name, value)?;
    }
    custom::add_to(module)?;
    error::add_to(module)?;
    dtype::add_to(module)?;
    device::add_to(module)?;
    module.add_class::<tensor::PyTensor>()?;
    generator::add_to(module)?;
    info::add_to(module)?;
    io::add_to(module)?;
    print::add_to(module)?;
    profiler::add_to(module)?;
    runtime::add_to(module)?;
    tensor::add_to(module)?;
    module.add_function(wrap_pyfunction!(tensor::set_size_class, module)?)?;
    module.add_function(wrap_pyfunction!(front_end::set_package_folder, module)?)?;
    autograd::add_to(module)?;
    binding::add_to(module)
}
