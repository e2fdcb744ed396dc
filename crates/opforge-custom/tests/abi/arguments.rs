//! Tensors as kernels get them.

use opforge::{DType, Device, Result, Tensor};
use opforge_custom::{CustomOp, DTypeRule, ShapeRule};

use crate::common::{CPU, error, fails, op, vector};

#[test]
fn adds_two_tensors() -> Result<()> {
    let add = op("add.cc", "Add").shapes(ShapeRule::Like(0));
    assert_eq!(add.apply(&[&vector(&[1.0, 2.0]), &vector(&[10.0, 20.0])])?.to_vec1::<f32>()?, [11.0, 22.0]);
    fails(&add, &[&vector(&[1.0])], &["Add", "returned error code 1"]);
    Ok(())
}

#[test]
fn every_dtype_has_its_name() -> Result<()> {
    let add = op("dtypes.cc", "AddAny").shapes(ShapeRule::Like(0));
    for dtype in DType::ALL.into_iter().filter(|dtype| !dtype.is_storage_only()) {
        let x = Tensor::new(&[1u8, 0, 3], CPU)?.to_dtype(dtype)?;
        let sum = add.apply(&[&x, &x])?;
        assert_eq!(sum.dtype(), dtype);
        let expected: &[f64] = if dtype == DType::Bool { &[1.0, 0.0, 1.0] } else { &[2.0, 0.0, 6.0] };
        let real = |scalar: &opforge::Scalar| scalar.to_f64();
        assert_eq!(sum.to_scalars()?.iter().map(real).collect::<Vec<_>>(), expected, "{dtype}");
    }
    let (x, y) = (vector(&[1.0]), Tensor::new(&[1f64], CPU)?);
    fails(&add, &[&x, &y], &["AddAny returned error code 1"]);
    Ok(())
}

#[test]
fn inputs_arrive_contiguous() -> Result<()> {
    let add = op("add.cc", "Add").shapes(ShapeRule::Like(0));
    let x = Tensor::new(&[[1f32, 2.0, 3.0], [4.0, 5.0, 6.0]], CPU)?;
    let (turned, zeros) = (x.t()?, Tensor::zeros((3, 2), DType::F32, CPU)?);
    assert_eq!(add.apply(&[&turned, &zeros])?.to_vec2::<f32>()?, [[1.0, 4.0], [2.0, 5.0], [3.0, 6.0]]);
    let column = x.narrow(1, 1, 1)?;
    let row = Tensor::new(&[100f32], CPU)?.broadcast_as((2, 1))?;
    assert_eq!(add.apply(&[&column, &row])?.to_vec2::<f32>()?, [[102.0], [105.0]]);
    assert_eq!(add.apply(&[&x.narrow(0, 1, 1)?, &x.narrow(0, 0, 1)?])?.to_vec2::<f32>()?, [[5.0, 7.0, 9.0]]);
    Ok(())
}

#[test]
fn rank_0_and_empty_tensors() -> Result<()> {
    let add = op("add.cc", "Add").shapes(ShapeRule::Like(0));
    let scalar = Tensor::new(2f32, CPU)?;
    assert_eq!(add.apply(&[&scalar, &scalar])?.to_scalar::<f32>()?, 4.0);
    let empty = Tensor::zeros((2, 0, 3), DType::F32, CPU)?;
    let sum = add.apply(&[&empty, &empty])?;
    assert_eq!((sum.dims(), sum.to_scalars()?.len()), (&[2, 0, 3][..], 0));
    Ok(())
}

#[test]
fn workspaces_are_described_and_rank_0_may_be_read() -> Result<()> {
    let count = 5;
    let rule = ShapeRule::Fixed(vec![vec![1 + 3 * count]]);
    let seen = op("seen.cc", "Seen").shapes(rule).dtypes(DTypeRule::Fixed(vec![DType::I64]));
    let (scalar, matrix) = (Tensor::new(true, CPU)?, Tensor::zeros((3, 4), DType::F64, CPU)?);
    let letter = |c: char| i64::from(u32::from(c));
    let expected = [
        vec![count],
        vec![0, 1, letter('b')],
        vec![2, 3, letter('f')],
        vec![1, 16, letter('i')],
        vec![1, 24, letter('u')],
        vec![1, 0, letter('u')],
    ];
    assert_eq!(seen.apply(&[&scalar, &matrix])?.to_vec1::<i64>()?, expected.concat());
    Ok(())
}

