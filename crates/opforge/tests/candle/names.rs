//! Names of candle-core beside those of `programs.rs`: what each gives, by values worked out by hand.

use std::sync::Arc;

use opforge as candle_core;

use candle_core::conv::CudnnFwdAlgo;
use candle_core::op::CmpOp;
use candle_core::streaming::{BinOp, Map, StreamTensor, StreamingBinOp, StreamingModule};
use candle_core::{
    CpuStorage, CustomOp1, CustomOp2, CustomOp3, D, DType, Device, DeviceLocation, Error, Layout, Result, Shape,
    Tensor, Var,
};

const CPU: &Device = &Device::Cpu;

#[test]
fn sizes_of_images() -> Result<()> {
    let line = Tensor::new(&[[[1f32, 2.0]]], CPU)?;
    assert_eq!(line.upsample_nearest1d(4)?.to_vec3::<f32>()?, [[[1.0, 1.0, 2.0, 2.0]]]);
    assert_eq!(line.interpolate1d(3)?.to_vec3::<f32>()?, [[[1.0, 1.0, 2.0]]]);
    let image = Tensor::new(&[[[[0f32, 4.0], [8.0, 12.0]]]], CPU)?;
    let rows = |t: Tensor| t.squeeze(0)?.squeeze(0)?.to_vec2::<f32>();
    assert_eq!(rows(image.upsample_nearest2d(2, 4)?)?, [[0.0, 0.0, 4.0, 4.0], [8.0, 8.0, 12.0, 12.0]]);
    assert_eq!(rows(image.interpolate2d(1, 2)?)?, [[0.0, 4.0]]);
    assert_eq!(rows(image.upsample_bilinear2d(2, 3, true)?)?, [[0.0, 2.0, 4.0], [8.0, 10.0, 12.0]]);
    // Centres at 1/4, 3/4, 5/4 and 7/4 of the pixels' width, less half of one, held to the edge.
    assert_eq!(rows(image.upsample_bilinear2d(2, 4, false)?)?, [[0.0, 1.0, 3.0, 4.0], [8.0, 9.0, 11.0, 12.0]]);
    let scaled = image.upsample_bilinear2d_with_scale(1.0, 2.0, false)?;
    assert_eq!(rows(scaled)?, [[0.0, 1.0, 3.0, 4.0], [8.0, 9.0, 11.0, 12.0]]);
    for wrong in [image.upsample_nearest1d(2), line.upsample_nearest2d(2, 2), line.upsample_bilinear2d(1, 1, false)] {
        assert!(wrong.is_err());
    }
    assert!(image.upsample_nearest2d(0, 2).is_err() && image.upsample_nearest2d(usize::MAX, 2).is_err());
    Ok(())
}

#[test]
fn comparisons_and_hints() -> Result<()> {
    let t = Tensor::new(&[1f32, 2.0, f32::NAN], CPU)?;
    let cases = [(CmpOp::Eq, [0, 1, 0]), (CmpOp::Ne, [1, 0, 1]), (CmpOp::Lt, [1, 0, 0]), (CmpOp::Gt, [0, 0, 0])];
    for (op, expected) in cases.into_iter().chain([(CmpOp::Le, [1, 1, 0]), (CmpOp::Ge, [0, 1, 0])]) {
        assert_eq!(t.cmp(2f32, op)?.to_vec1::<u8>()?, expected, "{op:?}");
    }
    let (x, k) = (Tensor::ones((1, 1, 4), DType::F32, CPU)?, Tensor::ones((1, 1, 2), DType::F32, CPU)?);
    let y = x.conv1d_with_algo(&k, 0, 1, 1, 1, Some(CudnnFwdAlgo::Gemm))?;
    assert_eq!(y.to_vec3::<f32>()?, [[[2.0; 3]]]);
    let y = x.unsqueeze(2)?.conv2d_with_algo(&k.unsqueeze(2)?, 0, 1, 1, 1, None)?;
    assert_eq!(y.dims(), [1, 1, 1, 3]);
    Ok(())
}

