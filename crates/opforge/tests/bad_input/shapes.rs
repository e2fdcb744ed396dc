//! Sizes, ranks and axes.

use super::*;

#[test]
fn class_1_negative_sizes_and_two_holes() {
    all_refused(vec![
        case(&[Shape], &["reshape", "[-2, 3]"], || f::reshape(&x(&[6]), &[-2, 3])),
        case(&[Shape], &["reshape", "[-1, -1]", "at most one -1"], || f::reshape(&x(&[6]), &[-1, -1])),
        case(&[Shape], &["reshape", "[-1, 4]"], || f::reshape(&x(&[6]), &[-1, 4])),
        case(&[Shape], &["reshape", "[0, -1]"], || f::reshape(&x(&[0]), &[0, -1])),
        case(&[Shape], &["reshape", "[7]", "6 elements"], || f::reshape(&x(&[6]), &[7])),
        case(&[Shape], &["reshape", "4"], || x(&[6]).reshape((4, ()))),
        case(&[Shape], &["full", "[-1, 2]"], || f::full(&[-1, 2], Scalar::Int(1), None, None, false)),
        case(&[Shape], &["rand", "-3"], || f::rand(&[-3], None, None, None, false)),
        case(&[Shape], &["randn", "-3"], || f::randn(&[-3], None, None, None, false)),
        case(&[Value, Shape], &["expand", "-2"], || f::expand(&x(&[1, 3]), &[-2, 3])),
        case(&[Value, Shape], &["expand", "-1"], || f::expand(&x(&[3]), &[-1, 3])),
        case(&[Value, Shape], &["as_strided", "-1"], || f::as_strided(&x(&[4]), &[-1], &[1], None)),
        case(&[Value], &["as_strided", "-1"], || f::as_strided(&x(&[4]), &[2], &[-1], None)),
        case(&[Shape], &["layer_norm", "-4"], || f::layer_norm(&x(&[2, 4]), &[-4], None, None, 1e-5)),
    ]);
}

#[test]
fn class_2_sizes_that_overflow() {
    const HUGE: usize = 1 << 40;
    all_refused(vec![
        case(&[Shape], &["full"], || Tensor::zeros((HUGE, HUGE), DType::F32, CPU)),
        case(&[Shape], &["full"], || Tensor::zeros((0, HUGE, HUGE), DType::F32, CPU)),
        case(&[Shape], &["full"], || Tensor::zeros(usize::MAX / 2, DType::F64, CPU)),
        case(&[Shape], &["full"], || f::full(&[i64::MAX, 2, 0], Scalar::Int(0), None, None, false)),
        case(&[Shape], &["rand"], || f::rand(&[i64::MAX, 4], None, None, None, false)),
        case(&[Shape], &["from_vec"], || Tensor::from_vec(Vec::<f32>::new(), (0, usize::MAX, 2), CPU)),
        case(&[Shape], &["reshape"], || x(&[0]).reshape((0, HUGE, HUGE))),
        case(&[Shape], &["reshape"], || f::reshape(&x(&[4]), &[i64::MAX, i64::MAX])),
        case(&[Shape], &["expand"], || x(&[1]).broadcast_as((HUGE, HUGE))),
        case(&[Shape], &["expand"], || f::expand(&x(&[1]), &[i64::MAX, i64::MAX])),
        case(&[Shape, Index], &["as_strided"], || x(&[4]).as_strided((HUGE, 2), &[HUGE, 1], 0)),
        case(&[Shape, Index], &["as_strided"], || x(&[4]).as_strided(2, &[usize::MAX], 1)),
        case(&[Shape, Index], &["as_strided"], || x(&[4]).as_strided(2, &[1], usize::MAX)),
        case(&[Shape, OutOfMemory], &[], || x(&[1]).pad_with_zeros(0, usize::MAX / 8, usize::MAX / 8)),
        case(&[Shape, OutOfMemory], &[], || x(&[1]).repeat((HUGE, HUGE))),
        case(&[Shape, OutOfMemory, Value], &[], || Tensor::arange(0i64, i64::MAX, CPU)),
        case(&[Shape, Index], &["narrow"], || x(&[4]).narrow(0, 2, usize::MAX)),
        case(&[Shape], &["matmul"], || {
            let column = x(&[1, 1]).broadcast_as((1 << 30, 1))?;
            let row = x(&[1, 1]).broadcast_as((1, 1 << 40))?;
            column.matmul(&row)
        }),
    ]);
}

