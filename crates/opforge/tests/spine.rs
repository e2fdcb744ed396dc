//! The spine: values, gradients, views and errors through every layer.

use opforge::{Device, ErrorKind, Result, Tensor, Var};

const CPU: &Device = &Device::Cpu;

#[test]
fn relu_makes_the_whole_journey() -> Result<()> {
    let w = Var::new(&[[1f32, -2.0], [3.0, 4.0]], CPU)?;
    let loss = w.relu()?.sqr()?.sum_all()?;
    assert_eq!(loss.to_scalar::<f32>()?, 26.0);
    let grads = loss.backward()?;
    assert_eq!(grads.get(&w).unwrap().to_vec2::<f32>()?, [[2.0, 0.0], [6.0, 8.0]]);
    Ok(())
}

#[test]
fn views_share_storage_and_carry_gradients() -> Result<()> {
    let w = Var::new(&[[1f64, 2.0, 3.0], [4.0, 5.0, 6.0]], CPU)?;
    let view = w.t()?.narrow(0, 1, 2)?;
    assert!(view.shares_storage(&w));
    let grads = (view.sqr()?.sum_all()?).backward()?;
    assert_eq!(grads.get(&w).unwrap().to_vec2::<f64>()?, [[0.0, 4.0, 6.0], [0.0, 10.0, 12.0]]);
    Ok(())
}

#[test]
fn a_saved_tensor_changed_in_place_is_an_error() -> Result<()> {
    let w = Var::new(&[1f32, 2.0], CPU)?;
    let y = w.affine(2.0, 0.0)?;
    let z = y.sqr()?;
    y.add_(&Tensor::ones(2, opforge::DType::F32, CPU)?)?;
    let error = z.sum_all()?.backward().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Autograd);
    assert!(error.to_string().contains("sqr"), "{error}");
    Ok(())
}
