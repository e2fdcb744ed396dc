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

#[test]
fn an_in_place_call_keeps_what_it_overwrites() -> Result<()> {
    let w = Var::new(&[1f32, 2.0], CPU)?;
    let y = w.affine(2.0, 0.0)?;
    let factor = Var::new(&[3f32, 4.0], CPU)?;
    y.mul_(&factor)?;
    // The factor's gradient needs what y was before.
    let grads = y.sum_all()?.backward()?;
    assert_eq!(grads.get(&factor).unwrap().to_vec1::<f32>()?, [2.0, 4.0]);
    Ok(())
}

#[test]
fn an_in_place_call_joins_the_graph() -> Result<()> {
    let w = Var::new(&[1f32, -2.0], CPU)?;
    let y = w.affine(3.0, 0.0)?;
    y.add_(&w)?;
    let grads = y.sqr()?.sum_all()?.backward()?;
    assert_eq!(grads.get(&w).unwrap().to_vec1::<f32>()?, [32.0, -64.0]);
    Ok(())
}

#[test]
fn leaves_refuse_in_place_gradients() -> Result<()> {
    let w = Var::new(&[1f32, -2.0], CPU)?;
    assert_eq!(w.add_(&w).unwrap_err().kind(), ErrorKind::Autograd);
    // A leaf whose value is replaced keeps its views' history.
    let view = w.narrow(0, 0, 1)?;
    w.set(&Tensor::new(&[5f32, 6.0], CPU)?)?;
    let grads = view.sqr()?.sum_all()?.backward()?;
    assert_eq!(grads.get(&w).unwrap().to_vec1::<f32>()?, [10.0, 0.0]);
    Ok(())
}

#[test]
fn fused_and_composed_slopes_agree() -> Result<()> {
    use opforge::autograd::{BackwardOptions, backward};
    type F = fn(&Tensor) -> Result<Tensor>;
    let functions: [F; 6] = [Tensor::relu, Tensor::tanh, Tensor::sigmoid, Tensor::silu, Tensor::gelu, Tensor::gelu_erf];
    let x = Var::new(&[-3f64, -0.5, 0.25, 2.0], CPU)?;
    for f in functions {
        let gradient = |create_graph| {
            let options = BackwardOptions { create_graph, ..Default::default() };
            backward(&[(f(&x)?, None)], options)?.get(&x).unwrap().to_vec1::<f64>()
        };
        for (fused, composed) in gradient(false)?.into_iter().zip(gradient(true)?) {
            assert!((fused - composed).abs() < 1e-12, "{fused} {composed}");
        }
    }
    Ok(())
}

#[test]
fn as_strided_of_a_view_gives_the_views_elements_their_gradients() -> Result<()> {
    let w = Var::new(&[0f64, 1.0, 2.0, 3.0, 4.0, 5.0], CPU)?;
    // Elements 4 and 2 of the storage; the second is shown twice.
    let view = w.narrow(0, 2, 3)?.as_strided((2, 2), &[0, 2], 2)?;
    assert_eq!(view.to_vec2::<f64>()?, [[2.0, 4.0], [2.0, 4.0]]);
    let grads = view.sqr()?.sum_all()?.backward()?;
    assert_eq!(grads.get(&w).unwrap().to_vec1::<f64>()?, [0.0, 0.0, 8.0, 0.0, 16.0, 0.0]);
    Ok(())
}
