//! What programs written against candle do with variables, scalars and shapes.

use candle::{D, DType, Device, Result, Scalar, Shape, StreamTensor, StreamingBinOp, StreamingModule, Tensor, Var};
use opforge as candle;

const CPU: &Device = &Device::Cpu;

#[test]
fn a_variable_of_a_variable_is_the_same_one() -> Result<()> {
    let v = Var::new(&[1f32, 2.0], CPU)?;
    let same = Var::from_tensor(v.as_tensor())?;
    assert_eq!(same.id(), v.id());
    let grads = v.sqr()?.sum_all()?.backward()?;
    assert_eq!(grads.get(&same).expect("a gradient").to_vec1::<f32>()?, [2.0, 4.0]);
    same.set(&Tensor::new(&[5f32, 6.0], CPU)?)?;
    assert_eq!(v.to_vec1::<f32>()?, [5.0, 6.0]);
    Ok(())
}

#[test]
fn a_variable_of_another_tensor_is_a_copy_outside_of_its_graph() -> Result<()> {
    let (v, plain) = (Var::new(&[1f32, 2.0], CPU)?, Tensor::new(&[3f32, 4.0], CPU)?);
    for tensor in [v.sqr()?, v.detach(), plain] {
        let before = tensor.to_vec1::<f32>()?;
        let var = Var::from_tensor(&tensor)?;
        assert!(var.is_variable() && var.id() != tensor.id() && !var.shares_storage(&tensor));
        var.set(&var.zeros_like()?)?;
        assert_eq!(tensor.to_vec1::<f32>()?, before);
        assert!(var.sqr()?.backward()?.get(&v).is_none());
    }
    let whole = Var::from_tensor(&Tensor::new(&[1i64], CPU)?)?;
    assert!(!whole.is_variable());
    Ok(())
}

#[test]
fn variables_are_shown_as_tensors() -> Result<()> {
    let v = Var::new(&[1f32, 2.0], CPU)?;
    assert_eq!(v.to_string(), v.as_tensor().to_string());
    Ok(())
}

#[test]
fn scalars_have_constructors_by_dtype() -> Result<()> {
    let t = Tensor::zeros(2, DType::F32, CPU)?;
    t.const_set(1f32.into())?;
    assert_eq!(t.to_vec1::<f32>()?, [1.0, 1.0]);
    t.const_set(Scalar::F32(2.5))?;
    assert_eq!(t.to_vec1::<f32>()?, [2.5, 2.5]);
    assert_eq!((Scalar::U8(7), Scalar::I64(-1)), (Scalar::Int(7), Scalar::Int(-1)));
    assert_eq!(Scalar::BF16(candle::bf16::ONE), Scalar::F64(1.0));
    Ok(())
}

#[test]
fn elements_roll() -> Result<()> {
    let t = Tensor::new(&[[0f32, 1.0], [2.0, 3.0], [4.0, 5.0]], CPU)?;
    assert_eq!(t.roll(1, 0)?.to_vec2::<f32>()?, [[4.0, 5.0], [0.0, 1.0], [2.0, 3.0]]);
    assert_eq!(t.roll(-4, 0)?.to_vec2::<f32>()?, [[2.0, 3.0], [4.0, 5.0], [0.0, 1.0]]);
    assert_eq!(t.roll(3, D::Minus1)?.to_vec2::<f32>()?, [[1.0, 0.0], [3.0, 2.0], [5.0, 4.0]]);
    assert!(t.roll(1, 2).is_err());
    Ok(())
}

#[test]
fn shapes_and_strides() -> Result<()> {
    let shape = Shape::from((2, 3));
    assert_eq!((shape.dim(0)?, shape.dim(D::Minus1)?), (2, 3));
    assert!(shape.dim(2).is_err());
    let t = Tensor::zeros(shape, DType::F32, CPU)?;
    assert!(!t.is_fortran_contiguous() && t.t()?.is_fortran_contiguous());
    Ok(())
}

#[test]
fn streams_are_at_the_root() -> Result<()> {
    let piece = StreamTensor::from_tensor(Tensor::new(&[1f32, 2.0], CPU)?);
    let mut sum = StreamingBinOp::new(candle::streaming::BinOp::Add, D::Minus1);
    assert_eq!(sum.step(&piece, &piece)?.as_option().expect("a piece").to_vec1::<f32>()?, [2.0, 4.0]);
    StreamingModule::reset_state(&mut candle::streaming::Map::from(|x: &Tensor| x.sqr()));
    Ok(())
}
