//! Functions that write their result where it is meant to go.

use opforge::declaration::Value;
use opforge::dispatch::{Out, dispatch_to, write_to};
use opforge::family::{Axes, BinaryOp, ReduceOp};
use opforge::ops::pointwise::mul::Mul;
use opforge::ops::reduce::amax::Extremum;
use opforge::{Device, Result, Tensor, Var, registry};

fn floats(values: &[f32]) -> Tensor {
    Tensor::new(values, &Device::Cpu).unwrap()
}

/// `x y` of a function as Python calls it, meant for `x`.
fn product(x: &Tensor, y: &Tensor) -> Result<Tensor> {
    let function = registry::functions().into_iter().find(|f| f.name == "mul").expect("it is declared");
    write_to(x, "mul", |out| match function.call.call(&[x.clone().into(), y.clone().into()], out)? {
        Value::Tensor(product) => Ok(product),
        other => panic!("{other:?}"),
    })
}

fn multiply(x: &Tensor, y: &Tensor, out: Out<'_>) -> Result<Tensor> {
    dispatch_to(&BinaryOp(Mul), &[x, y], out)
}

#[test]
fn the_operator_writes_to_the_destination() -> Result<()> {
    let (x, y) = (floats(&[1.0, 2.0]), floats(&[3.0, 5.0]));
    let version = x.version();
    let result = product(&x, &y)?;
    assert_eq!(result.id(), x.id());
    assert_eq!(x.to_vec1::<f32>()?, [3.0, 10.0]);
    assert_eq!(x.version(), version + 1);
    Ok(())
}

#[test]
fn a_result_that_does_not_fit_is_a_new_tensor() -> Result<()> {
    let (x, y) = (floats(&[1.0]), floats(&[3.0, 5.0]));
    let result = product(&x, &y)?;
    assert_ne!(result.id(), x.id());
    assert_eq!(result.to_vec1::<f32>()?, [3.0, 5.0]);
    assert_eq!(x.to_vec1::<f32>()?, [1.0]);
    Ok(())
}

/// A row of `x` is read by the operator that would write all of `x`.
#[test]
fn a_destination_that_an_argument_overlaps_is_left_alone() -> Result<()> {
    let x = Tensor::new(&[[1f32, 2.0], [3.0, 4.0]], &Device::Cpu)?;
    let result = product(&x, &x.get(1)?)?;
    assert_ne!(result.id(), x.id());
    assert_eq!(result.to_vec2::<f32>()?, [[3.0, 8.0], [9.0, 16.0]]);
    assert_eq!(x.to_vec2::<f32>()?, [[1.0, 2.0], [3.0, 4.0]]);
    Ok(())
}

/// Calls within a function, of whatever operator, know nothing of its destination.
#[test]
fn a_destination_is_for_the_call_that_it_is_passed_to() -> Result<()> {
    let (x, y) = (floats(&[1.0, 2.0]), floats(&[3.0, 5.0]));
    let result = write_to(&x, "mul", |out| {
        let square = multiply(&y, &y, None)?;
        assert_eq!(x.to_vec1::<f32>()?, [1.0, 2.0]);
        multiply(&x, &square, out)
    })?;
    assert_eq!(result.id(), x.id());
    assert_eq!(x.to_vec1::<f32>()?, [9.0, 50.0]);
    Ok(())
}

#[test]
fn a_part_of_the_result_in_the_destination_is_an_error() {
    let (x, y) = (floats(&[1.0, 2.0]), floats(&[3.0, 5.0]));
    let error = write_to(&x, "mul", |out| multiply(&x, &y, out)?.affine(2.0, 0.0)).unwrap_err();
    assert!(error.to_string().contains("written with a part of the result"), "{error}");
}

/// What the operator finds is what the caller is told; it is not tried once more without the destination.
#[test]
fn errors_of_the_operator_are_returned() {
    let leaf = Var::new(&[1f32, 2.0], &Device::Cpu).unwrap();
    let error =
        write_to(leaf.as_tensor(), "mul", |out| multiply(leaf.as_tensor(), &floats(&[1.0, 1.0]), out)).unwrap_err();
    assert!(error.to_string().contains("a leaf Variable that requires grad"), "{error}");
    let nothing = Tensor::zeros(0, opforge::DType::F32, &Device::Cpu).unwrap();
    let max = ReduceOp { reduction: Extremum::<true>, axes: Axes::of(&[0]), keepdim: false };
    let error = write_to(&floats(&[0.0]), "max", |out| dispatch_to(&max, &[&nothing], out)).unwrap_err();
    assert!(error.to_string().contains("max"), "{error}");
}

#[test]
fn what_a_composition_saved_of_its_destination_is_kept() -> Result<()> {
    let w = Var::new(&[1f32, 2.0], &Device::Cpu)?;
    let x = w.affine(1.0, 0.0)?;
    // sin(x) saves x, which then takes the product.
    let result = write_to(&x, "mul", |out| multiply(&x.sin()?, &x.sin()?, out))?;
    assert_eq!(result.id(), x.id());
    let gradients = x.sum_all()?.backward()?;
    let slopes = gradients.get(&w).unwrap().to_vec1::<f32>()?;
    slopes.iter().zip([1f32, 2.0]).for_each(|(slope, x)| assert!((slope - (2.0 * x).sin()).abs() < 1e-6));
    Ok(())
}
