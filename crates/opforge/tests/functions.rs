//! The functions of the registry as data: signatures, documentation, dynamic calls.

use std::collections::HashSet;

use opforge::declaration::{Type, Value};
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
        let error = (function.call)(&[]).expect_err(function.name);
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
    let Value::Tensor(total) = (sum.call)(&arguments)? else { panic!("sum gives a tensor") };
    assert_eq!(total.to_vec2::<f32>()?, [[3.0], [7.0]]);
    Ok(())
}
