//! Tensors of floats of eight bits: stored, moved, converted, and refused by what computes.

use opforge::{DType, Device, ErrorKind, F8E4M3, F8E5M2, Result, Tensor, WithDType, functional as f};

const CPU: &Device = &Device::Cpu;
const STORED: [DType; 2] = [DType::F8E4M3, DType::F8E5M2];

/// A function that moves elements.
type Move<'a> = &'a dyn Fn(&Tensor) -> Result<Tensor>;

/// A matrix of all codes.
fn every(dtype: DType) -> Result<Tensor> {
    let codes = Tensor::from_vec((0..=255u8).collect(), (16, 16), CPU)?;
    f::view_dtype(&codes, dtype)
}

fn codes(t: &Tensor) -> Result<Vec<u8>> {
    f::view_dtype(&t.contiguous()?, DType::U8)?.flatten_all()?.to_vec1()
}

#[test]
fn elements_are_rusts_numbers() -> Result<()> {
    let x = Tensor::new(&[F8E4M3::from_f32(1.5), F8E4M3::MAX], CPU)?;
    assert_eq!((x.dtype(), x.to_vec1::<F8E4M3>()?), (DType::F8E4M3, vec![F8E4M3::from_f32(1.5), F8E4M3::MAX]));
    assert_eq!(x.to_dtype(DType::F8E5M2)?.to_vec1::<F8E5M2>()?, [1.5, 448.0].map(F8E5M2::from_f32));
    assert_eq!(format!("{x:?}"), "Tensor[1.5, 448; f8e4m3]");
    assert_eq!(Tensor::ones(2, DType::F8E5M2, CPU)?.to_string(), "[1., 1.]\nTensor[[2], f8e5m2]");
    assert!(x.to_vec1::<u8>().is_err());
    Ok(())
}

/// In every layout, along every way from f32 and back.
#[test]
fn conversions_are_those_of_single_numbers() -> Result<()> {
    fn check<T: WithDType>(of: fn(f32) -> T) -> Result<()> {
        let numbers: Vec<f32> = (0..5000u32).map(|i| f32::from_bits(i.wrapping_mul(0x9e37_79b9))).collect();
        let x = Tensor::from_vec(numbers.clone(), (50, 100), CPU)?;
        let wanted: Vec<String> = numbers.iter().map(|&v| of(v).to_string()).collect();
        let texts = |t: &Tensor| {
            Ok::<_, opforge::Error>(Vec::from_iter(t.flatten_all()?.to_vec1::<T>()?.iter().map(T::to_string)))
        };
        assert_eq!(texts(&x.to_dtype(T::DTYPE)?)?, wanted);
        assert_eq!(texts(&x.t()?.contiguous()?.t()?.to_dtype(T::DTYPE)?)?, wanted);
        assert_eq!(texts(&x.to_dtype(DType::F64)?.to_dtype(T::DTYPE)?)?, wanted);
        let back = x.to_dtype(T::DTYPE)?.t()?.to_dtype(DType::F32)?.t()?.flatten_all()?.to_vec1::<f32>()?;
        assert_eq!(back.iter().map(f32::to_string).collect::<Vec<_>>(), wanted);
        Ok(())
    }
    check(F8E4M3::from_f32)?;
    check(F8E5M2::from_f32)
}

#[test]
fn moves_keep_every_code() -> Result<()> {
    for dtype in STORED {
        let (x, raw) = (every(dtype)?, Tensor::from_vec((0..=255u8).collect(), (16, 16), CPU)?);
        let ids = Tensor::new(&[3u32, 0, 15], CPU)?;
        let moves: [Move; 6] = [
            &|t| t.t()?.copy(),
            &|t| t.narrow(1, 2, 5),
            &|t| Tensor::cat(&[t, &t.t()?], 0),
            &|t| Tensor::stack(&[t, t], 2),
            &|t| t.index_select(&ids, 1),
            &|t| t.pad_with_zeros(0, 1, 2),
        ];
        for moved in moves {
            let (got, want) = (moved(&x)?, moved(&raw)?);
            assert_eq!((got.dtype(), codes(&got)?), (dtype, codes(&want)?));
        }
    }
    Ok(())
}

#[test]
fn what_computes_is_refused_by_name() -> Result<()> {
    for dtype in STORED {
        let x = Tensor::ones((2, 2), dtype, CPU)?;
        let calls: [(&str, Result<Tensor>); 8] = [
            ("add", x.add(&x)),
            ("mul", x.affine(2.0, 1.0)),
            ("matmul", x.matmul(&x)),
            ("exp", x.exp()),
            ("sum", x.sum_all()),
            ("lt", x.lt(&x)),
            ("argmax", x.argmax(0)),
            ("index_add", x.index_add(&Tensor::new(&[0u32, 1], CPU)?, &x, 0)),
        ];
        for (name, result) in calls {
            let error = result.expect_err(name);
            assert_eq!(error.kind(), ErrorKind::DType, "{name}: {error}");
            let report = error.report().expect("a report").into_owned();
            let given = report.given.iter().any(|(_, given)| given.contains(dtype.as_str()));
            assert!(given && report.accepted.contains("convert"), "{name}: {error}");
        }
        assert_eq!(x.eq(&x)?.to_vec2::<u8>()?, [[1, 1], [1, 1]]);
        assert_eq!(x.ne(2.0)?.to_vec2::<u8>()?, [[1, 1], [1, 1]]);
        let error = f::add((&x).into(), (&x.to_dtype(DType::F32)?).into(), 1i64.into()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::DType);
    }
    Ok(())
}
