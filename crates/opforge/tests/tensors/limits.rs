//! Values at limits: quantiles next to infinities, and what matrices and images without elements give.

use opforge::declaration::Value;
use opforge::{DType, Device, Result, Tensor, functional as f};

const CPU: &Device = &Device::Cpu;
const INF: f64 = f64::INFINITY;
const NAN: f64 = f64::NAN;

/// Texts tell that both are NaN.
#[track_caller]
fn assert_same(found: Vec<f64>, wanted: &[f64], what: &str) {
    assert_eq!(format!("{found:?}"), format!("{wanted:?}"), "{what}");
}

#[test]
fn quantiles_next_to_infinities() -> Result<()> {
    let x = Tensor::new(&[INF, 1.0, 4.0, 2.0, 3.0], CPU)?;
    let numbers = [0.0, 0.75, 0.8125, 0.9375, 1.0];
    for (how, wanted) in [
        ("lower", [1.0, 4.0, 4.0, 4.0, INF]),
        ("higher", [1.0, 4.0, INF, INF, INF]),
        ("nearest", [1.0, 4.0, 4.0, INF, INF]),
        ("linear", [1.0, 4.0, INF, NAN, NAN]),
        ("midpoint", [1.0, 4.0, NAN, NAN, NAN]),
    ] {
        let several = Tensor::new(&numbers, CPU)?;
        assert_same(f::quantiles(&x, &several, None, false, how)?.to_vec1()?, &wanted, how);
        assert_same(f::nanquantiles(&x, &several, None, false, how)?.to_vec1()?, &wanted, how);
        let each = |of: &dyn Fn(f64) -> Result<Tensor>| -> Result<Vec<f64>> {
            numbers.iter().map(|&q| of(q)?.to_scalar()).collect()
        };
        assert_same(each(&|q| f::quantile(&x, q, None, false, how))?, &wanted, how);
        assert_same(each(&|q| f::nanquantile(&x, q, None, false, how))?, &wanted, how);
    }
    Ok(())
}

#[test]
fn norms_of_matrices_without_elements() -> Result<()> {
    let zeros = |shape: &[usize]| Tensor::zeros(shape, DType::C64, CPU);
    let norm =
        |shape: &[usize], ord: f64, dim: &[i64], keepdim| f::matrix_norm_of(&zeros(shape)?, ord, dim, keepdim, None);
    for (shape, ord, dim) in
        [(&[0, 4][..], 2.0, [-2, -1]), (&[0, 4], INF, [0, 1]), (&[0, 4], 1.0, [-1, -2]), (&[4, 0], 1.0, [0, 1])]
    {
        assert_eq!(norm(shape, ord, &dim, false)?.to_scalar::<f32>()?, 0.0);
        assert_eq!(norm(shape, ord, &dim, true)?.dims(), [1, 1]);
        assert!(norm(shape, -ord, &dim, false).is_err());
    }
    assert_eq!(norm(&[0, 3, 2], 2.0, &[0, 1], false)?.to_vec1::<f32>()?, [0.0; 2]);
    assert_eq!(f::linalg_norm(&zeros(&[0, 4])?, Some(2.0), None, false, None)?.to_scalar::<f32>()?, 0.0);
    for p in [None, Some(1.0), Some(-1.0), Some(2.0), Some(-2.0), Some(INF), Some(-INF)] {
        assert_eq!(f::cond(&zeros(&[2, 0, 0])?, p)?.to_vec1::<f32>()?, [0.0; 2]);
        assert_eq!(f::cond(&zeros(&[0, 2, 2])?, p)?.dtype(), DType::F32);
    }
    assert!(f::cond(&zeros(&[0, 0])?, Some(3.0)).is_err());
    Ok(())
}

#[test]
fn factors_of_matrices_without_elements_need_no_pivots() -> Result<()> {
    let a = Tensor::zeros((2, 0, 3), DType::F32, CPU)?;
    let (both, pivots, info) = f::lu_factor_ex(&a, false, false)?;
    assert_eq!((both.dims(), pivots.dims(), info.to_vec1::<i32>()?), (&[2, 0, 3][..], &[2, 0][..], vec![0, 0]));
    let (p, l, u) = f::lu(&a, false)?;
    assert_eq!((p.dims(), l.dims(), u.dims()), (&[0][..], &[2, 0, 0][..], &[2, 0, 3][..]));
    assert!(f::lu(&Tensor::ones((2, 2), DType::F32, CPU)?, false).is_err());
    Ok(())
}

#[test]
fn fractional_pooling_of_no_images() -> Result<()> {
    for lead in [&[0, 2][..], &[2, 0], &[0]] {
        let of = |shape: &[usize]| Tensor::zeros([lead, shape].concat(), DType::F32, CPU);
        let Value::Tensor(y) = f::fractional_max_pool2d(&of(&[5, 5])?, &[2], Some(&[3]), None, false, None)? else {
            panic!("one tensor")
        };
        assert_eq!(y.dims(), [lead, &[3, 3]].concat());
        assert!(f::fractional_max_pool3d(&of(&[5, 5, 5])?, &[2], Some(&[3]), None, true, None).is_ok());
    }
    Ok(())
}
