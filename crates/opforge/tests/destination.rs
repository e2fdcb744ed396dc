//! Functions that write their result where it is meant to go.

use opforge::dispatch::write_to;
use opforge::{Device, Result, Tensor, functional};

fn floats(values: &[f32]) -> Tensor {
    Tensor::new(values, &Device::Cpu).unwrap()
}

#[test]
fn the_operator_writes_to_the_destination() -> Result<()> {
    let (x, y) = (floats(&[1.0, 2.0]), floats(&[3.0, 5.0]));
    let version = x.version();
    let result = write_to(&x, "mul", || functional::mul((&x).into(), (&y).into()))?;
    assert_eq!(result.id(), x.id());
    assert_eq!(x.to_vec1::<f32>()?, [3.0, 10.0]);
    assert_eq!(x.version(), version + 1);
    Ok(())
}

#[test]
fn a_result_that_does_not_fit_is_a_new_tensor() -> Result<()> {
    let (x, y) = (floats(&[1.0]), floats(&[3.0, 5.0]));
    let result = write_to(&x, "mul", || functional::mul((&x).into(), (&y).into()))?;
    assert_ne!(result.id(), x.id());
    assert_eq!(result.to_vec1::<f32>()?, [3.0, 5.0]);
    assert_eq!(x.to_vec1::<f32>()?, [1.0]);
    Ok(())
}

#[test]
fn a_destination_does_not_outlive_its_call() -> Result<()> {
    let (x, y) = (floats(&[1.0, 2.0]), floats(&[3.0, 5.0]));
    write_to(&x, "mul", || functional::add((&x).into(), (&y).into(), 1i64.into()))?;
    functional::mul((&y).into(), (&y).into())?;
    assert_eq!(x.to_vec1::<f32>()?, [1.0, 2.0]);
    Ok(())
}

#[test]
fn what_a_composition_saved_of_its_destination_is_kept() -> Result<()> {
    let w = opforge::Var::new(&[1f32, 2.0], &Device::Cpu)?;
    let x = w.affine(1.0, 0.0)?;
    // sin(x) saves x, which then takes the result of an operator that has the function's name.
    let result = write_to(&x, "mul", || x.sin()?.mul(&x.sin()?))?;
    assert_eq!(result.id(), x.id());
    let gradients = x.sum_all()?.backward()?;
    let slopes = gradients.get(&w).unwrap().to_vec1::<f32>()?;
    slopes.iter().zip([1f32, 2.0]).for_each(|(slope, x)| assert!((slope - (2.0 * x).sin()).abs() < 1e-6));
    Ok(())
}
