//! A registered operator of a library passes every check that opforge's own operators pass.

#[macro_use]
#[path = "../../opforge/tests/common/mod.rs"]
mod common;

use std::path::Path;
use std::process::Command;
use std::sync::LazyLock;

use common::Report;
use opforge::declaration::{Array, DTypes, Definition, Sample, Value};
use opforge::registry::{operators, read_operator};
use opforge::term::Parser;
use opforge::{DType, Device, Tensor};
use opforge_custom::CustomOp;

static MUL_ADD: LazyLock<CustomOp> = LazyLock::new(|| {
    let folder = tempfile::tempdir().unwrap();
    let library = folder.path().join("muladd.so");
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut compiler = Command::new("c++");
    compiler.args(["-std=c++17", "-O2", "-shared", "-fPIC", "-I"]).arg(here.join("include"));
    let status = compiler.arg("-o").arg(&library).arg(here.join("tests/kernels/muladd.cc")).status();
    assert!(status.unwrap().success());
    let op = CustomOp::open(&library, "MulAdd").unwrap().named("mul_add");
    let op = op.with_schema("(Tensor x, Tensor y, *, float shift=0.5) -> Tensor").unwrap();
    let op = [DType::F32, DType::F64].into_iter().fold(op, |op, dtype| op.accepts(vec![Some(dtype); 3]));
    let op = op.axes("ab,ab->ab", &[]).unwrap();
    let gradient = |ctx: &opforge_custom::GradientContext<'_>| {
        let grad = &ctx.grads[0];
        Ok(vec![Some(grad.mul(&ctx.inputs[1])?), Some(grad.mul(&ctx.inputs[0])?)])
    };
    op.gradient_by(gradient).unwrap()
});

fn samples() -> Vec<Sample> {
    let inputs = vec![Array::spread(&[3, 4], -2.0..2.0), Array::spread(&[3, 4], 1.0..3.0)];
    let reference = |inputs: &[Array]| {
        let values = inputs[0].data.iter().zip(&inputs[1].data).map(|(x, y)| x * y + 0.5);
        vec![Array::new(&inputs[0].shape, values.collect())]
    };
    vec![MUL_ADD.sample(inputs, reference).unwrap()]
}

static DEFINITION: LazyLock<&'static Definition> = LazyLock::new(|| {
    MUL_ADD.register("x * y + shift.", DTypes::of(&[DType::F32, DType::F64]), samples).unwrap();
    operators().into_iter().find(|definition| definition.name == "mul_add").unwrap()
});

macro_rules! suite {
    ($($name:ident => $check:path;)*) => {
        $(#[test]
        fn $name() {
            let mut report = Report::default();
            $check(*DEFINITION, &mut report);
            report.finish();
        })*
    };
}

each_check!(suite);

#[test]
fn its_signature_is_its_schema() {
    let function = DEFINITION.function;
    assert_eq!(function.to_string(), "mul_add(x: Tensor, y: Tensor, *, shift: Float = 0.5) -> Tensor");
    let x = Tensor::new(&[2f32, 3.0], &Device::Cpu).unwrap();
    let shift = function.params[2].default.unwrap().value.value();
    let Value::Tensor(y) = function.invoke(&[Value::Tensor(x.clone()), Value::Tensor(x), shift]).unwrap() else {
        panic!("not a tensor")
    };
    assert_eq!(y.to_vec1::<f32>().unwrap(), [4.5, 9.5]);
    assert!(function.invoke(&[]).unwrap_err().to_string().contains("mul_add"));
}

#[test]
fn its_text_names_it() {
    let _ = *DEFINITION;
    let op = MUL_ADD.sample(vec![], |_| vec![]).unwrap();
    let text = op.operator().unwrap().term().to_string();
    assert_eq!(text, "CustomOp(name=\"mul_add\", attributes=[[\"shift\", Float(0.5)]])");
    let read = |text: &str| read_operator(&Parser::new(text, "operator").term().unwrap());
    assert!(read(&text).unwrap().same(op.operator().unwrap()));
    let changed = read(&text.replace("0.5", "0.25")).unwrap();
    assert!(!changed.same(op.operator().unwrap()) && changed.term().to_string().contains("Float(0.25)"));
    let error = read(&text.replace("mul_add", "mul_sub")).unwrap_err().to_string();
    assert!(error.contains("mul_sub") && error.contains("registered"), "{error}");
    assert!(read(&text.replace("shift", "drift")).is_err());
}

#[test]
fn a_second_operator_of_the_name_is_refused() {
    let _ = *DEFINITION;
    let error = MUL_ADD.register("again", DTypes::FLOATS, samples).unwrap_err().to_string();
    assert!(error.contains("mul_add"), "{error}");
}
