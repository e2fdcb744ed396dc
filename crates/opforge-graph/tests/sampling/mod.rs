//! Samples of operators in graphs: what they are called with, and how results are compared.

use opforge::declaration::Definition;
use opforge::{DType, Tensor};

/// The dtype of real inputs with which an operator is tried.
pub fn real_of(definition: &Definition) -> Option<DType> {
    let usual = [DType::F32, DType::F64].into_iter().find(|&dtype| definition.dtypes.contains(dtype));
    usual.or(definition.dtypes.iter().next())
}

/// The bits of the elements, each as f64; none of complex numbers.
pub fn bits(t: &Tensor) -> Vec<u64> {
    let t = if t.dtype().is_complex() { return Vec::new() } else { t.contiguous().unwrap().flatten_all().unwrap() };
    t.to_dtype(DType::F64).unwrap().to_vec1::<f64>().unwrap().into_iter().map(f64::to_bits).collect()
}