#[test]
fn bytes() -> Result<()> {
    let t = Tensor::new(&[[1f32, -2.0], [0.5, 3.0]], CPU)?;
    let mut bytes = Vec::new();
    t.t()?.write_bytes(&mut bytes)?;
    assert_eq!(bytes, [1f32, 0.5, -2.0, 3.0].map(f32::to_le_bytes).concat());
    let back = Tensor::from_raw_buffer(&bytes, DType::F32, &[2, 2], CPU)?;
    assert_eq!(back.to_vec2::<f32>()?, [[1.0, 0.5], [-2.0, 3.0]]);
    assert!(Tensor::from_raw_buffer(&bytes[1..], DType::F32, &[2, 2], CPU).is_err());
    assert!(Tensor::from_raw_buffer(&[], DType::F32, &[usize::MAX, 2], CPU).is_err());
    assert_eq!(Tensor::from_raw_buffer(&[], DType::F64, &[0, 2], CPU)?.dims(), [0, 2]);
    Ok(())
}

#[test]
fn layouts_and_shapes() -> Result<()> {
    let t = Tensor::zeros((2, 3), DType::F32, CPU)?;
    assert!(t.t()?.layout().is_fortran_contiguous() && !t.layout().is_fortran_contiguous());
    assert!(t.narrow(0, 0, 1)?.layout().is_fortran_contiguous(), "the strides of one row do not matter");
    assert!(t.i_first()?.broadcast_as((4, 3))?.layout().has_internal_overlap());
    let shape = Shape::from((2, 1));
    assert_eq!(shape.broadcast_shape_binary_op(&Shape::from(3), "op")?.dims(), [2, 3]);
    assert!(Shape::from(2).broadcast_shape_binary_op(&Shape::from(3), "op").is_err());
    assert_eq!(shape.clone().extend(&[5, 6]).dims(), [2, 1, 5, 6]);
    assert!(shape.is_contiguous(&[1, 7]) && !shape.is_contiguous(&[2, 7]) && !shape.is_contiguous(&[1]));
    assert!(Shape::from((2, 3)).is_fortran_contiguous(&[1, 2]) && Shape::from((0, 3)).is_contiguous(&[9, 9]));
    assert_eq!(Layout::contiguous((2, 3)).is_contiguous(), Shape::from((2, 3)).is_contiguous(&[3, 1]));
    Ok(())
}

/// The first row, as candle's `i(0)` gives it.
trait First {
    fn i_first(&self) -> Result<Tensor>;
}

impl First for Tensor {
    fn i_first(&self) -> Result<Tensor> {
        self.get(0)
    }
}

#[test]
fn devices_and_errors() -> Result<()> {
    assert_eq!(CPU.location(), DeviceLocation::Cpu);
    assert!(Device::new_metal(0).is_err());
    assert!(Device::metal_if_available(0)?.is_cpu());
    let error = Error::msg("no such key").with_path("weights.bin").to_string();
    assert!(error.contains("weights.bin") && error.contains("no such key"));
    let one = candle_core::Scalar::one(DType::U8);
    assert_eq!((one.to_i64(), candle_core::Scalar::zero(DType::F32).to_f64()), (1, 0.0));
    Ok(())
}

#[test]
fn variables_and_gradients() -> Result<()> {
    let low = Var::rand_f64(2.0, 3.0, (100,), DType::F64, CPU)?.to_vec1::<f64>()?;
    assert!(low.iter().all(|v| (2.0..3.0).contains(v)));
    assert_eq!(Var::randn_f64(0.0, 1.0, (2, 2), DType::BF16, CPU)?.dtype(), DType::BF16);
    let (a, b) = (Var::new(&[1f32, 2.0], CPU)?, Var::new(&[3f32, 4.0], CPU)?);
    let mut grads = a.mul(&b)?.backward()?;
    grads.extend(a.sqr()?.backward()?)?;
    assert_eq!(grads.get(&a).unwrap().to_vec1::<f32>()?, [5.0, 8.0], "3 + 2 and 4 + 4");
    assert_eq!(grads.get(&b).unwrap().to_vec1::<f32>()?, [1.0, 2.0]);
    assert!(grads.insert_id(b.id(), a.as_detached_tensor()).is_some());
    assert_eq!(grads.get_id(b.id()).unwrap().to_vec1::<f32>()?, [1.0, 2.0]);
    Ok(())
}

