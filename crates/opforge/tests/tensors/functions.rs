//! The functions of the registry as data: signatures, documentation, dynamic calls.

use std::collections::HashSet;

use opforge::declaration::{Type, Value};
use opforge::functional as f;
use opforge::registry::operators;
use opforge::{Device, ErrorKind, Result, Scalar, Tensor};

#[test]
fn every_function_is_documented_and_named_once() {
    let mut names = HashSet::new();
    for definition in operators() {
        let function = definition.function;
        assert!(names.insert(definition.name), "two operators are named {}", definition.name);
        assert!(!function.doc.trim().is_empty(), "{} has no documentation", function.name);
        assert!(!function.returns.is_empty(), "{} returns nothing", function.name);
        assert!((definition.samples)().iter().all(|s| !format!("{s:?}").is_empty()));
        let positional_after_keyword =
            function.params.windows(2).any(|pair| pair[0].keyword_only && !pair[1].keyword_only);
        assert!(!positional_after_keyword, "{function}");
    }
}

#[test]
fn signatures_read_as_declared() {
    let of = |name: &str| operators().into_iter().find(|d| d.name == name).unwrap().function.to_string();
    assert_eq!(of("relu"), "relu(input: Tensor) -> Tensor");
    assert_eq!(
        of("sum"),
        "sum(input: Tensor, dim: Ints? = None, keepdim: Bool = false, *, dtype: DType? = None) -> Tensor"
    );
    assert_eq!(of("add"), "add(input: Operand, other: Operand, *, alpha: Scalar = Scalar::Int(1)) -> Tensor");
}

#[test]
fn a_missing_argument_is_named() {
    for definition in operators() {
        let function = definition.function;
        let Some(first) = function.params.first().filter(|p| !matches!(p.ty, Type::Optional(_))) else { continue };
        let error = function.invoke(&[]).expect_err(function.name);
        assert_eq!(error.kind(), ErrorKind::DType, "{}: {error}", function.name);
        let text = error.to_string();
        assert!(text.contains(function.name) && text.contains(first.name), "{text}");
    }
}

#[test]
fn functions_can_be_called_with_dynamic_values() -> Result<()> {
    let x = Tensor::new(&[[1f32, 2.0], [3.0, 4.0]], &Device::Cpu)?;
    let sum = operators().into_iter().find(|d| d.name == "sum").unwrap().function;
    let arguments = [Value::Tensor(x), Value::Ints(vec![-1]), Value::Scalar(Scalar::Bool(true)), Value::None];
    let Value::Tensor(total) = sum.invoke(&arguments)? else { panic!("sum gives a tensor") };
    assert_eq!(total.to_vec2::<f32>()?, [[3.0], [7.0]]);
    Ok(())
}

/// Of floats of one dtype one kernel, of others two.
#[test]
fn add_and_sub_with_alpha_have_values_and_gradients() -> Result<()> {
    let (a, b) = (Tensor::new(&[[1f64, 2.0], [3.0, 4.0]], &Device::Cpu)?, Tensor::new(&[10f64, 20.0], &Device::Cpu)?);
    [&a, &b].iter().try_for_each(|t| t.set_requires_grad(true))?;
    let sum = f::add((&a).into(), (&b).into(), 0.5.into())?;
    assert_eq!(sum.to_vec2::<f64>()?, [[6.0, 12.0], [8.0, 14.0]]);
    let difference = f::sub((&sum).into(), (&b).into(), 2i64.into())?;
    assert_eq!(difference.to_vec2::<f64>()?, [[-14.0, -28.0], [-12.0, -26.0]]);
    let gradients = difference.sum_all()?.backward()?;
    assert_eq!(gradients.get(&a).expect("a gradient").to_vec2::<f64>()?, [[1.0; 2]; 2]);
    assert_eq!(gradients.get(&b).expect("a gradient").to_vec1::<f64>()?, [-3.0; 2]);
    let whole = Tensor::new(&[1i32, 2], &Device::Cpu)?;
    assert_eq!(f::add((&whole).into(), (&whole).into(), 3i64.into())?.to_vec1::<i32>()?, [4, 8]);
    assert_eq!(f::sub((&whole).into(), (&b).into(), 0.5.into())?.to_vec1::<f64>()?, [-4.0, -8.0]);
    Ok(())
}
