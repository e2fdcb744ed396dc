//! Helpers for the tests of programs: values rounded to digits, and one test function run on each device.

use crate::{Result, Tensor};

/// Declares a test that calls `$function(&Device::Cpu)`; the names for other devices are for builds that have them. The caller's own `Result`
/// and `Device` are used.
#[macro_export]
macro_rules! test_device {
    ($function:ident, $cpu:ident, $gpu:ident, $metal:ident) => {
        #[test]
        fn $cpu() -> Result<()> {
            $function(&Device::Cpu)
        }
    };
}

/// Rounds to a number of decimals.
fn round(value: f32, digits: i32) -> f32 {
    let scale = 10f32.powi(digits);
    (value * scale).round() / scale
}

/// A scalar, rounded to a number of decimals.
///
/// # Errors
/// For a tensor of another rank or dtype than f32.
pub fn to_vec0_round(t: &Tensor, digits: i32) -> Result<f32> {
    Ok(round(t.to_vec0()?, digits))
}

/// A vector, rounded to a number of decimals.
///
/// # Errors
/// For a tensor of another rank or dtype than f32.
pub fn to_vec1_round(t: &Tensor, digits: i32) -> Result<Vec<f32>> {
    Ok(t.to_vec1()?.into_iter().map(|v| round(v, digits)).collect())
}

/// A matrix's rows, rounded to a number of decimals.
///
/// # Errors
/// For a tensor of another rank or dtype than f32.
pub fn to_vec2_round(t: &Tensor, digits: i32) -> Result<Vec<Vec<f32>>> {
    let row = |row: Vec<f32>| row.into_iter().map(|v| round(v, digits)).collect();
    Ok(t.to_vec2()?.into_iter().map(row).collect())
}

/// A tensor of rank 3, rounded to a number of decimals.
///
/// # Errors
/// For a tensor of another rank or dtype than f32.
pub fn to_vec3_round(t: &Tensor, digits: i32) -> Result<Vec<Vec<Vec<f32>>>> {
    let row = |row: Vec<f32>| row.into_iter().map(|v| round(v, digits)).collect();
    let matrix = |matrix: Vec<Vec<f32>>| matrix.into_iter().map(row).collect();
    Ok(t.to_vec3()?.into_iter().map(matrix).collect())
}

/// Checks that two tensors have equal shapes and elements.
///
/// # Errors
/// Those of the comparison.
///
/// # Panics
/// When they differ.
pub fn assert_tensor_eq(t1: &Tensor, t2: &Tensor) -> Result<()> {
    assert_eq!(t1.shape(), t2.shape());
    let equal = t1.eq(t2)?.flatten_all()?.to_vec1::<u8>()?;
    assert!(equal.iter().all(|&equal| equal == 1), "{t1}\ndiffers from\n{t2}");
    Ok(())
}
