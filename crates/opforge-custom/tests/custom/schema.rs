//! Declarations: attributes at the call, changes in place, functions as operators.

use crate::common::{CPU, error, fails, op, vector};
use opforge::{DType, Device, Result, Tensor, Var};
use opforge_custom::{Attribute, CustomOp, ShapeRule};

const POWER: &str = "(Tensor x, int exponent, float base=0.5, *, str rounding=\"none\") -> Tensor";

fn power() -> CustomOp {
    op("power.cc", "Power").shapes(ShapeRule::Like(0)).with_schema(POWER).unwrap()
}

fn call(op: &CustomOp, attributes: &[(&str, Attribute)]) -> Result<Vec<f32>> {
    let attributes: Vec<_> = attributes.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
    op.apply_with(&[&vector(&[1.0, 2.0])], &attributes)?[0].to_vec1()
}

#[test]
fn attributes_at_the_call_and_defaults() -> Result<()> {
    let (int, float) = (Attribute::Int, Attribute::Float);
    assert_eq!(call(&power(), &[("exponent", int(2))])?, [1.5, 4.5]);
    assert_eq!(call(&power(), &[("base", float(1.0)), ("exponent", int(3))])?, [2.0, 9.0]);
    assert_eq!(call(&power(), &[("exponent", int(1)), ("rounding", "floor".into())])?, [1.0, 2.0]);
    // Whole numbers serve as floats, and what is fixed before is a default.
    assert_eq!(call(&power(), &[("exponent", int(1)), ("base", int(7))])?, [8.0, 9.0]);
    let fixed = power().attr("exponent", 2)?.attr("base", 0.0)?;
    assert_eq!(call(&fixed, &[])?, [1.0, 4.0]);
    assert_eq!(call(&fixed, &[("exponent", int(0))])?, [1.0, 1.0]);
    Ok(())
}

#[test]
fn attributes_that_the_schema_does_not_have() {
    error(call(&power(), &[]), &["Power", "exponent", "not given", "a value of type int"]);
    error(call(&power(), &[("exponent", 0.5.into())]), &["Power", "exponent", "0.5 of type float", "type int"]);
    error(call(&power(), &[("exponent", true.into())]), &["exponent", "type bool", "type int"]);
    error(call(&power(), &[("exp", 2.into())]), &["attribute", "exp", "attributes exponent, base, rounding"]);
    error(power().attr("rounding", 3), &["rounding", "3 of type int", "type str"]);
    error(power().attr("axis", 3).map(drop), &["axis"]);
    let fixed_before = op("power.cc", "Power").attr("axis", 3).unwrap().with_schema(POWER);
    error(fixed_before, &["axis"]);
}

#[test]
fn the_number_of_tensors_is_checked() {
    let x = vector(&[1.0]);
    let power = power().attr("exponent", 1).unwrap();
    fails(&power, &[&x, &x], &["Power", "inputs", "2", "1 tensors", POWER]);
    error(power.infer(&[], &[]), &["1 tensors"]);
}

fn increment() -> CustomOp {
    op("in_place.cc", "Increment").with_schema("(Tensor(a!) x) -> Tensor(a!)").unwrap()
}

#[test]
fn an_output_that_is_an_input() -> Result<()> {
    let x = vector(&[1.0, 2.0]);
    let version = x.version();
    let y = increment().apply(&[&x])?;
    assert_eq!(x.to_vec1::<f32>()?, [2.0, 3.0]);
    assert!(y.shares_storage(&x) && x.version() > version);
    increment().apply(&[&y])?;
    assert_eq!(x.to_vec1::<f32>()?, [3.0, 4.0]);
    Ok(())
}

#[test]
fn views_are_changed_where_they_lie() -> Result<()> {
    let x = Tensor::new(&[[1f32, 2.0, 3.0], [4.0, 5.0, 6.0]], CPU)?;
    let version = x.version();
    let column = increment().apply(&[&x.narrow(1, 1, 1)?])?;
    assert_eq!(x.to_vec2::<f32>()?, [[1.0, 3.0, 3.0], [4.0, 6.0, 6.0]]);
    assert!(column.shares_storage(&x) && x.version() > version);
    increment().apply(&[&x.t()?])?;
    assert_eq!(x.to_vec2::<f32>()?, [[2.0, 4.0, 4.0], [5.0, 7.0, 7.0]]);
    Ok(())
}

