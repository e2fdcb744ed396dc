//! Shapes and dtypes of outputs as libraries infer them.

use opforge::{DType, Result, Tensor};
use opforge_custom::{CustomOp, ShapeRule};

use crate::common::{CPU, error, fails, op, vector};

const F32: DType = DType::F32;

fn add_reduce(axis: i64, keep_dim: bool) -> Result<CustomOp> {
    op("add_reduce.cc", "AddReduce").attr("axis", axis)?.attr("keep_dim", keep_dim)
}

#[test]
fn attributes_shapes_and_workspace_of_a_fused_kernel() -> Result<()> {
    let x = Tensor::new(&[[1f32, 2.0, 3.0], [4.0, 5.0, 6.0]], CPU)?;
    assert_eq!(add_reduce(1, false)?.apply(&[&x, &x])?.to_vec1::<f32>()?, [12.0, 30.0]);
    assert_eq!(add_reduce(-2, true)?.apply(&[&x, &x])?.to_vec2::<f32>()?, [[10.0, 14.0, 18.0]]);
    let op = add_reduce(0, false)?;
    for rows in [5, 1, 0, 300] {
        let x = Tensor::ones((rows, 2), F32, CPU)?;
        assert_eq!(op.apply(&[&x, &x])?.to_vec1::<f32>()?, [2.0 * rows as f32; 2], "{rows} rows");
    }
    fails(&add_reduce(3, false)?, &[&x, &x], &["AddReduceInferShape threw a C++ exception: axis 3 of 2"]);
    Ok(())
}

#[test]
fn unknown_lengths_and_ranks() -> Result<()> {
    let reduce = add_reduce(1, false)?;
    let infer = |shape: &[i64]| reduce.infer(&[(shape.to_vec(), F32), (shape.to_vec(), F32)], &[]);
    assert_eq!(infer(&[-1, 4])?, [(vec![-1], F32)]);
    assert_eq!(infer(&[4, -1])?, [(vec![4], F32)]);
    assert_eq!(infer(&[-1, -1, 7])?, [(vec![-1, 7], F32)]);
    assert_eq!(infer(&[-2])?, [(vec![-2], F32)]);
    let several = op("several.cc", "AddMulDivInferred").outputs(3);
    assert_eq!(several.infer(&[(vec![-1, 2], F32), (vec![-1, 2], F32)], &[])?, vec![(vec![-1, 2], F32); 3]);
    Ok(())
}

#[test]
fn a_shape_function_of_the_other_form_is_found_out() {
    let (x, y) = (vector(&[1.0, 2.0]), vector(&[3.0, 4.0]));
    let one = op("several.cc", "AddMulDivOneShape").outputs(3);
    fails(&one, &[&x, &y], &["AddMulDivOneShapeInferShape", "returned one shape where several outputs are declared"]);
    fails(
        &op("several.cc", "Copy"),
        &[&x],
        &["CopyInferShape", "returned several shapes where one output is declared"],
    );
}

#[test]
fn dtypes_of_one_and_of_several_outputs() -> Result<()> {
    let widen = op("types.cc", "Widen");
    assert_eq!(widen.apply(&[&Tensor::new(&[1i32, 2], CPU)?])?.to_vec1::<f32>()?, [1.0, 2.0]);
    assert_eq!(widen.apply(&[&vector(&[0.5])])?.to_vec1::<f64>()?, [0.5]);
    let max = op("types.cc", "Max").outputs(2);
    let outputs = max.apply_all(&[&vector(&[1.0, 5.0, 2.0])])?;
    assert_eq!(outputs[0].to_scalar::<f32>()?, 5.0);
    assert_eq!(outputs[1].to_scalar::<i64>()?, 1);
    let odd = op("types.cc", "Odd").shapes(ShapeRule::Like(0));
    fails(&odd, &[&vector(&[1.0])], &["Odd", "type number 7"]);
    Ok(())
}

#[test]
fn kernels_in_c_infer_both_at_once() -> Result<()> {
    let clip = op("clip.c", "Clip").outputs(2).attr("range", vec![-1f32, 2.0])?;
    let outputs = clip.apply_all(&[&vector(&[-3.0, 0.0, 2.5, 1.0])])?;
    assert_eq!(outputs[0].to_vec1::<f32>()?, [-1.0, 0.0, 2.0, 1.0]);
    assert_eq!(outputs[1].to_scalar::<i64>()?, 2);
    assert_eq!(clip.infer(&[(vec![-1, 3], F32)], &[])?, [(vec![-1, 3], F32), (vec![], DType::I64)]);
    assert_eq!(clip.infer(&[(vec![-2], F32)], &[])?[0], (vec![-2], F32));
    error(clip.infer(&[(vec![3], DType::F64)], &[]), &["ClipInfer returned error code 2: Clip takes float32"]);
    Ok(())
}

#[test]
fn kernels_in_c_say_what_is_wrong_with_attributes() -> Result<()> {
    let clip = || op("clip.c", "Clip").outputs(2);
    fails(&clip(), &[&vector(&[1.0])], &["ClipInit returned error code 2: there is no attribute 'range'"]);
    let int = clip().attr("range", 1i64)?;
    fails(
        &int,
        &[&vector(&[1.0])],
        &["ClipInit returned error code 2: attribute 'range' is an int, read as a list of floats"],
    );
    let short = clip().attr("range", vec![1f32])?;
    fails(&short, &[&vector(&[1.0])], &["ClipInit returned error code 3: range must be two numbers"]);
    Ok(())
}

#[test]
fn shapes_that_cannot_be() -> Result<()> {
    let shaped = |shape: &[i64]| op("failures.cc", "Shaped").attr("shape", shape);
    let x = vector(&[1.0]);
    fails(&shaped(&[2, -5])?, &[&x], &["Shaped", "inferred shape [2, -5] for output 0"]);
    fails(&shaped(&[2, -1])?, &[&x], &["output 0 has shape [2, -1], although all inputs are known"]);
    fails(&shaped(&[-2])?, &[&x], &["output 0 has shape [-2], although all inputs are known"]);
    fails(&shaped(&[i64::MAX, i64::MAX])?, &[&x], &["Shaped"]);
    fails(&shaped(&[1 << 50])?, &[&x], &[]);
    let many = |shapes: Vec<Vec<i64>>| op("failures.cc", "ManyShaped").outputs(2).attr("shapes", shapes);
    fails(&many(vec![vec![1]; 3])?, &[&x], &["inferred 3 output shapes where 2 outputs are declared"]);
    fails(&many(vec![])?, &[&x], &["ManyShaped"]);
    fails(&op("add.cc", "Add"), &[&x, &x], &["has no shape for its outputs", "AddInferShape or AddInfer"]);
    Ok(())
}
