//! Dtypes, scalars, shapes, dimensions and errors.

use opforge_core::{
    Context, D, DType, Dim, Dims, Element, Error, ErrorKind, Kind, MAX_RANK, Result, Scalar, Shape, ShapeWithOneHole,
    WithDType, bf16, f16, normalize_dim, promote, result_type,
};

#[test]
fn every_dtype_is_found_by_both_names() -> Result<()> {
    for dtype in DType::ALL {
        assert_eq!(dtype.as_str().parse::<DType>()?, dtype);
        assert_eq!(dtype.long_name().parse::<DType>()?, dtype);
    }
    assert_eq!(Error::from("float128".parse::<DType>().unwrap_err()).kind(), ErrorKind::DType);
    Ok(())
}

#[test]
fn promotion_is_a_lattice() {
    for a in DType::ALL {
        assert_eq!(promote(a, a), Some(a));
        for b in DType::ALL {
            assert_eq!(promote(a, b), promote(b, a), "{a} {b}");
            let Some(both) = promote(a, b) else {
                assert!(a != b && (a.is_storage_only() || b.is_storage_only()), "{a} {b}");
                continue;
            };
            assert!(both.kind() >= a.kind().max(b.kind()), "{a} {b}");
            // What both promote to absorbs either.
            assert_eq!(promote(both, a), Some(both), "{a} {b}");
        }
    }
}

#[test]
fn promotion_is_pytorchs() {
    use DType::*;
    let cases = [
        (U8, I8, I16),
        (U8, I64, I64),
        (I32, I16, I32),
        (U16, I16, I32),
        (U32, I32, I64),
        (Bool, U8, U8),
        (I64, F16, F16),
        (F16, BF16, F32),
        (BF16, F32, F32),
        (F32, F64, F64),
        (C64, F64, C128),
        (C64, I64, C64),
    ];
    for (a, b, expected) in cases {
        assert_eq!(promote(a, b), Some(expected), "{a} {b}");
    }
}

#[test]
fn scalars_and_zero_dim_tensors_give_way_within_their_kind() {
    use DType::*;
    let result_type = |dims, zero_dims, scalar, default| result_type(dims, zero_dims, scalar, default).unwrap();
    let scalar = |dtype, kind| result_type(Some(dtype), None, Some(kind), F32);
    assert_eq!(scalar(U8, Kind::Int), U8);
    assert_eq!(scalar(U8, Kind::Float), F32);
    assert_eq!(scalar(F16, Kind::Float), F16);
    assert_eq!(scalar(Bool, Kind::Int), I64);
    assert_eq!(scalar(F64, Kind::Complex), C128);
    assert_eq!(result_type(Some(F16), Some(F64), None, F32), F16);
    assert_eq!(result_type(Some(I32), Some(F64), None, F32), F64);
    assert_eq!(result_type(None, Some(I8), Some(Kind::Int), F32), I8);
}

#[test]
fn scalars_know_what_holds_them() {
    let cases = [
        (Scalar::Int(255), DType::U8, true),
        (Scalar::Int(256), DType::U8, false),
        (Scalar::Int(-1), DType::U64, false),
        (Scalar::UInt(u64::MAX), DType::U64, true),
        (Scalar::UInt(u64::MAX), DType::I64, false),
        (Scalar::Float(3.0), DType::I8, true),
        (Scalar::Float(3.5), DType::I8, false),
        (Scalar::Float(f64::NAN), DType::I64, false),
        (Scalar::Float(1e30), DType::I64, false),
        (Scalar::Float(f64::INFINITY), DType::F16, true),
        (Scalar::Bool(true), DType::Bool, true),
        (Scalar::Int(2), DType::Bool, false),
        (Scalar::Complex(1.0, 0.0), DType::F32, true),
        (Scalar::Complex(1.0, 1.0), DType::F32, false),
    ];
    for (scalar, dtype, fits) in cases {
        assert_eq!(scalar.fits(dtype), fits, "{scalar} in {dtype}");
    }
}