#[test]
fn class_3_ranks() {
    all_refused(vec![
        case(&[Shape, Index], &["t"], || x(&[3]).t()),
        case(&[Index], &["softmax", "rank 0"], || f::softmax(&x(&[]), 1, None)),
        case(&[Index], &["index_select", "rank 0"], || f::index_select(&x(&[]), 1, &ids(&[0]))),
        case(&[Shape, Index], &["layer_norm"], || f::layer_norm(&x(&[]), &[], None, None, 1e-5)),
        case(&[Shape], &["matmul"], || f::matmul(&x(&[]), &x(&[2, 2]))),
        case(&[Shape], &["matmul"], || x(&[3]).matmul(&x(&[3, 1]))),
        case(&[Shape], &["dot"], || x(&[2, 2]).dot(&x(&[2, 2]))),
        case(&[Shape, Index], &["cat"], || Tensor::cat(&[x(&[]), x(&[])], 0)),
        case(&[Shape, Index], &["cat"], || f::cat(&[x(&[]), x(&[])], 0)),
        case(&[Index], &["max"], || x(&[]).max(0)),
        case(&[Index, Shape], &["narrow"], || x(&[]).narrow(0, 0, 1)),
        case(&[Index, Shape], &["gather"], || f::gather(&x(&[]), 1, &Tensor::new(0i64, CPU)?)),
        case(&[Index, Shape], &["cumsum"], || x(&[]).cumsum(0)),
        case(&[Shape], &["embedding"], || x(&[3]).embedding(&ids(&[0]))),
        case(&[Shape, Index], &["linear"], || f::linear(&x(&[]), &x(&[2, 2]), None)),
        case(&[Shape], &["to_vec1", "[]"], || x(&[]).to_vec1::<f32>().map(|_| x(&[1]))),
        case(&[Shape], &["rank at most 32"], || Tensor::zeros(vec![1; 33], DType::F32, CPU)),
        case(&[Shape], &["rank at most 32"], || x(&[1]).reshape(vec![1; 40])),
        case(&[Shape], &["rank at most 32"], || x(&[1]).broadcast_as(vec![1; 64])),
        case(&[Shape], &["rank at most 32"], || (0..40).try_fold(x(&[1]), |t, _| t.unsqueeze(0))),
        case(&[Shape], &["rank at most 32"], || Tensor::stack(&[x(&[1; 32]), x(&[1; 32])], 0)),
        case(&[Shape], &["rank at most 32"], || x(&[1; 32]).unfold(0, 1, 1)),
        case(&[Shape], &["rank at most 32"], || x(&[2, 1]).embedding(&ids(&[0]).reshape(vec![1; 32])?)),
    ]);
}

#[test]
fn class_4_axes() {
    all_refused(vec![
        case(&[Index], &["sum", "5"], || x(&[2, 3]).sum(5)),
        case(&[Index], &["sum", "[0, 0]"], || x(&[2, 3]).sum((0, 0))),
        case(&[Index], &["sum", "[0, -2]"], || f::sum(&x(&[2, 3]), Some(&[0, -2]), false, None)),
        case(&[Index], &["sum", "-3"], || f::sum(&x(&[2, 3]), Some(&[-3]), false, None)),
        case(&[Index], &["max", "2"], || f::amax(&x(&[2, 3]), Some(&[2]), false)),
        case(&[Index], &["argmax", "2"], || f::argmax(&x(&[2, 3]), Some(2), false)),
        case(&[Index], &["softmax", "-3"], || f::softmax(&x(&[2, 3]), -3, None)),
        case(&[Index], &["permute"], || x(&[2, 3]).permute((0, 0))),
        case(&[Index], &["permute"], || x(&[2, 3]).permute((0, 2))),
        case(&[Index], &["permute"], || x(&[2, 3]).permute(0)),
        case(&[Index], &["permute"], || f::permute(&x(&[2, 3]), &[0, -2])),
        case(&[Index], &["transpose"], || x(&[2, 3]).transpose(0, 2)),
        case(&[Index], &["squeeze"], || x(&[2, 3]).squeeze(2)),
        case(&[Index], &["unsqueeze"], || x(&[2, 3]).unsqueeze(4)),
        case(&[Index], &["flip"], || f::flip(&x(&[2, 3]), &[0, 0])),
        case(&[Index], &["flip"], || x(&[2, 3]).flip(&[3])),
        case(&[Index], &["cat"], || f::cat(&[x(&[2, 3]), x(&[2, 3])], 2)),
        case(&[Index], &["stack"], || f::stack(&[x(&[2]), x(&[2])], 3)),
        case(&[Index], &["diagonal"], || x(&[2, 3]).diagonal(0, 1, 1)),
        case(&[Index], &["diagonal"], || f::diagonal(&x(&[2, 3]), 0, 0, 2)),
        case(&[Index], &["gather"], || f::gather(&x(&[2]), 1, &ids(&[0]))),
        case(&[Index], &["cumsum"], || f::cumsum(&x(&[2]), 1, None)),
        case(&[Index], &["i"], || x(&[2]).i((0, 0))),
    ]);
}

