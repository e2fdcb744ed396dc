//! Values that candle 0.11 gives where PyTorch's functions give others: each was found by running the same call on both.

use opforge::autograd::BackwardOptions;
use opforge::functional as f;
use opforge::{DType, Device, ErrorKind, Result, Tensor, Var};

const CPU: &Device = &Device::Cpu;

fn whole(t: Tensor) -> Result<Vec<i64>> {
    t.flatten_all()?.to_dtype(DType::I64)?.to_vec1()
}

#[test]
fn repetitions_shorter_than_the_shape_name_its_first_dimensions() -> Result<()> {
    let t = Tensor::arange(0f32, 6.0, CPU)?.reshape((2, 3))?;
    assert_eq!(t.repeat(2)?.to_vec2::<f32>()?, [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0], [0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]);
    assert_eq!(t.repeat(())?.dims(), [2, 3]);
    assert_eq!(t.repeat(0)?.dims(), [0, 3]);
    assert_eq!(t.reshape((1, 2, 3))?.repeat((2, 0))?.dims(), [2, 0, 3]);
    assert_eq!(t.repeat((2, 1, 1, 1))?.dims(), [2, 1, 2, 3]);
    assert_eq!(f::repeat(&t, &[2]).unwrap_err().kind(), ErrorKind::Value, "PyTorch's asks for all dimensions");
    assert_eq!(f::tile(&t, &[2])?.dims(), [2, 6], "and its tile names the last ones");
    Ok(())
}

#[test]
fn numbers_are_cast_to_integers_as_rust_casts() -> Result<()> {
    let t = Tensor::new(&[3i64, -4, 0], CPU)?;
    let cases: [(Result<Tensor>, [i64; 3]); 12] = [
        (t.affine(2.9, -0.9), [6, -8, 0]),
        (&t - 1.7, [2, -5, -1]),
        (&t + 0.9, [3, -4, 0]),
        (&t * 1.5, [3, -4, 0]),
        (&t / 2.0, [0, 0, 0]),
        (1.5 - &t, [-2, 5, 1]),
        (&t * f64::NAN, [0, 0, 0]),
        (&t + 1e300, [i64::MIN + 2, i64::MAX - 4, i64::MAX]),
        (t.maximum(-2.5f64), [3, -2, 0]),
        (t.clamp(-1.9f32, 2.9f64), [2, -1, 0]),
        (t.round_to(-1), [0, 0, 0]),
        (t.minimum(0.5f32), [0, -4, 0]),
    ];
    for (i, (result, expected)) in cases.into_iter().enumerate() {
        assert_eq!(whole(result?)?, expected, "case {i}");
    }
    let small = Tensor::new(&[3u8, 255, 0], CPU)?;
    assert_eq!(whole(small.maximum(-1i64)?)?, [255; 3], "-1 is 255 as u8");
    assert_eq!(whole((&small * -1.5)?)?, [0; 3], "-1.5 is 0 as u8");
    assert_eq!(whole((&small + 300.0)?)?, [2, 254, 255], "300.0 is 255 as u8");
    assert_eq!(whole(small.eq(255i64 + 256)?)?, [0, 1, 0]);
    assert_eq!(whole(small.clamp(-1i64, 300i64)?)?, [44; 3]);
    assert_eq!(small.lt(1.5f32)?.to_vec1::<u8>()?, [0, 0, 1]);
    Ok(())
}

#[test]
fn functions_refuse_numbers_that_do_not_fit() -> Result<()> {
    let t = Tensor::new(&[3i64, -4], CPU)?;
    let refused = [
        f::affine(&t, 0.5, 0.0),
        f::hardsigmoid(&t),
        f::hardshrink(&t, 0.5),
        f::softshrink(&t, 0.5),
        f::smooth_l1_loss(&t, &t, "none", 1.0),
        f::huber_loss(&t, &t, "none", 1.0, None),
        f::hinge_embedding_loss(&t, &t, 0.5, "none"),
        f::mse_loss(&t, &t, "mean", None),
        f::mean(&t, None, false, None),
        f::var(&t, None, None, false),
        t.powf(0.5),
        t.logical_and(0.5f32),
    ];
    for (i, result) in refused.into_iter().enumerate() {
        let kind = result.map(|t| t.to_string()).unwrap_err().kind();
        assert_eq!(kind, ErrorKind::DType, "case {i}");
    }
    Ok(())
}