#[test]
fn several_outputs() -> Result<()> {
    let (x, y) = (vector(&[6.0, 8.0]), vector(&[3.0, 2.0]));
    let expected = [[9.0, 10.0], [18.0, 16.0], [2.0, 4.0]];
    let declared = op("several.cc", "AddMulDiv").shapes(ShapeRule::Fixed(vec![vec![2]; 3]));
    let like = op("several.cc", "AddMulDiv").shapes(ShapeRule::Like(0)).outputs(3);
    let inferred = op("several.cc", "AddMulDivInferred").outputs(3);
    let by_schema =
        op("several.cc", "AddMulDivInferred").with_schema("(Tensor x, Tensor y) -> (Tensor, Tensor, Tensor)")?;
    for op in [declared, like, inferred, by_schema] {
        let outputs = op.apply_all(&[&x, &y])?;
        let outputs = outputs.iter().map(Tensor::to_vec1::<f32>).collect::<Result<Vec<_>>>()?;
        assert_eq!(outputs, expected);
        error(op.apply(&[&x, &y]), &["outputs: 3 of them", "apply_all"]);
    }
    Ok(())
}

#[test]
fn accepted_combinations_of_dtypes() -> Result<()> {
    let add = op("dtypes.cc", "AddAny").shapes(ShapeRule::Like(0));
    let add = add.accepts(vec![Some(DType::F32); 3]).accepts(vec![Some(DType::I32), None, Some(DType::I32)]);
    let of = |dtype| Tensor::ones(2, dtype, CPU);
    assert_eq!(add.apply(&[&of(DType::F32)?, &of(DType::F32)?])?.to_vec1::<f32>()?, [2.0; 2]);
    assert_eq!(add.apply(&[&of(DType::I32)?, &of(DType::I32)?])?.to_vec1::<i32>()?, [2; 2]);
    let refused = add.apply(&[&of(DType::F32)?, &of(DType::F64)?]);
    error(refused, &["AddAny", "float32, float64", "float32, float32 or int32, any"]);
    let wrong_output = add.dtypes(DTypeRule::Fixed(vec![DType::F64])).apply(&[&of(DType::F32)?, &of(DType::F32)?]);
    error(wrong_output, &["outputs", "float64", "float32 or int32"]);
    Ok(())
}

/// A kernel that is called with fewer tensors reads pointers that are not there.
#[test]
fn calls_have_as_many_tensors_as_are_declared() -> Result<()> {
    let x = Tensor::ones(2, DType::F32, CPU)?;
    let add = || op("dtypes.cc", "AddAny").shapes(ShapeRule::Like(0));
    let combined = || add().accepts(vec![Some(DType::F32); 3]);
    let by_function = |op: CustomOp| op.shapes_by(|shapes, _| Ok(vec![shapes[0].clone()]));
    for op in [add().inputs(2), combined(), combined().outputs(1), by_function(combined())] {
        assert_eq!(op.apply(&[&x, &x])?.to_vec1::<f32>()?, [2.0; 2]);
        error(op.apply(&[&x]), &["AddAny", "inputs", "2 tensors"]);
        error(op.apply(&[&x, &x, &x]), &["AddAny", "inputs", "2 tensors"]);
    }
    Ok(())
}

#[test]
fn several_dtypes_are_several_outputs() -> Result<()> {
    let x = Tensor::new(&[2f32, 3.0], CPU)?;
    let op = op("several.cc", "AddMulDivInferred").dtypes(DTypeRule::Fixed(vec![DType::F32; 3]));
    assert_eq!(op.apply_all(&[&x, &x])?.len(), 3);
    Ok(())
}

#[test]
fn tensors_without_memory_have_shapes_alone() -> Result<()> {
    let x = Tensor::zeros((2, 3), DType::F32, &Device::Meta)?;
    let reduce = op("add_reduce.cc", "AddReduce").attr("axis", 1)?.attr("keep_dim", false)?;
    let sum = reduce.apply(&[&x, &x])?;
    assert_eq!((sum.dims(), sum.dtype()), (&[2][..], DType::F32));
    assert!(matches!(sum.device(), Device::Meta));
    Ok(())
}

#[test]
fn two_operators_of_one_library() -> Result<()> {
    let scale = |name| op("square.cc", name).shapes(ShapeRule::Like(0)).attr("scale", 1f32);
    let (square, slope) = (scale("Square")?, scale("SquareGrad")?);
    let x = Tensor::new(&[3f64], CPU)?;
    let y = square.apply(&[&x])?;
    assert_eq!(y.to_vec1::<f64>()?, [9.0]);
    assert_eq!(slope.apply(&[&x, &y, &x.ones_like()?])?.to_vec1::<f64>()?, [6.0]);
    Ok(())
}