#[test]
fn class_5_extremes_of_nothing() {
    all_refused(vec![
        case(&[Shape], &["max", "at least one element"], || f::amax(&x(&[2, 0]), Some(&[1]), false)),
        case(&[Shape], &["max"], || x(&[0]).max_all()),
        case(&[Shape], &["min"], || x(&[3, 0]).min(1)),
        case(&[Shape], &["argmax"], || f::argmax(&x(&[0, 2]), Some(0), false)),
        case(&[Shape], &["argmin"], || f::argmin(&x(&[0]), None, false)),
    ]);
    let empty = x(&[2, 0]);
    assert_eq!(f::sum(&empty, Some(&[1]), false, None).unwrap().to_vec1::<f32>().unwrap(), [0.0; 2]);
    assert_eq!(f::prod(&empty, None, false, None).unwrap().to_scalar::<f32>().unwrap(), 1.0);
    assert!(empty.mean_all().unwrap().to_scalar::<f32>().unwrap().is_nan());
    assert_eq!(f::amax(&empty, Some(&[0]), false).unwrap().dims(), [0]);
}

#[test]
fn class_8_shapes_that_do_not_go_together() {
    all_refused(vec![
        case(&[Shape], &["add", "[2, 3]", "[3, 2]"], || x(&[2, 3]).broadcast_add(&x(&[3, 2]))),
        case(&[Shape], &["add", "equal shapes"], || x(&[2, 3]).add(&x(&[3]))),
        case(&[Shape], &["mul"], || f::mul((&x(&[2])).into(), (&x(&[3])).into())),
        case(&[Shape], &["add"], || done(x(&[3]).add_(&x(&[2, 3])))),
        case(&[Shape], &["copy"], || done(x(&[3]).copy_from(&x(&[1])))),
        case(&[Shape], &["eq"], || x(&[2]).eq(&x(&[3]))),
        case(&[Shape], &["where_cond"], || f::where_cond(&x(&[2]).gt(0.0)?, (&x(&[3])).into(), 0.0.into())),
        case(&[Shape], &["expand", "[2, 3]", "[2, 4]"], || x(&[2, 3]).broadcast_as((2, 4))),
        case(&[Shape], &["expand"], || x(&[2, 3]).broadcast_as(3)),
        case(&[Shape], &["matmul", "[2, 3]", "[2, 3]"], || x(&[2, 3]).matmul(&x(&[2, 3]))),
        case(&[Shape], &["matmul"], || x(&[2, 2, 3]).matmul(&x(&[3, 3, 2]))),
        case(&[Shape], &["linear"], || f::linear(&x(&[2, 3]), &x(&[4, 2]), None)),
        case(&[Shape], &["linear"], || f::linear(&x(&[2, 3]), &x(&[4, 3]), Some(&x(&[3])))),
        case(&[Shape], &["layer_norm"], || f::layer_norm(&x(&[2, 3]), &[2], None, None, 1e-5)),
        case(&[Shape], &["layer_norm", "[2]"], || f::layer_norm(&x(&[2, 3]), &[3], Some(&x(&[2])), None, 1e-5)),
        case(&[Shape], &["layer_norm", "bias"], || f::layer_norm(&x(&[2, 3]), &[3], None, Some(&x(&[2])), 1e-5)),
        case(&[Shape], &["rms_norm"], || f::rms_norm(&x(&[2, 3]), &[3], Some(&x(&[4])), Some(1e-5))),
        case(&[Shape], &["cross_entropy"], || f::cross_entropy(&x(&[2, 3]), &ids(&[0]), None, -100, "mean", 0.0)),
        case(&[Shape], &["cross_entropy", "weight"], || {
            f::cross_entropy(&x(&[2, 3]), &ids(&[0, 1]), Some(&x(&[2])), -100, "mean", 0.0)
        }),
        case(&[Shape], &["cat"], || Tensor::cat(&[x(&[2, 3]), x(&[2, 2])], 0)),
        case(&[Shape], &["cat"], || Tensor::cat(&[x(&[2, 3]), x(&[2])], 0)),
        case(&[Value], &["cat", "none"], || Tensor::cat::<Tensor, _>(&[], 0)),
        case(&[Value], &["stack"], || Tensor::stack::<Tensor, _>(&[], 0)),
        case(&[Shape], &["stack"], || Tensor::stack(&[x(&[2]), x(&[3])], 0)),
        case(&[Shape], &["gather"], || f::gather(&x(&[2, 3]), 0, &ids(&[0]))),
        case(&[Shape], &["index_add"], || f::index_add(&x(&[2, 3]), 0, &ids(&[0]), &x(&[2, 3]), Scalar::Int(1))),
        case(&[Shape], &["scatter"], || f::scatter(&x(&[3]), 0, &ids(&[0, 1]), &x(&[1]), None)),
        case(&[Shape], &["from_vec", "3 elements"], || Tensor::from_vec(vec![1f32; 3], (2, 2), CPU)),
        case(&[Shape], &["new"], || Tensor::new(vec![vec![1f32], vec![1.0, 2.0]], CPU)),
    ]);
}