/// Pieces of any length give what the whole sequences give.
#[test]
fn sequences_in_pieces() -> Result<()> {
    let (a, b) = (Tensor::arange(1f32, 9.0, CPU)?.reshape((2, 4))?, Tensor::arange(3f32, 11.0, CPU)?.reshape((2, 4))?);
    for op in [BinOp::Add, BinOp::Sub, BinOp::Mul, BinOp::Div] {
        let mut streaming = StreamingBinOp::new(op, D::Minus1);
        let whole = streaming.forward(&a, &b)?;
        let mut all = StreamTensor::empty();
        for (left, right) in [(0..3, 0..0), (3..3, 0..1), (3..4, 1..4)] {
            let piece = |t: &Tensor, range: std::ops::Range<usize>| {
                StreamTensor::from(t.clone()).narrow(1, range.start, range.len())
            };
            all = all.cat2(&streaming.step(&piece(&a, left)?, &piece(&b, right)?)?, 1)?;
        }
        assert_eq!(all.as_option().unwrap().to_vec2::<f32>()?, whole.to_vec2::<f32>()?, "{op:?}");
        streaming.step(&a.clone().into(), &().into())?;
        streaming.reset_state();
        assert!(streaming.step(&StreamTensor::empty(), &b.clone().into())?.as_option().is_none());
    }
    let stream = StreamTensor::from_tensor(a.clone());
    let (left, right) = stream.split(1, 1)?;
    assert_eq!((left.seq_len(1)?, right.seq_len(1)?, StreamTensor::empty().seq_len(1)?), (1, 3, 0));
    assert!(stream.split(1, 4)?.1.shape().is_none() && stream.narrow(1, 9, 1)?.shape().is_none());
    assert!(stream.seq_len(2).is_err() && stream.cat2(&b.t()?.into(), 1).is_err());
    let mut squares = Map::from(|x: &Tensor| x.sqr());
    assert_eq!(squares.step(&right)?.as_option().unwrap().to_vec2::<f32>()?[0], [4.0, 9.0, 16.0]);
    assert!(squares.step(&StreamTensor::from(None))?.as_option().is_none());
    squares.reset_state();
    Ok(())
}

/// `(n + 1) x` of the first of n arguments.
struct Scaled;

impl Scaled {
    fn run(s: &CpuStorage, l: &Layout, by: f32) -> Result<(CpuStorage, Shape)> {
        let values = s.as_slice::<f32>()?.iter().map(|v| v * by).collect::<Vec<f32>>();
        Ok((values.into(), l.shape().clone()))
    }
}

impl CustomOp1 for Scaled {
    fn name(&self) -> &'static str {
        "scaled"
    }
    fn cpu_fwd(&self, s: &CpuStorage, l: &Layout) -> Result<(CpuStorage, Shape)> {
        Scaled::run(s, l, 2.0)
    }
    fn bwd(&self, _: &Tensor, _: &Tensor, grad: &Tensor) -> Result<Option<Tensor>> {
        grad.affine(2.0, 0.0).map(Some)
    }
}

impl CustomOp2 for Scaled {
    fn name(&self) -> &'static str {
        "scaled"
    }
    fn cpu_fwd(&self, s: &CpuStorage, l: &Layout, _: &CpuStorage, _: &Layout) -> Result<(CpuStorage, Shape)> {
        Scaled::run(s, l, 3.0)
    }
}

impl CustomOp3 for Scaled {
    fn name(&self) -> &'static str {
        "scaled"
    }
    fn cpu_fwd(
        &self,
        s: &CpuStorage,
        l: &Layout,
        _: &CpuStorage,
        _: &Layout,
        _: &CpuStorage,
        _: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        Scaled::run(s, l, 4.0)
    }
}

#[test]
fn shared_operators() -> Result<()> {
    let x = Var::new(&[1f32, -1.0], CPU)?;
    let one: Arc<Box<dyn CustomOp1 + Send + Sync>> = Arc::new(Box::new(Scaled));
    let y = x.apply_op1_arc(one.clone())?.apply_op1_arc(one)?;
    assert_eq!(y.to_vec1::<f32>()?, [4.0, -4.0]);
    assert_eq!(y.backward()?.get(&x).unwrap().to_vec1::<f32>()?, [4.0, 4.0]);
    let plain = x.as_detached_tensor();
    assert_eq!(plain.apply_op2_arc(&plain, Arc::new(Box::new(Scaled)))?.to_vec1::<f32>()?, [3.0, -3.0]);
    assert_eq!(plain.apply_op3_arc(&plain, &plain, Arc::new(Box::new(Scaled)))?.to_vec1::<f32>()?, [4.0, -4.0]);
    Ok(())
}