#[test]
fn elements_survive_the_way_through_a_scalar() {
    fn check<T: Element>(values: &[T]) {
        values.iter().for_each(|&v| assert_eq!(T::from_scalar(v.to_scalar()), v, "{v:?}"));
    }
    check(&[true, false]);
    check(&[u8::MIN, u8::MAX]);
    check(&[u64::MIN, u64::MAX, 1 << 63, (1 << 53) + 1]);
    check(&[i64::MIN, i64::MAX, (1 << 53) + 1]);
    check(&[f16::MAX, f16::MIN_POSITIVE, f16::from_f32(-0.1)]);
    check(&[bf16::MAX, bf16::from_f32(0.1)]);
    check(&[f32::MAX, 0.1]);
    check(&[f64::MAX, 0.1]);
    assert_eq!(i8::from_scalar(Scalar::Int(300)), i8::MAX);
    assert_eq!(u8::from_f64(-1.0), 0);
}

#[test]
fn scalars_are_equal_by_their_bits() {
    assert_eq!(Scalar::Float(f64::NAN), Scalar::Float(f64::NAN));
    assert_ne!(Scalar::Float(0.0), Scalar::Float(-0.0));
    assert_ne!(Scalar::Int(1), Scalar::Float(1.0));
}

#[test]
fn shapes_whose_size_overflows_are_refused() {
    let huge = 1usize << 40;
    for dims in [vec![huge, huge], vec![huge, huge, 0], vec![usize::MAX], vec![1; MAX_RANK + 1]] {
        let error = Shape::from(dims.clone()).check("zeros", 4).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Shape, "{dims:?}");
        assert!(error.to_string().contains("zeros"), "{error}");
    }
    assert!(Shape::from([0, huge]).check("zeros", 4).is_ok());
}

#[test]
fn shapes_broadcast_as_numpys() -> Result<()> {
    let broadcast = |a: &[usize], b: &[usize]| Shape::from(a).broadcast(&b.into(), "add");
    assert_eq!(broadcast(&[3, 1], &[4])?.dims(), [3, 4]);
    assert_eq!(broadcast(&[], &[2, 0])?.dims(), [2, 0]);
    assert_eq!(broadcast(&[1], &[0])?.dims(), [0]);
    let error = broadcast(&[3], &[4]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "shape mismatch in add, lhs: [3], rhs: [4] (accepted: equal shapes; where it broadcasts, dimensions that are equal or 1, aligned at the end)"
    );
    Ok(())
}

#[test]
fn one_length_may_be_left_open() -> Result<()> {
    assert_eq!((2, (), 4).into_shape(24)?.dims(), [2, 3, 4]);
    assert_eq!(((), 4).into_shape(0)?.dims(), [0, 4]);
    assert_eq!(((),).into_shape(5)?.dims(), [5]);
    assert!((2, ()).into_shape(5).is_err());
    assert!(((), 0).into_shape(0).is_err());
    Ok(())
}

#[test]
fn dimensions_count_from_both_ends() -> Result<()> {
    let shape = Shape::from([2, 3, 4]);
    assert_eq!(D::Minus1.to_index(&shape, "test")?, 2);
    assert_eq!(D::Minus(3).to_index(&shape, "test")?, 0);
    assert_eq!(D::Minus1.to_index_plus_one(&shape, "test")?, 3);
    assert_eq!((0, D::Minus1).to_indexes(&shape, "test")?.as_slice(), [0, 2]);
    assert!(().to_indexes(&shape, "test")?.is_empty());
    for error in [
        3usize.to_index(&shape, "test").unwrap_err(),
        D::Minus(4).to_index(&shape, "test").unwrap_err(),
        D::Minus(0).to_index(&shape, "test").unwrap_err(),
        (1, D::Minus2).to_indexes(&shape, "test").unwrap_err(),
        normalize_dim(-4, 3, "test").unwrap_err(),
        normalize_dim(3, 3, "test").unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::Index, "{error}");
    }
    assert_eq!(normalize_dim(-1, 0, "test")?, 0);
    Ok(())
}

#[test]
fn wrapped_errors_keep_their_class() {
    let inner = Error::index("gather", "index", 7, "0 to 4");
    let at = std::panic::Location::caller();
    let error =
        Error::Deferred { op: "gather".into(), at, caller: None, inner: Box::new(inner) }.context("reading a batch");
    assert_eq!(error.kind(), ErrorKind::Index);
    assert_eq!(error.report().map(|r| r.accepted.clone()), Some("0 to 4".to_owned()));
    let text = error.to_string();
    assert!(text.contains("reading a batch") && text.contains("gather") && text.contains("values.rs"), "{text}");
    assert_eq!(None::<u8>.context("no value").unwrap_err().to_string(), "no value");
}

