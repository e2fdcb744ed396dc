//! Kernels in Rust do what they say, loaded like any library.

mod common;

use common::{CPU, fails, kernel, vector};
use opforge::{DType, Device, Result, Scalar, Tensor};
use opforge_custom::{DTypeRule, ShapeRule};

#[test]
fn attributes_and_inference() -> Result<()> {
    let scale = kernel("scale").attr("factor", 2.5f32)?;
    assert_eq!(scale.apply(&[&vector(&[1.0, -2.0])])?.to_vec1::<f32>()?, [2.5, -5.0]);
    let matrix = Tensor::new(&[[1f32, 2.0], [3.0, 4.0]], CPU)?;
    assert_eq!(scale.apply(&[&matrix.t()?])?.to_vec2::<f32>()?, [[2.5, 7.5], [5.0, 10.0]]);
    Ok(())
}

#[test]
fn a_generic_kernel_takes_every_dtype_that_it_names() -> Result<()> {
    let add = kernel("add");
    let numbers = DType::ALL.into_iter().filter(|dtype| dtype.is_int() || dtype.is_float());
    for dtype in numbers {
        let x = Tensor::new(&[1u8, 2, 3], CPU)?.to_dtype(dtype)?;
        let sum = add.apply(&[&x, &x])?;
        assert_eq!(sum.dtype(), dtype);
        assert_eq!(sum.to_dtype(DType::F64)?.to_vec1::<f64>()?, [2.0, 4.0, 6.0], "{dtype}");
    }
    Ok(())
}

#[test]
fn truth_values_and_complex_numbers() -> Result<()> {
    let x = vector(&[0.0, 3.0]).ne(&vector(&[0.0, 0.0]))?.to_dtype(DType::Bool)?;
    assert_eq!(kernel("LogicalNot").apply(&[&x])?.to_vec1::<bool>()?, [true, false]);
    let conjugate = kernel("conjugate");
    let z = vector(&[1.0, -2.0]).to_dtype(DType::C64)?;
    let expected = [Scalar::Complex(1.0, -0.0), Scalar::Complex(-2.0, -0.0)];
    assert_eq!(conjugate.apply(&[&z])?.to_scalars()?, expected);
    assert_eq!(conjugate.apply(&[&conjugate.apply(&[&z])?])?.to_scalars()?, z.to_scalars()?);
    Ok(())
}

#[test]
fn indices_and_shapes() -> Result<()> {
    let x = Tensor::new(&[[1f32, 2.0, 3.0], [4.0, 5.0, 6.0]], CPU)?;
    let transposed = kernel("transposed");
    assert_eq!(transposed.apply(&[&x])?.to_vec2::<f32>()?, [[1.0, 4.0], [2.0, 5.0], [3.0, 6.0]]);
    assert_eq!(transposed.infer(&[(vec![-1, 3], DType::F32)], &[])?, [(vec![3, -1], DType::F32)]);
    assert_eq!(transposed.infer(&[(vec![-2], DType::F32)], &[])?, [(vec![-1, -1], DType::F32)]);
    fails(&transposed, &[&vector(&[1.0])], &["x has rank 1; accepted: 2"]);
    Ok(())
}

#[test]
fn several_outputs_of_several_dtypes() -> Result<()> {
    let (x, y) = (Tensor::new(&[7i32, -7, 9], CPU)?, Tensor::new(&[2i32, 2, 3], CPU)?);
    let op = kernel("div_rem").outputs(2);
    let outputs = op.apply_all(&[&x, &y])?;
    assert_eq!(outputs[0].to_vec1::<i64>()?, [3, -3, 3]);
    assert_eq!(outputs[1].to_vec1::<i32>()?, [1, -1, 0]);
    fails(&op, &[&x, &x.zeros_like()?], &["error code 1", "7 cannot be divided by 0"]);
    Ok(())
}

#[test]
fn workspaces_and_data_belong_to_a_signature() -> Result<()> {
    let sums = kernel("column_sums").outputs(2);
    let runs = |outputs: &[Tensor]| outputs[1].to_scalar::<f64>().unwrap();
    let x = Tensor::new(&[[1f32, 2.0], [3.0, 4.0], [5.0, 6.0]], CPU)?;
    for run in 1..4 {
        let outputs = sums.apply_all(&[&x])?;
        assert_eq!(outputs[0].to_vec1::<f32>()?, [9.0, 12.0]);
        assert_eq!(runs(&outputs), f64::from(run));
    }
    let wide = Tensor::ones((2, 1000), DType::F32, CPU)?;
    let outputs = sums.apply_all(&[&wide])?;
    assert_eq!(outputs[0].to_vec1::<f32>()?, [2.0; 1000]);
    assert_eq!(runs(&outputs), 1.0);
    let unknown = sums.infer(&[(vec![-1, 5], DType::F32)], &[])?;
    assert_eq!(unknown, [(vec![5], DType::F32), (vec![], DType::F64)]);
    Ok(())
}

