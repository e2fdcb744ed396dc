//! Errors as candle's programs match and make them.

use candle::{Context, DType, Device, DeviceLocation, Error, Result, Tensor};
use opforge as candle;

const CPU: &Device = &Device::Cpu;

/// The error of a call, without the backtrace that `RUST_BACKTRACE` asks for.
fn error<T>(result: Result<T>) -> Error {
    result.err().expect("an error").root().clone()
}

fn zeros(dims: &[usize]) -> Tensor {
    Tensor::zeros(dims, DType::F32, CPU).unwrap()
}

#[test]
fn errors_are_matched_by_name() -> Result<()> {
    let x = zeros(&[2, 3]);
    match error(x.add(&zeros(&[3, 2]))) {
        Error::ShapeMismatchBinaryOp { lhs, rhs, op } => {
            assert_eq!((lhs.dims(), rhs.dims(), op), (&[2, 3][..], &[3, 2][..], "add"))
        }
        other => panic!("{other}"),
    }
    assert!(matches!(error(x.matmul(&x)), Error::ShapeMismatchBinaryOp { op: "matmul", .. }));
    assert!(matches!(error(x.reshape((4, 2))), Error::ShapeMismatchBinaryOp { op: "reshape", .. }));
    assert!(matches!(error(x.broadcast_add(&zeros(&[4]))), Error::ShapeMismatchBinaryOp { op: "add", .. }));
    assert!(matches!(
        error(x.add(&x.to_dtype(DType::F64)?)),
        Error::DTypeMismatchBinaryOp { lhs: DType::F32, rhs: DType::F64, op: "add" }
    ));
    assert!(matches!(error(x.sum(2)), Error::DimOutOfRange { dim: 2, .. }));
    assert!(matches!(error(x.sum(candle::D::Minus(3))), Error::DimOutOfRange { dim: -3, .. }));
    assert!(matches!(error(x.sum((0, 0))), Error::DuplicateDimIndex { dims, .. } if dims == [0, 0]));
    assert!(matches!(error(x.dims3()), Error::UnexpectedNumberOfDims { expected: 3, got: 2, .. }));
    assert!(matches!(error(x.narrow(1, 2, 2)), Error::NarrowInvalidArgs { dim: 1, start: 2, len: 2, .. }));
    assert!(
        matches!(error(x.broadcast_as((2, 4))), Error::BroadcastIncompatibleShapes { dst_shape, .. } if dst_shape.dims() == [2, 4])
    );
    assert!(matches!(error(Tensor::from_vec(vec![1f32; 3], (2, 2), CPU)), Error::ShapeMismatch { buffer_size: 3, .. }));
    let ids = Tensor::new(&[0u32, 5], CPU)?;
    assert!(matches!(error(x.index_select(&ids, 1)), Error::InvalidIndex { index: 5, size: 3, .. }));
    assert!(matches!(error(Tensor::cat(&[&x, &zeros(&[2, 4])], 0)), Error::ShapeMismatchCat { dim: 0, n: 1, .. }));
    for (result, expected, op) in [
        (Tensor::cat(&[&x, &zeros(&[2])], 0), 2, "cat"),
        (x.conv2d(&zeros(&[1, 3, 1, 1]), 0, 1, 1, 1), 4, "conv2d"),
        (x.conv_transpose1d(&zeros(&[1, 3, 1]), 0, 0, 1, 1, 1), 3, "conv_transpose1d"),
    ] {
        match error(result) {
            Error::UnexpectedNumberOfDims { expected: n, got, shape } => assert_eq!((n, got), (expected, shape.rank())),
            other => panic!("{op}: {other}"),
        }
    }
    assert!(error(x.conv2d(&x, 0, 1, 1, 1)).to_string().contains("conv2d, shape: [2, 3]"));
    assert!(matches!(error(zeros(&[2, 0]).max(1)), Error::EmptyTensor { op: "max" }));
    assert!(matches!(error(zeros(&[0]).argmin_keepdim(0)), Error::EmptyTensor { op: "argmin" }));
    assert_eq!(zeros(&[0, 2]).max(1)?.dims(), [0]);
    let nowhere = Tensor::zeros((2, 3), DType::F32, &Device::Meta)?;
    assert!(matches!(
        error(x.add(&nowhere)),
        Error::DeviceMismatchBinaryOp { lhs: DeviceLocation::Cpu, rhs: DeviceLocation::Meta, op: "add" }
    ));
    assert!(matches!(error(Device::new_cuda(0)), Error::NotCompiledWithCudaSupport));
    assert!(matches!(error(Device::new_metal(0)), Error::NotCompiledWithMetalSupport));
    Ok(())
}

