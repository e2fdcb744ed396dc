//! opforge for Python: the extension module `opforge._core`, which the package `opforge` is made of.
//!
//! [`binding`] makes Python functions and methods from the operators' declared signatures; nothing in it knows an operator. What else a tensor
//! of Python's has (properties, conversions, indexing) is in [`tensor`].

mod autograd;
mod binding;
mod cell;
mod checkpoint;
mod cuda;
mod custom;
mod device;
mod distributed;
mod dtype;
mod error;
mod exit_status;
mod front_end;
mod generator;
mod graph;
mod info;
mod io;
mod print;
mod profiler;
mod runtime;
mod tensor;
mod wgpu;

use pyo3::prelude::*;

/// What the extension module has besides the declared functions, which [`binding`] adds.
#[pymodule]
mod _core {
    use std::f64::consts::{E, PI};

    use pyo3::prelude::*;

    use crate::error::OrRaise;

    #[pymodule_export]
    use crate::autograd::{
        _set_nan_checks, PyGradFn, PySavedTensor, RemovableHandle, at_the_end_of_backward, backward, grad,
        is_grad_enabled, record_function, set_grad_mode,
    };
    #[pymodule_export]
    use crate::binding::catalogue::{_shared_results, catalogue};
    #[pymodule_export]
    use crate::binding::entry::_write_out;
    #[pymodule_export]
    use crate::binding::intercept::{_disabled_torch_function_impl, _watch, _watch_classes, _watching};
    #[pymodule_export]
    use crate::checkpoint::{_read_checkpoint, _write_checkpoint};
    #[pymodule_export]
    use crate::cuda::{
        _cuda_count, _cuda_cudnn_version, _cuda_current, _cuda_empty_cache, _cuda_is_idle, _cuda_is_open, _cuda_limit,
        _cuda_open, _cuda_properties, _cuda_reset_peak, _cuda_set_current, _cuda_set_least_attention_of_cudnn,
        _cuda_set_tf32_convolutions, _cuda_set_tf32_products, _cuda_synchronize, _cuda_tf32_convolutions, _cuda_usage,
        PyCudaEvent,
    };
    #[pymodule_export]
    use crate::custom::{PyCustomOp, bench_operator, check_operator, include_dir, inline_source, schema_parameters};
    #[pymodule_export]
    use crate::device::{PyDevice, get_default_device, set_default_device};
    #[pymodule_export]
    use crate::distributed::{
        _Planner, _distribute, _distribution, _from_part, _is_global, _lay, _make_in, _own_part, _placement_device,
        _redistribute, PyCollectiveRequest, PyProcessGroup,
    };
    #[pymodule_export]
    use crate::dtype::{PyDType, get_default_dtype, set_default_dtype};
    #[pymodule_export]
    use crate::front_end::set_package_folder;
    #[pymodule_export]
    use crate::generator::{PyGenerator, get_rng_state, initial_seed, manual_seed, seed, set_rng_state};
    #[pymodule_export]
    use crate::graph::structure::_structure_key;
    #[pymodule_export]
    use crate::graph::surroundings::PySurroundings;
    #[pymodule_export]
    use crate::graph::{_export, _load_graph, _trace, PyExportedGraph, PyGraphFunction};
    #[pymodule_export]
    use crate::info::{
        FloatInfo, IntInfo, can_cast, is_complex, is_floating_point, is_nonzero, is_storage, is_tensor, numel,
        promote_types, result_type,
    };
    #[pymodule_export]
    use crate::io::{
        _load_npy_bytes, _load_npz, _load_safetensors, _load_safetensors_bytes, _map_npy, _map_safetensors,
        _save_safetensors,
    };
    #[pymodule_export]
    use crate::print::{get_printoptions, set_printoptions};
    #[pymodule_export]
    use crate::profiler::{_start_trace, _stop_trace, _trace_clock};
    #[pymodule_export]
    use crate::runtime::{
        empty_cache, get_num_threads, is_fusing, max_memory_allocated, memory_allocated, memory_reserved, memory_stats,
        reset_peak_memory_stats, set_fusing, set_memory_limit, set_num_threads, synchronize,
    };
    #[pymodule_export]
    use crate::tensor::{
        _rebuild_tensor, PyStorage, PyTensor, as_tensor, asarray, from_dlpack, from_numpy, frombuffer, set_size_class,
        tensor,
    };
    #[pymodule_export]
    use crate::wgpu::{_wgpu_is_open, _wgpu_names, _wgpu_synchronize};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        crate::front_end::install(module.py())?;
        opforge_cuda::bring();
        // PyTorch's default.
        opforge_cuda::set_tf32_convolutions(true).or_raise(module.py())?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        for (name, value) in [("inf", f64::INFINITY), ("nan", f64::NAN), ("pi", PI), ("e", E)] {
            module.add(name, value)?;
        }
        module.add("_Shape", crate::tensor::shape_class(module.py())?)?;
        module.add("default_generator", PyGenerator::from(opforge::Generator::default()))?;
        crate::error::add_to(module)?;
        crate::dtype::add_to(module)?;
        crate::tensor::install_exchange(module.py())?;
        crate::binding::add_to(module)
    }
}