#[test]
fn means_of_integers_are_sums_times_a_cut_factor() -> Result<()> {
    let t = Tensor::new(&[[4i64, 8], [6, 2]], CPU)?;
    assert_eq!(whole(t.mean_all()?)?, [0]);
    assert_eq!(whole(t.mean(1)?)?, [0, 0]);
    assert_eq!(t.mean_keepdim((0, 1))?.dims(), [1, 1]);
    assert_eq!(whole(t.mean(())?)?, [4, 8, 6, 2]);
    assert_eq!(whole(t.var(1)?)?, [80, 40], "squares of the elements, for their mean is 0");
    assert_eq!(t.to_dtype(DType::U8)?.var_keepdim(0)?.dims(), [1, 2]);
    assert_eq!(whole(Tensor::zeros((0, 2), DType::I32, CPU)?.mean(0)?)?, [0, 0]);
    Ok(())
}

#[test]
fn steps_have_no_gradient() -> Result<()> {
    let x = Var::new(&[1.5f64, -2.5], CPU)?;
    for step in [x.floor()?, x.ceil()?, x.round()?, x.sign()?, x.round_to(1)?] {
        assert!(step.sqr()?.backward()?.get(&x).is_none());
    }
    let through = (x.floor()? * x.as_tensor())?.backward()?;
    assert_eq!(through.get(&x).unwrap().to_vec1::<f64>()?, [1.0, -3.0]);
    let zeros = f::floor(&x)?.backward()?;
    assert_eq!(zeros.get(&x).unwrap().to_vec1::<f64>()?, [0.0, 0.0], "PyTorch's has one of zeros");
    // The slope of abs is a step of x, which can be differentiated in turn.
    let options = BackwardOptions { create_graph: true, ..BackwardOptions::default() };
    let slopes = opforge::autograd::grad(&[(x.abs()?, None)], &[&x], options)?;
    let curve = slopes[0].as_ref().unwrap().backward()?;
    assert_eq!(curve.get(&x).unwrap().to_vec1::<f64>()?, [0.0, 0.0]);
    Ok(())
}

#[test]
fn what_is_outside_of_the_graph_has_its_own_gradient() -> Result<()> {
    let x = Var::new(&[1f32, 2.0], CPU)?;
    let y = x.detach().sqr()?;
    let grads = y.backward()?;
    assert!(grads.get(&x).is_none());
    assert_eq!(grads.get(&y).unwrap().to_vec1::<f32>()?, [1.0, 1.0]);
    let counts = Tensor::new(&[3i64], CPU)?;
    assert_eq!(counts.backward()?.get(&counts).unwrap().to_vec1::<i64>()?, [1]);
    assert!(x.sqr()?.backward()?.get(&x).is_some());
    Ok(())
}

#[test]
fn conditions_of_any_integers() -> Result<()> {
    let (a, b) = (Var::new(&[1f32, 2.0, 3.0], CPU)?, Var::new(&[-1f32, -2.0, -3.0], CPU)?);
    for dtype in [DType::U8, DType::U32, DType::I16, DType::I32, DType::I64] {
        let cond = Tensor::new(&[0u8, 1, 2], CPU)?.to_dtype(dtype)?;
        let y = cond.where_cond(&a, &b)?;
        assert_eq!(y.to_vec1::<f32>()?, [-1.0, 2.0, 3.0], "{dtype}");
        let grads = y.backward()?;
        assert_eq!(grads.get(&a).unwrap().to_vec1::<f32>()?, [0.0, 1.0, 1.0]);
        assert_eq!(grads.get(&b).unwrap().to_vec1::<f32>()?, [1.0, 0.0, 0.0]);
    }
    let negative = Tensor::new(&[-256i64, i64::MIN, 0], CPU)?;
    assert_eq!(negative.where_cond(&a, &b)?.to_vec1::<f32>()?, [1.0, 2.0, -3.0]);
    assert_eq!(a.where_cond(&a, &b).unwrap_err().kind(), ErrorKind::DType);
    let index = Tensor::new(&[1i64, 0, 0], CPU)?;
    assert!(f::where_cond(&index, a.as_tensor().into(), b.as_tensor().into()).is_err(), "PyTorch's takes truth values");
    Ok(())
}

