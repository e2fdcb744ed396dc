//! Gradients of custom operators.

use crate::common::{CPU, error, op, vector};
use opforge::autograd::{BackwardOptions, grad};
use opforge::{DType, Result, Tensor, Var};
use opforge_custom::{CustomOp, Gradient, ShapeRule};

fn square() -> CustomOp {
    op("square.cc", "Square").shapes(ShapeRule::Like(0)).attr("scale", 3f32).unwrap()
}

/// By a function made of opforge's operators.
fn by_function() -> CustomOp {
    let gradient =
        |ctx: &opforge_custom::GradientContext<'_>| Ok(vec![Some(ctx.inputs[0].affine(6.0, 0.0)?.mul(&ctx.grads[0])?)]);
    square().gradient_by(gradient).unwrap()
}

/// By another operator, whose schema asks for the attribute.
fn by_operator() -> CustomOp {
    let slope = op("square.cc", "SquareGrad").shapes(ShapeRule::Like(0));
    let slope = slope.with_schema("(Tensor x, Tensor y, Tensor grad, *, float scale) -> Tensor").unwrap();
    square().gradient(Gradient::Op(slope)).unwrap()
}

fn variable() -> Var {
    Var::new(&[1f64, -2.0, 0.5], CPU).unwrap()
}

fn values(tensor: &Tensor) -> Vec<f64> {
    tensor.to_vec1().unwrap()
}

#[test]
fn by_a_function_and_by_another_operator() -> Result<()> {
    for op in [by_function(), by_operator()] {
        let x = variable();
        let y = op.apply(&[&x])?;
        assert_eq!(values(&y), [3.0, 12.0, 0.75]);
        let gradients = y.affine(10.0, 0.0)?.sum_all()?.backward()?;
        assert_eq!(values(gradients.get(&x).unwrap()), [60.0, -120.0, 30.0]);
    }
    Ok(())
}

#[test]
fn a_view_and_a_repeated_input() -> Result<()> {
    let product = op("add.cc", "Add").shapes(ShapeRule::Like(0));
    let product = product.gradient_by(|ctx| Ok(vec![Some(ctx.grads[0].clone()), Some(ctx.grads[0].clone())]))?;
    let x = Var::new(&[[1f32, 2.0], [3.0, 4.0]], CPU)?;
    let row = x.t()?.narrow(0, 1, 1)?;
    let gradients = product.apply(&[&row, &row])?.sum_all()?.backward()?;
    assert_eq!(gradients.get(&x).unwrap().to_vec2::<f32>()?, [[0.0, 2.0], [0.0, 2.0]]);
    Ok(())
}

#[test]
fn second_derivatives() -> Result<()> {
    let create = BackwardOptions { retain_graph: true, create_graph: true };
    let slope = |op: &CustomOp, x: &Var| {
        grad(&[(op.apply(&[x])?.sum_all()?, None)], &[x], create).map(|mut found| found.swap_remove(0).unwrap())
    };
    let x = variable();
    let second = slope(&by_function(), &x)?.sum_all()?.backward()?;
    assert_eq!(values(second.get(&x).unwrap()), [6.0; 3]);
    // An operator is differentiated again by the gradient of its own.
    let slope_op = op("square.cc", "SquareGrad").shapes(ShapeRule::Like(0)).attr("scale", 3f32)?;
    let slope_op = slope_op.gradient_by(|ctx| {
        let [x, grad] = [&ctx.inputs[0], &ctx.inputs[2]].map(|t| t.affine(6.0, 0.0));
        Ok(vec![Some(grad?.mul(&ctx.grads[0])?), None, Some(x?.mul(&ctx.grads[0])?)])
    })?;
    let twice = square().gradient(Gradient::Op(slope_op))?;
    let second = slope(&twice, &x)?.sum_all()?.backward()?;
    assert_eq!(values(second.get(&x).unwrap()), [6.0; 3]);
    let once = slope(&by_operator(), &x)?.sum_all()?.backward();
    error(once, &["SquareGrad", "gradient"]);
    Ok(())
}