/// Errors with candle's names are as small as the others: results of operators hold them.
#[test]
fn errors_stay_small() {
    assert_eq!(size_of::<Error>(), 56);
    assert_eq!(size_of::<Result<Box<u8>>>(), 56);
}

#[test]
fn errors_with_names_have_reports() {
    let (lhs, rhs) = (Shape::from((2, 3)), Shape::from(4));
    let said = |error: Error| {
        let report = error.report().expect("a report").into_owned();
        assert!(!report.op.is_empty() && !report.given.is_empty() && !report.accepted.is_empty(), "{error}");
        (error.kind(), error.to_string())
    };
    let text = "shape mismatch in reshape, lhs: [2, 3], rhs: [4] (accepted: a shape of 6 elements)";
    assert_eq!(said(Error::binary_shapes("reshape", &lhs, &rhs)), (ErrorKind::Shape, text.to_owned()));
    let text = "index out of range in sum, dim: -3 (accepted: a dimension of the shape [2, 3])";
    assert_eq!(said(Error::no_dim("sum", -3, &lhs)), (ErrorKind::Index, text.to_owned()));
    let text = "dtype mismatch in add, lhs: f32, rhs: u8 (accepted: equal dtypes)";
    assert_eq!(said(Error::dtypes("add", DType::F32, DType::U8)), (ErrorKind::DType, text.to_owned()));
    let text = "shape mismatch in dims3, shape: [2, 3] (accepted: rank 3)";
    assert_eq!(said(lhs.dims3().unwrap_err()), (ErrorKind::Shape, text.to_owned()));
    assert_eq!(said(Error::InvalidIndex { op: "gather", index: 7, size: 0 }).0, ErrorKind::Index);
    assert_eq!(said(Error::BackwardNotSupported { op: "my op" }).0, ErrorKind::Autograd);
    assert_eq!(said(Error::NotCompiledWithCudaSupport).0, ErrorKind::Device);
    assert_eq!(said(Error::OpRequiresAtLeastOneTensor { op: "stack" }).0, ErrorKind::Value);
}

#[test]
fn errors_of_the_standard_library_come_along() {
    let number = || -> Result<usize> { Ok(u8::try_from(300)?.into()) };
    assert!(matches!(number(), Err(Error::TryFromIntError(_))));
    let number = |text: &str| -> Result<usize> { Ok(text.parse()?) };
    assert!(matches!(number("x"), Err(Error::ParseInt(_))));
    let text = |bytes: Vec<u8>| -> Result<String> { Ok(String::from_utf8(bytes)?) };
    assert!(matches!(text(vec![255]), Err(Error::FromUtf8(_))));
    let wrapped = Error::wrap("any text");
    assert_eq!((wrapped.to_string(), wrapped.wrapped::<&str>()), ("any text".to_owned(), Some(&"any text")));
}

#[test]
fn faults_of_custom_operators_name_what_is_known() {
    let error = Error::custom("add", "kernel.cc", "Add", "returned 3");
    assert_eq!(error.kind(), ErrorKind::CustomOp);
    assert_eq!(error.to_string(), "custom operator add (kernel.cc:Add): returned 3");
    assert_eq!(
        Error::custom("", "kernel.cc", "", "no such file").to_string(),
        "custom operator (kernel.cc): no such file"
    );
}

/// `half` rounds some f64 whose upper bits end in a tie the wrong way: 1.58203180.. to 1.578125.
#[test]
fn numbers_of_half_precision_are_the_nearest() {
    let nearest = |x: f32| {
        let (as_f16, as_bf16) = (f16::from_f32(x), bf16::from_f32(x));
        let number = Scalar::Float(x.into());
        assert_eq!(f16::from_scalar(number).to_bits(), as_f16.to_bits(), "{x}");
        assert_eq!(bf16::from_scalar(number).to_bits(), as_bf16.to_bits(), "{x}");
        assert_eq!(<bf16 as WithDType>::from_f64(x.into()).to_bits(), as_bf16.to_bits(), "{x}");
    };
    nearest(1.582_031_8);
    (0x3f00_0000..0x4000_0000).step_by(0x101).for_each(|bits| nearest(f32::from_bits(bits)));
}
