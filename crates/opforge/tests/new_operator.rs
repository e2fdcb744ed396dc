//! An operator takes one file: the fixture defines one outside of the crate, and it has everything that the built-in ones have.

#[macro_use]
mod common;
#[path = "fixtures/cube.rs"]
mod cube;

use common::Report;
use opforge::declaration::{Type, Value};
use opforge::registry::{operators, register};
use opforge::{Device, ErrorKind, Tensor, Var};

macro_rules! suite {
    ($($name:ident => $check:path;)*) => {
        $(#[test]
        fn $name() {
            let mut report = Report::default();
            $check(&cube::DEFINITION, &mut report);
            report.finish();
        })*
    };
}

each_check!(suite);

#[test]
fn it_enters_the_registry_once() {
    let listed = || operators().iter().filter(|d| d.name == "cube").count();
    assert_eq!(listed(), 0);
    register(&cube::DEFINITION).unwrap();
    assert_eq!(listed(), 1);
    let again = register(&cube::DEFINITION).unwrap_err();
    assert_eq!(again.kind(), ErrorKind::Value);
    assert!(again.to_string().contains("cube"), "{again}");
    assert_eq!(listed(), 1);
}

#[test]
fn it_has_a_gradient() {
    let x = Var::new(&[2f64, -3.0], &Device::Cpu).unwrap();
    let y = cube::cube(&x).unwrap();
    assert_eq!(y.to_vec1::<f64>().unwrap(), [8.0, -27.0]);
    let gradients = y.backward().unwrap();
    assert_eq!(gradients.get(&x).unwrap().to_vec1::<f64>().unwrap(), [12.0, 27.0]);
}

#[test]
fn its_signature_calls_it_with_values() {
    let function = cube::DEFINITION.function;
    assert_eq!((function.name, function.params.len(), function.params[0].ty), ("cube", 1, Type::Tensor));
    assert!(function.doc.contains("element by element"));
    let x = Tensor::new(&[2i32], &Device::Cpu).unwrap();
    let Value::Tensor(y) = (function.call)(&[Value::Tensor(x)]).unwrap() else { panic!("not a tensor") };
    assert_eq!(y.to_vec1::<i32>().unwrap(), [8]);
    let error = (function.call)(&[Value::Text("two".into())]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::DType);
    assert!(error.to_string().contains("cube") && error.to_string().contains("input"), "{error}");
}
