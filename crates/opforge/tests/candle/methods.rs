//! Methods that programs written against candle call; expected values worked out by hand.

use opforge::{D, DType, Device, ErrorKind, IndexOp, Result, StridedBlocks, Tensor, Var};

const CPU: &Device = &Device::Cpu;

fn counted(shape: &[usize]) -> Result<Tensor> {
    let n: usize = shape.iter().product();
    Tensor::from_iter((0..n).map(|i| i as f32), CPU)?.reshape(shape)
}

fn kind<T>(result: Result<T>) -> Option<ErrorKind> {
    result.err().map(|e| e.kind())
}

#[test]
fn matrices_and_grids() -> Result<()> {
    let rows = |t: Tensor| t.to_dtype(DType::F32)?.to_vec2::<f32>();
    assert_eq!(rows(Tensor::eye(2, DType::I64, CPU)?)?, [[1.0, 0.0], [0.0, 1.0]]);
    assert_eq!(rows(Tensor::tril2(3, DType::F32, CPU)?)?, [[1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [1.0, 1.0, 1.0]]);
    assert_eq!(rows(Tensor::triu2(2, DType::F16, CPU)?)?, [[1.0, 1.0], [0.0, 1.0]]);
    assert_eq!(Tensor::eye(0, DType::F32, CPU)?.dims(), [0, 0]);
    let (x, y) = (counted(&[2])?, counted(&[3])?);
    let grids = Tensor::meshgrid(&[&x, &y], false)?;
    assert_eq!(grids[0].to_vec2::<f32>()?, [[0.0, 0.0, 0.0], [1.0, 1.0, 1.0]]);
    assert_eq!(grids[1].to_vec2::<f32>()?, [[0.0, 1.0, 2.0], [0.0, 1.0, 2.0]]);
    assert_eq!(Tensor::meshgrid(&[&x, &y], true)?[0].dims(), [3, 2]);
    assert_eq!(kind(Tensor::meshgrid(&[&x], true)), Some(ErrorKind::Value));
    Ok(())
}

#[test]
fn six_kinds_of_ranges() -> Result<()> {
    let t = counted(&[5])?;
    let cases: [(Tensor, &[f32]); 7] = [
        (t.i(1..3)?, &[1.0, 2.0]),
        (t.i(3..)?, &[3.0, 4.0]),
        (t.i(..2)?, &[0.0, 1.0]),
        (t.i(..=2)?, &[0.0, 1.0, 2.0]),
        (t.i(3..=4)?, &[3.0, 4.0]),
        (t.i(..)?, &[0.0, 1.0, 2.0, 3.0, 4.0]),
        #[allow(clippy::reversed_empty_ranges)]
        (t.i(1..0)?, &[]),
    ];
    for (i, (part, expected)) in cases.into_iter().enumerate() {
        assert_eq!(part.to_vec1::<f32>()?, expected, "case {i}");
    }
    let m = counted(&[2, 3])?;
    assert_eq!(m.i((1, 2))?.to_scalar::<f32>()?, 5.0);
    assert_eq!(m.i((.., 1))?.to_vec1::<f32>()?, [1.0, 4.0]);
    assert_eq!(m.i((1, 1..))?.to_vec1::<f32>()?, [4.0, 5.0]);
    let ids = Tensor::new(&[2u32, 0], CPU)?;
    assert_eq!(m.i((.., &ids))?.to_vec2::<f32>()?, [[2.0, 0.0], [5.0, 3.0]]);
    assert_eq!(kind(m.i(2)), Some(ErrorKind::Index));
    assert_eq!(kind(m.i((0, 0, 0))), Some(ErrorKind::Index));
    Ok(())
}

#[test]
fn parts_and_repetitions() -> Result<()> {
    let t = counted(&[2, 3])?;
    assert_eq!(t.get(1)?.to_vec1::<f32>()?, [3.0, 4.0, 5.0]);
    assert_eq!(t.get_on_dim(D::Minus1, 2)?.to_vec1::<f32>()?, [2.0, 5.0]);
    assert_eq!(Tensor::new(3f32, CPU)?.get(7)?.to_scalar::<f32>()?, 3.0);
    assert_eq!(kind(t.get(2)), Some(ErrorKind::Index));
    let lengths = |n: usize, chunks| -> Result<Vec<usize>> {
        Ok(counted(&[n])?.chunk(chunks, 0)?.iter().map(Tensor::elem_count).collect())
    };
    assert_eq!(lengths(7, 3)?, [3, 2, 2]);
    assert_eq!(lengths(2, 3)?, [1, 1]);
    assert_eq!(counted(&[7])?.chunk(3, 0)?[1].to_vec1::<f32>()?, [3.0, 4.0]);
    assert_eq!(kind(t.chunk(0, 0)), Some(ErrorKind::Value));
    assert_eq!(counted(&[2])?.repeat(3)?.to_vec1::<f32>()?, [0.0, 1.0, 0.0, 1.0, 0.0, 1.0]);
    assert_eq!(t.repeat((2, 1))?.dims(), [4, 3]);
    assert_eq!(t.repeat((2, 1, 1))?.dims(), [2, 2, 3]);
    assert_eq!(t.repeat((0, 1))?.dims(), [0, 3]);
    assert_eq!(kind(t.repeat((usize::MAX, usize::MAX))), Some(ErrorKind::Shape));
    assert_eq!(counted(&[2])?.pad_with_same(0, 1, 2)?.to_vec1::<f32>()?, [0.0, 0.0, 1.0, 1.0, 1.0]);
    assert_eq!(counted(&[2])?.pad_with_zeros(0, 1, 1)?.to_vec1::<f32>()?, [0.0, 0.0, 1.0, 0.0]);
    assert_eq!(kind(Tensor::zeros((2, 0), DType::F32, CPU)?.pad_with_same(1, 1, 0)), Some(ErrorKind::Shape));
    Ok(())
}

#[test]
fn slices_replaced_out_of_place() -> Result<()> {
    let t = counted(&[3, 3])?;
    let ones = Tensor::ones((1, 3), DType::F32, CPU)?;
    let expected = [[0.0, 1.0, 2.0], [1.0, 1.0, 1.0], [6.0, 7.0, 8.0]];
    assert_eq!(t.slice_scatter0(&ones, 1)?.to_vec2::<f32>()?, expected);
    assert_eq!(t.slice_scatter(&ones.t()?, 1, 2)?.to_vec2::<f32>()?[2], [6.0, 7.0, 1.0]);
    assert_eq!(kind(t.slice_scatter0(&ones, 3)), Some(ErrorKind::Index));
    assert_eq!(kind(t.slice_scatter0(&ones, usize::MAX)), Some(ErrorKind::Index));
    assert_eq!(kind(t.slice_scatter0(&ones.to_dtype(DType::F64)?, 0)), Some(ErrorKind::DType));
    let corner = Tensor::new(&[[-1f32, -2.0], [-3.0, -4.0]], CPU)?;
    let expected = [[0.0, 1.0, 2.0], [3.0, -1.0, -2.0], [6.0, -3.0, -4.0]];
    assert_eq!(t.slice_assign(&[1..3, 1..3], &corner)?.to_vec2::<f32>()?, expected);
    assert_eq!(t.slice_assign(&[1.., 1..], &corner)?.to_vec2::<f32>()?, expected);
    assert_eq!(t.to_vec2::<f32>()?[1], [3.0, 4.0, 5.0], "the original stays");
    assert_eq!(kind(t.slice_assign(&[1..3, 2..4], &corner)), Some(ErrorKind::Index));
    assert_eq!(kind(t.slice_assign(&[0..1, 0..1], &corner)), Some(ErrorKind::Shape));
    assert_eq!(kind(t.slice_assign(std::slice::from_ref(&(0..2)), &corner)), Some(ErrorKind::Index));
    assert_eq!(kind(t.slice_assign(&[1.., 1..], &corner.to_dtype(DType::F64)?)), Some(ErrorKind::DType));
    Ok(())
}

// One range for the one dimension, not a list of its numbers.
#[allow(clippy::single_range_in_vec_init)]
#[test]
fn slices_carry_gradients() -> Result<()> {
    let (a, b) = (Var::new(&[1f32, 2.0, 3.0], CPU)?, Var::new(&[10f32], CPU)?);
    let grads = a.slice_assign(&[1..2], &b)?.sqr()?.sum_all()?.backward()?;
    assert_eq!(grads.get(&a).unwrap().to_vec1::<f32>()?, [2.0, 0.0, 6.0]);
    assert_eq!(grads.get(&b).unwrap().to_vec1::<f32>()?, [20.0]);
    let grads = a.repeat((2, 2))?.sum_all()?.backward()?;
    assert_eq!(grads.get(&a).unwrap().to_vec1::<f32>()?, [4.0, 4.0, 4.0]);
    let grads = a.pad_with_same(0, 2, 0)?.sum_all()?.backward()?;
    assert_eq!(grads.get(&a).unwrap().to_vec1::<f32>()?, [3.0, 1.0, 1.0]);
    Ok(())
}

#[test]
fn writes_in_place() -> Result<()> {
    let t = counted(&[2, 3])?;
    let seen_by = t.clone();
    t.slice_set(&Tensor::new(&[[9f32], [8.0]], CPU)?, 1, 1)?;
    assert_eq!(seen_by.to_vec2::<f32>()?, [[0.0, 9.0, 2.0], [3.0, 8.0, 5.0]]);
    assert_eq!(kind(t.slice_set(&t.narrow(1, 0, 1)?, 1, 2)), Some(ErrorKind::Value), "its own storage");
    assert_eq!(kind(t.slice_set(&Tensor::ones((2, 2), DType::F32, CPU)?, 1, 2)), Some(ErrorKind::Index));
    assert_eq!(kind(t.slice_set(&Tensor::ones((1, 1), DType::F32, CPU)?, 1, 2)), Some(ErrorKind::Shape));
    t.t()?.i(0)?.const_set(7f32.into())?;
    assert_eq!(t.to_vec2::<f32>()?, [[7.0, 9.0, 2.0], [7.0, 8.0, 5.0]]);
    t.i(1)?.zero_set()?;
    t.i((0, 2..))?.one_set()?;
    assert_eq!(t.to_vec2::<f32>()?, [[7.0, 9.0, 1.0], [0.0, 0.0, 0.0]]);
    let repeated = Tensor::zeros(1, DType::F32, CPU)?.broadcast_as(3)?;
    assert_eq!(kind(repeated.const_set(1f32.into())), Some(ErrorKind::Value));
    assert_eq!(kind(Tensor::zeros(2, DType::U8, CPU)?.const_set(300i64.into())), Some(ErrorKind::DType));
    Ok(())
}

#[test]
fn scatters_in_place() -> Result<()> {
    let ids = Tensor::new(&[[2u32, 0], [1, u32::MAX]], CPU)?;
    let src = Tensor::new(&[[1f32, 2.0], [3.0, 4.0]], CPU)?;
    for transposed in [false, true] {
        let t = Tensor::zeros(if transposed { (3, 2) } else { (2, 3) }, DType::F32, CPU)?;
        let t = if transposed { t.t()? } else { t };
        t.scatter_set(&ids, &src, 1)?;
        assert_eq!(t.to_vec2::<f32>()?, [[2.0, 0.0, 1.0], [0.0, 3.0, 0.0]]);
        t.scatter_add_set(&ids, &src, 1)?;
        assert_eq!(t.to_vec2::<f32>()?, [[4.0, 0.0, 2.0], [0.0, 6.0, 0.0]]);
        assert_eq!(kind(t.scatter_set(&ids, &t, 1)), Some(ErrorKind::Value));
    }
    Ok(())
}

#[test]
fn an_index_of_the_maximum_is_skipped_and_others_out_of_range_are_errors() -> Result<()> {
    let t = counted(&[2, 2])?;
    let ids = Tensor::new(&[1u32, u32::MAX], CPU)?;
    assert_eq!(t.index_select(&ids, 0)?.to_vec2::<f32>()?, [[2.0, 3.0], [0.0, 0.0]]);
    assert_eq!(t.embedding(&ids)?.to_vec2::<f32>()?, [[2.0, 3.0], [0.0, 0.0]]);
    let out = t.index_select(&Tensor::new(&[2u32], CPU)?, 0).and_then(|t| t.to_vec2::<f32>());
    assert_eq!(kind(out), Some(ErrorKind::Index));
    Ok(())
}

#[test]
fn sums_and_norms() -> Result<()> {
    let t = counted(&[2, 3])?;
    assert_eq!(t.cumsum(1)?.to_vec2::<f32>()?, [[0.0, 1.0, 3.0], [3.0, 7.0, 12.0]]);
    assert_eq!(t.cumsum(0)?.to_vec2::<f32>()?, [[0.0, 1.0, 2.0], [3.0, 5.0, 7.0]]);
    assert_eq!(Tensor::new(&[200u8, 100], CPU)?.cumsum(0)?.to_vec1::<u8>()?, [200, 44]);
    assert_eq!(Tensor::new(&[3f64, 4.0], CPU)?.norm()?.to_scalar::<f64>()?, 5.0);
    let zeros = Tensor::zeros((2, 4), DType::F64, CPU)?;
    let close = |t: Tensor, expected: f64| -> Result<bool> {
        Ok(t.flatten_all()?.to_vec1::<f64>()?.iter().all(|v| (v - expected).abs() < 1e-12))
    };
    assert!(close(zeros.log_sum_exp(1)?, 4f64.ln())?);
    assert!(close(zeros.log_sum_exp((0, 1))?, 8f64.ln())?);
    assert_eq!(zeros.log_sum_exp(())?.dims(), [2, 4]);
    assert_eq!(kind(zeros.log_sum_exp((1, 1))), Some(ErrorKind::Index));
    let infinite = Tensor::new(&[[f64::NEG_INFINITY, f64::NEG_INFINITY], [f64::INFINITY, 0.0]], CPU)?;
    assert_eq!(infinite.log_sum_exp(1)?.to_vec1::<f64>()?, [f64::NEG_INFINITY, f64::INFINITY]);
    let x = Var::new(&[0f64, 3f64.ln()], CPU)?;
    let grad = x.log_sum_exp(0)?.backward()?.get(&x).unwrap().to_vec1::<f64>()?;
    assert!((grad[0] - 0.25).abs() < 1e-12 && (grad[1] - 0.75).abs() < 1e-12, "{grad:?}");
    Ok(())
}

#[test]
fn sorted_rows() -> Result<()> {
    let t = Tensor::new(&[[3f32, 1.0, f32::NAN, 1.0], [0.0, -0.0, -5.0, 2.0]], CPU)?;
    let (sorted, ids) = t.sort_last_dim(true)?;
    assert_eq!(ids.to_vec2::<u32>()?, [[1, 3, 0, 2], [2, 0, 1, 3]]);
    assert_eq!(sorted.i((0, ..3))?.to_vec1::<f32>()?, [1.0, 1.0, 3.0]);
    assert_eq!(t.arg_sort_last_dim(false)?.to_vec2::<u32>()?, [[2, 0, 1, 3], [3, 0, 1, 2]]);
    assert_eq!(kind(Tensor::new(1f32, CPU)?.arg_sort_last_dim(true)), Some(ErrorKind::Shape));
    let w = Var::new(&[3f32, 1.0], CPU)?;
    let weights = Tensor::new(&[10f32, 20.0], CPU)?;
    let grads = w.sort_last_dim(true)?.0.mul(&weights)?.sum_all()?.backward()?;
    assert_eq!(grads.get(&w).unwrap().to_vec1::<f32>()?, [20.0, 10.0]);
    Ok(())
}

#[test]
fn elu_bends_below_zero() -> Result<()> {
    let x = Var::new(&[1f64, 0.0, -1e3, 1e3], CPU)?;
    let y = x.elu(2.0)?;
    assert_eq!(y.to_vec1::<f64>()?, [1.0, 0.0, -2.0, 1e3]);
    assert_eq!(y.sum_all()?.backward()?.get(&x).unwrap().to_vec1::<f64>()?, [1.0, 2.0, 0.0, 1.0]);
    Ok(())
}

#[test]
fn shapes_as_tuples() -> Result<()> {
    assert_eq!(counted(&[2, 3, 4])?.dims3()?, (2, 3, 4));
    assert_eq!(counted(&[2, 3])?.shape().dims2()?, (2, 3));
    assert_eq!(counted(&[2])?.dims1()?, 2);
    counted(&[])?.dims0()?;
    assert_eq!(kind(counted(&[2])?.dims2()), Some(ErrorKind::Shape));
    assert_eq!(counted(&[2, 3])?.normalize_axis(-1)?, 1);
    assert_eq!(kind(counted(&[2, 3])?.normalize_axis(-3)), Some(ErrorKind::Index));
    Ok(())
}

#[test]
fn runs_of_storage() -> Result<()> {
    let t = counted(&[2, 3, 4])?;
    assert!(matches!(t.strided_blocks(), StridedBlocks::SingleBlock { start_offset: 0, len: 24 }));
    let columns = t.narrow(2, 1, 2)?.narrow(0, 1, 1)?.squeeze(0)?;
    assert!(matches!(
        columns.strided_blocks(),
        StridedBlocks::UniformBlocks { start_offset: 13, block_len: 2, count: 3, src_stride: 4 }
    ));
    let inner = t.narrow(2, 1, 2)?.narrow(1, 0, 2)?;
    let StridedBlocks::MultipleBlocks { block_start_index, block_len } = inner.strided_blocks() else {
        panic!("two outer dimensions")
    };
    assert_eq!((block_len, block_start_index.collect::<Vec<_>>()), (2, vec![1, 5, 13, 17]));
    assert_eq!(counted(&[2, 2])?.t()?.strided_index().collect::<Vec<_>>(), [0, 2, 1, 3]);
    Ok(())
}

#[test]
fn conversions() -> Result<()> {
    assert_eq!(f32::try_from(Tensor::try_from(1.5f32)?)?, 1.5);
    assert_eq!(Vec::<u32>::try_from(&Tensor::try_from(vec![1u32, 2])?)?, [1, 2]);
    assert_eq!(Vec::<Vec<f32>>::try_from(counted(&[1, 2])?)?, [[0.0, 1.0]]);
    assert_eq!(kind(u8::try_from(counted(&[])?)), Some(ErrorKind::DType));
    assert_eq!(kind(Vec::<f32>::try_from(counted(&[2, 2])?)), Some(ErrorKind::Shape));
    Ok(())
}

#[test]
fn devices() -> Result<()> {
    let t = counted(&[2])?;
    assert_eq!(t.to_device(CPU)?.id(), t.id());
    let nowhere = t.to_device(&Device::Meta)?;
    assert_eq!((nowhere.dims(), nowhere.dtype()), (&[2][..], DType::F32));
    assert_eq!(kind(nowhere.to_device(CPU)), Some(ErrorKind::Device));
    Ok(())
}

#[test]
fn errors_say_what_is_wrong() -> Result<()> {
    let (a, b) = (counted(&[2, 3])?, counted(&[2, 3])?);
    let text = |r: Result<Tensor>| r.unwrap_err().to_string();
    assert!(text(a.matmul(&b)).starts_with("shape mismatch in matmul"));
    assert!(text(a.matmul(&b.t()?.to_dtype(DType::F64)?)).starts_with("dtype mismatch in matmul"));
    assert!(text(a.matmul(&b.t()?.to_device(&Device::Meta)?)).starts_with("device mismatch in matmul"));
    assert!(text(a.matmul(&b.to_device(&Device::Meta)?)).starts_with("shape mismatch in matmul"));
    assert!(text(a.add(&counted(&[3])?)).starts_with("shape mismatch in add"));
    assert!(text(a.add(&b.to_dtype(DType::F64)?)).starts_with("dtype mismatch in add"));
    let product = counted(&[2, 0])?.matmul(&counted(&[0, 3])?)?;
    assert_eq!(product.to_vec2::<f32>()?, [[0.0; 3]; 2]);
    Ok(())
}