#[test]
fn attributes_of_all_types() -> Result<()> {
    let digest = |optional: bool| -> Result<Vec<f64>> {
        let op = kernel("digest").shapes(ShapeRule::Fixed(vec![vec![9]])).dtypes(DTypeRule::Fixed(vec![DType::F64]));
        let op = op.attr("flag", true)?.attr("int", -3i64)?.attr("float", 0.25f32)?.attr("text", "größer")?;
        let op = op.attr("ints", vec![1i64, 2, 3])?.attr("floats", vec![0.5f32, 1.0])?;
        let op = op.attr("int_rows", vec![vec![1i64], vec![], vec![2, 3]])?;
        let op = op.attr("float_rows", vec![vec![], vec![1f32, 2.0], vec![3.0]])?;
        let op = if optional { op.attr("optional", 8i64)? } else { op };
        op.apply(&[&vector(&[])])?.to_vec1::<f64>()
    };
    assert_eq!(digest(false)?, [1.0, -3.0, 0.25, 6.0, 6.0, 1.5, 16.0, 21.0, -1.0]);
    assert_eq!(digest(true)?[8], 8.0);
    Ok(())
}

#[test]
fn empty_lists_and_texts_are_attributes_too() -> Result<()> {
    let op = kernel("digest").shapes(ShapeRule::Fixed(vec![vec![9]])).dtypes(DTypeRule::Fixed(vec![DType::F64]));
    let op = op.attr("flag", false)?.attr("int", 0i64)?.attr("float", 0f32)?.attr("text", "")?;
    let op = op.attr("ints", Vec::<i64>::new())?.attr("floats", Vec::<f32>::new())?;
    let op = op.attr("int_rows", Vec::<Vec<i64>>::new())?.attr("float_rows", Vec::<Vec<f32>>::new())?;
    assert_eq!(op.apply(&[&vector(&[])])?.to_vec1::<f64>()?, [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, -1.0]);
    Ok(())
}

#[test]
fn rank_0_and_empty_tensors() -> Result<()> {
    let scale = kernel("scale").attr("factor", 3f32)?;
    assert_eq!(scale.apply(&[&Tensor::new(2f32, CPU)?])?.to_scalar::<f32>()?, 6.0);
    let empty = Tensor::zeros((0, 4), DType::F32, CPU)?;
    assert_eq!(scale.apply(&[&empty])?.dims(), [0, 4]);
    assert_eq!(kernel("column_sums").outputs(2).apply_all(&[&empty])?[0].to_vec1::<f32>()?, [0.0; 4]);
    Ok(())
}

#[test]
fn inputs_changed_in_place() -> Result<()> {
    let y = vector(&[10.0, 20.0]);
    for schema in ["(Tensor(a!) x, Tensor y) -> Tensor(a!)", "(Tensor(a!) x, Tensor y) -> ()"] {
        let add_to = kernel("add_to").with_schema(schema)?;
        let x = vector(&[1.0, 2.0]);
        let before = x.version();
        add_to.apply_all(&[&x, &y])?;
        assert_eq!(x.to_vec1::<f32>()?, [11.0, 22.0], "{schema}");
        assert!(x.version() > before, "{schema}");
        fails(&add_to, &[&x, &x], &["memory that no other argument shares"]);
    }
    Ok(())
}

#[test]
fn shapes_without_memory() -> Result<()> {
    let x = Tensor::zeros((2, 3), DType::F32, &Device::Meta)?;
    assert_eq!(kernel("transposed").apply(&[&x])?.dims(), [3, 2]);
    Ok(())
}

#[test]
fn gradients_of_one_kernel_by_another() -> Result<()> {
    let scale = kernel("scale").attr("factor", 4f32)?;
    let gradient = scale.clone();
    let op = scale.gradient_by(move |context| Ok(vec![Some(gradient.apply(&[&context.grads[0]])?)]))?;
    let x = opforge::Var::new(&[1f32, 2.0], CPU)?;
    let gradients = op.apply(&[&x])?.sum_all()?.backward()?;
    assert_eq!(gradients.get(&x).unwrap().to_vec1::<f32>()?, [4.0, 4.0]);
    Ok(())
}

#[test]
fn in_a_process_of_their_own() -> Result<()> {
    let sums = kernel("column_sums").outputs(2).isolated(None)?;
    let x = Tensor::new(&[[1f32, 2.0], [3.0, 4.0]], CPU)?;
    assert_eq!(sums.apply_all(&[&x])?[0].to_vec1::<f32>()?, [4.0, 6.0]);
    let add_to = kernel("add_to").with_schema("(Tensor(a!) x, Tensor y) -> Tensor(a!)")?.isolated(None)?;
    let x = vector(&[1.0, 2.0]);
    add_to.apply(&[&x, &vector(&[10.0, 20.0])])?;
    assert_eq!(x.to_vec1::<f32>()?, [11.0, 22.0]);
    let failing = kernel("failing").attr("how", "panic")?.isolated(None)?;
    fails(&failing, &[&vector(&[1.5])], &["error code 3: panicked: 1.5 is too much"]);
    Ok(())
}