#[test]
fn what_a_gradient_gets() -> Result<()> {
    let gradient = |ctx: &opforge_custom::GradientContext<'_>| {
        assert_eq!((ctx.inputs.len(), ctx.outputs.len(), ctx.grads.len()), (2, 3, 3));
        assert_eq!(ctx.needs, [true, false]);
        assert_eq!(ctx.outputs[1].to_vec1::<f32>()?, [18.0, 16.0]);
        // Nothing depended on the sum and the quotient.
        assert_eq!(ctx.grads[0].to_vec1::<f32>()?, [0.0; 2]);
        Ok(vec![Some(ctx.grads[1].mul(&ctx.inputs[1])?), None])
    };
    let op = op("several.cc", "AddMulDiv").shapes(ShapeRule::Like(0)).outputs(3).gradient_by(gradient)?;
    let (x, y) = (Var::new(&[6f32, 8.0], CPU)?, vector(&[3.0, 2.0]));
    let outputs = op.apply_all(&[&x, &y])?;
    let gradients = outputs[1].sum_all()?.backward()?;
    assert_eq!(gradients.get(&x).unwrap().to_vec1::<f32>()?, [3.0, 2.0]);
    Ok(())
}

#[test]
fn gradients_of_the_wrong_form() -> Result<()> {
    let backward = |op: CustomOp| op.apply(&[&variable()])?.sum_all()?.backward();
    let wrong_shape = square().gradient_by(|ctx| Ok(vec![Some(ctx.grads[0].sum_all()?)]))?;
    error(backward(wrong_shape), &["Square", "gradient of input 0", "[]", "[3]"]);
    let wrong_count = square().gradient_by(|_| Ok(vec![None, None]))?;
    error(backward(wrong_count), &["Square", "gave 2 tensors for 1 inputs"]);
    let none = square().gradient_by(|_| Ok(vec![None]))?;
    let x = variable();
    assert!(none.apply(&[&x])?.sum_all()?.backward()?.get(&x).is_none());
    error(backward(square()), &["Square", "a declared gradient"]);
    let failing = square().gradient_by(|ctx| ctx.inputs[0].reshape(7).map(|t| vec![Some(t)]))?;
    error(backward(failing), &["reshape"]);
    let named = square().with_schema("(Tensor data, *, float scale) -> Tensor")?;
    let named = named.gradient_by(|ctx| Ok(vec![Some(ctx.grads[0].sum_all()?)]))?;
    error(backward(named), &["gradient of data"]);
    Ok(())
}

#[test]
fn a_gradient_of_another_dtype_is_converted() -> Result<()> {
    let op = square().gradient_by(|ctx| Ok(vec![Some(ctx.grads[0].to_dtype(DType::F32)?)]))?;
    let x = variable();
    let gradients = op.apply(&[&x])?.sum_all()?.backward()?;
    assert_eq!(gradients.get(&x).unwrap().dtype(), DType::F64);
    Ok(())
}

#[test]
fn attributes_of_the_call_reach_the_gradient() -> Result<()> {
    let slope = op("square.cc", "SquareGrad").shapes(ShapeRule::Like(0));
    let slope = slope.with_schema("(Tensor x, Tensor y, Tensor grad, *, float scale) -> Tensor")?;
    let square =
        op("square.cc", "Square").shapes(ShapeRule::Like(0)).with_schema("(Tensor x, float scale) -> Tensor")?;
    let square = square.gradient(Gradient::Op(slope))?;
    let x = variable();
    let y = square.apply_with(&[&x], &[("scale".into(), 0.5f32.into())])?;
    assert_eq!(values(y[0].sum_all()?.backward()?.get(&x).unwrap()), [1.0, -2.0, 0.5]);
    Ok(())
}

#[test]
fn functions_of_tensors_have_gradients_too() -> Result<()> {
    let cube = CustomOp::from_fn("cube", |x, _| Ok(vec![x[0].mul(&x[0])?.mul(&x[0])?]));
    let x = variable();
    error(cube.apply(&[&x])?.sum_all()?.backward(), &["cube", "a declared gradient"]);
    let cube = cube.gradient_by(|ctx| Ok(vec![Some(ctx.inputs[0].sqr()?.affine(3.0, 0.0)?.mul(&ctx.grads[0])?)]))?;
    let gradients = cube.apply(&[&x])?.sum_all()?.backward()?;
    assert_eq!(values(gradients.get(&x).unwrap()), [3.0, 12.0, 0.75]);
    assert!(!cube.apply(&[&x.detach()])?.requires_grad());
    Ok(())
}