#[test]
fn builders_name_shapes_that_they_did_not_expect() -> Result<()> {
    let tensors = [("a.w".to_owned(), zeros(&[2, 3]))].into();
    let vb = opforge_nn::VarBuilder::from_tensors(tensors, DType::F32, CPU).pp("a");
    match error(vb.get((3, 2), "w")) {
        Error::UnexpectedShape { msg, expected, got } => {
            assert!(msg.contains("a.w"), "{msg}");
            assert_eq!((expected.dims(), got.dims()), (&[3, 2][..], &[2, 3][..]));
        }
        other => panic!("{other}"),
    }
    assert!(matches!(error(vb.get(3, "b")), Error::CannotFindTensor { path } if path == "a.b"));
    Ok(())
}

#[test]
fn programs_make_errors() -> Result<()> {
    let refuse = |shape: &candle::Shape| -> Result<()> {
        Err(Error::DimOutOfRange { shape: shape.clone().into(), dim: -1, op: "mine" }.bt())
    };
    let text = error(refuse(&(2, 3).into())).to_string();
    assert!(text.contains("mine") && text.contains("-1") && text.contains("[2, 3]"), "{text}");
    assert!(Error::RequiresContiguous { op: "mine" }.to_string().contains("contiguous"));
    assert_eq!(Error::wrap(String::from("from elsewhere")).to_string(), "from elsewhere");
    assert_eq!(Error::debug((1, "a")).to_string(), "(1, \"a\")");
    let read = |text: &str| -> Result<usize> { text.trim().parse::<usize>().context("a count") };
    assert_eq!(read(" 7 ")?, 7);
    assert!(matches!(read("x").unwrap_err().root(), Error::ParseInt(_)));
    let parsed = "f33".parse::<DType>();
    assert!(matches!(parsed, Err(candle::DTypeParseError(name)) if name == "f33"));
    let made: Result<()> =
        Err(Error::UnexpectedNumberOfDims { expected: 2, got: 1, shape: candle::Shape::from(3).into() });
    assert!(error(made).to_string().contains("rank 2"));
    let system = std::io::Error::from(std::io::ErrorKind::NotFound);
    assert!(matches!(Error::Io(system.into()), Error::Io(e) if e.kind() == std::io::ErrorKind::NotFound));
    let own: Box<dyn std::error::Error + Send + Sync> = "of my own".into();
    assert_eq!(Error::Wrapped(own.into()).to_string(), "of my own");
    Ok(())
}

/// Programs tell files that are not there from those that are broken.
#[test]
fn missing_files_are_found_by_their_kind() -> Result<()> {
    let path = std::env::temp_dir().join(format!("opforge-nowhere-{}", std::process::id()));
    let results = [
        candle::safetensors::load(&path, CPU).err(),
        Tensor::read_npy(&path).err(),
        Tensor::read_npz(&path).err(),
        candle::npy::NpzTensors::new(&path).err(),
        candle::pickle::read_all(&path).err(),
        candle::safetensors::MmapedSafetensors::new(&path).err(),
    ];
    for (i, result) in results.into_iter().enumerate() {
        let error = result.expect("no such file");
        assert!(error.to_string().contains("opforge-nowhere"), "{i}: {error}");
        assert_eq!(error.os_number(), std::fs::File::open(&path).unwrap_err().raw_os_error(), "{i}");
        match error {
            Error::Io(e) if e.kind() == std::io::ErrorKind::NotFound => {}
            other => panic!("{i}: {other:?}"),
        }
    }
    Ok(())
}