#[test]
fn ranges_add_their_step() -> Result<()> {
    let tenths = Tensor::arange_step(0f64, 1.0, 0.1, CPU)?.to_vec1::<f64>()?;
    assert_eq!((tenths.len(), tenths[7], tenths[10]), (11, 0.7, 0.9999999999999999));
    let thirds = Tensor::arange_step(3f64, -3.0, -0.3, CPU)?.to_vec1::<f64>()?;
    assert_eq!((thirds.len(), thirds[10]), (21, 3.3306690738754696e-16));
    assert_eq!(Tensor::arange_step(0f32, 1.0, f32::INFINITY, CPU)?.to_vec1::<f32>()?, [0.0]);
    for (start, end, step) in [(1f32, 0.0, 1.0), (0.0, 1.0, -1.0), (f32::NAN, 1.0, 1.0), (0.0, f32::NAN, 1.0)] {
        assert_eq!(Tensor::arange_step(start, end, step, CPU)?.dims(), [0], "{start} {end} {step}");
    }
    assert_eq!(Tensor::arange_step(9u8, 3, 1, CPU)?.dims(), [0]);
    assert_eq!(Tensor::arange_step(250u8, 255, 10, CPU)?.to_vec1::<u8>()?, [250]);
    assert_eq!(Tensor::arange_step(i64::MIN, i64::MIN + 3, 2, CPU)?.to_vec1::<i64>()?, [i64::MIN, i64::MIN + 2]);
    assert_eq!(Tensor::arange_step(0f32, 1.0, 0.0, CPU).unwrap_err().kind(), ErrorKind::Value);
    // Where candle would add for ever.
    assert_eq!(Tensor::arange_step(16_777_216f32, 16_777_220.0, 0.5, CPU)?.dims(), [8]);
    assert!(Tensor::arange(0f32, f32::INFINITY, CPU).is_err());
    Ok(())
}

#[test]
fn shapes_that_nothing_is_done_to() -> Result<()> {
    let t = Tensor::new(&[[1f32, 2.0], [3.0, 4.0]], CPU)?;
    assert_eq!(t.flip(&[0, 0])?.to_vec2::<f32>()?, [[1.0, 2.0], [3.0, 4.0]]);
    assert_eq!(t.flip(&[1, 0, 1])?.to_vec2::<f32>()?, [[3.0, 4.0], [1.0, 2.0]]);
    assert_eq!(t.flip(&[2]).unwrap_err().kind(), ErrorKind::Index);
    assert!(f::flip(&t, &[0, 0]).is_err(), "PyTorch's takes a dimension once");
    assert_eq!(t.pad_with_zeros(7, 0, 0)?.id(), t.id());
    assert_eq!(t.pad_with_same(7, 0, 0)?.id(), t.id());
    assert_eq!(Tensor::zeros(0, DType::F32, CPU)?.pad_with_same(0, 0, 0)?.dims(), [0]);
    Ok(())
}

#[test]
fn what_is_replaced_wholly_is_a_copy_and_has_a_gradient() -> Result<()> {
    let x = Var::new(&[1f32, 2.0], CPU)?;
    let src = Tensor::new(&[3f32, 4.0], CPU)?;
    for y in [x.slice_scatter0(&src, 0)?, x.slice_assign(&[..], &src)?] {
        assert_eq!(y.backward()?.get(&x).unwrap().to_vec1::<f32>()?, [0.0, 0.0]);
        y.detach().zero_set()?;
        assert_eq!(src.to_vec1::<f32>()?, [3.0, 4.0]);
    }
    let (number, new) = (Tensor::new(1f32, CPU)?, Tensor::new(2f32, CPU)?);
    let none: [std::ops::Range<usize>; 0] = [];
    number.slice_assign(&none, &new)?.zero_set()?;
    assert_eq!(new.to_scalar::<f32>()?, 2.0);
    Ok(())
}

#[test]
fn debug_texts() -> Result<()> {
    let shown = |t: Tensor| format!("{t:?}");
    assert_eq!(shown(Tensor::new(&[1f32, 2.5, f32::NAN], CPU)?), "Tensor[1, 2.5, NaN; f32]");
    assert_eq!(shown(Tensor::new(&[0u8; 0], CPU)?), "Tensor[; u8]");
    assert_eq!(shown(Tensor::new(-7i64, CPU)?), "Tensor[-7; i64]");
    assert_eq!(shown(Tensor::zeros((2, 0), DType::BF16, CPU)?), "Tensor[dims 2, 0; bf16]");
    assert_eq!(shown(Tensor::zeros(10, DType::F64, CPU)?), "Tensor[dims 10; f64]");
    Ok(())
}