#[test]
fn an_input_that_is_changed_without_being_an_output() -> Result<()> {
    let accumulate = op("in_place.cc", "Accumulate").shapes(ShapeRule::Fixed(vec![vec![]]));
    let accumulate = accumulate.with_schema("(Tensor(a!) total, Tensor x) -> Tensor")?;
    let (total, x) = (Tensor::zeros((2, 2), DType::F32, CPU)?, Tensor::new(&[[1f32, 2.0], [3.0, 4.0]], CPU)?);
    assert_eq!(accumulate.apply(&[&total, &x])?.to_scalar::<f32>()?, 0.0);
    assert_eq!(accumulate.apply(&[&total.t()?, &x])?.to_scalar::<f32>()?, 10.0);
    assert_eq!(total.to_vec2::<f32>()?, [[2.0, 5.0], [5.0, 8.0]]);
    assert_eq!(x.to_vec2::<f32>()?, [[1.0, 2.0], [3.0, 4.0]]);
    fails(&accumulate, &[&x, &x], &["Accumulate", "memory that no other argument shares"]);
    Ok(())
}

#[test]
fn changes_in_place_and_gradients() -> Result<()> {
    let leaf = Var::new(&[1f32, 2.0], CPU)?;
    error(increment().apply(&[&leaf]), &["Increment", "leaf"]);
    assert_eq!(leaf.to_vec1::<f32>()?, [1.0, 2.0]);
    // What is not recorded may be changed.
    opforge::no_grad(|| increment().apply(&[&leaf]))?;
    assert_eq!(leaf.to_vec1::<f32>()?, [2.0, 3.0]);
    // Backward notices that what it saved has changed.
    let (x, y) = (Var::new(&[1f32, 2.0], CPU)?, vector(&[3.0, 4.0]));
    let product = x.mul(&y)?;
    increment().apply(&[&y])?;
    error(product.sum_all()?.backward(), &["version"]);
    error(increment().gradient_by(|_| Ok(vec![None])).map(drop), &["gradient", "changes its inputs"]);
    let with_gradient = op("in_place.cc", "Increment").gradient_by(|_| Ok(vec![None]))?;
    error(with_gradient.with_schema("(Tensor(a!) x) -> Tensor(a!)").map(drop), &["no changes in place"]);
    Ok(())
}

#[test]
fn functions_as_operators() -> Result<()> {
    let affine = CustomOp::from_fn("scaled_sum", |x, attributes| {
        let Some(Attribute::Float(scale)) = attributes.get("scale") else { unreachable!("the schema has it") };
        let sum = x[0].add(&x[1])?;
        Ok(vec![sum.affine(f64::from(*scale), 0.0)?, sum])
    });
    let affine = affine.with_schema("(Tensor x, Tensor y, float scale=2.0) -> (Tensor, Tensor)")?;
    let (x, y) = (vector(&[1.0, 2.0]), vector(&[3.0, 4.0]));
    let outputs = affine.apply_all(&[&x, &y])?;
    assert_eq!(outputs[0].to_vec1::<f32>()?, [8.0, 12.0]);
    let outputs = affine.apply_with(&[&x, &y], &[("scale".into(), Attribute::Int(10))])?;
    assert_eq!(outputs[0].to_vec1::<f32>()?, [40.0, 60.0]);
    assert_eq!(outputs[1].to_vec1::<f32>()?, [4.0, 6.0]);
    Ok(())
}

#[test]
fn functions_that_fail() -> Result<()> {
    let x = vector(&[1.0]);
    let failing = CustomOp::from_fn("failing", |x, _| x[0].reshape(5).map(|y| vec![y]));
    fails(&failing, &[&x], &["reshape"]);
    let one = CustomOp::from_fn("one", |x, _| Ok(x.to_vec())).outputs(2);
    fails(&one, &[&x], &["one", "gave 1 outputs where 2 are declared"]);
    let same = CustomOp::from_fn("same", |x, _| Ok(x.to_vec()));
    assert!(!same.apply(&[&x])?.shares_storage(&x));
    Ok(())
}

#[test]
fn functions_on_tensors_without_memory() -> Result<()> {
    let twice = CustomOp::from_fn("twice", |x, _| Ok(vec![x[0].add(&x[0])?]));
    let x = Tensor::zeros((2, 3), DType::F32, &Device::Meta)?;
    error(twice.apply(&[&x]), &["twice", "on the device meta", "a function for those without"]);
    let twice = twice.with_fake(|x, _| Ok(vec![x[0].zeros_like()?]));
    assert_eq!(twice.apply(&[&x])?.dims(), [2, 3]);
    assert_eq!(twice.apply(&[&vector(&[1.0])])?.to_vec1::<f32>()?, [2.0]);
    Ok(())
}

#[test]
fn declarations_change_nothing_of_other_copies() -> Result<()> {
    let plain = op("power.cc", "Power").shapes(ShapeRule::Like(0)).attr("base", 0f32)?.attr("rounding", "none")?;
    let (square, cube) = (plain.clone().attr("exponent", 2)?, plain.clone().attr("exponent", 3)?.named("cube"));
    assert_eq!((call(&square, &[])?, call(&cube, &[])?), (vec![1.0, 4.0], vec![1.0, 8.0]));
    assert_eq!((square.name(), cube.name()), ("Power", "cube"));
    fails(&plain, &[&vector(&[1.0])], &["there is no attribute 'exponent'"]);
    Ok(())
}
