//! A program as candle's documentation writes them: an image classifier with convolutions and norms is trained, saved, read under other names, and its last
//! layer quantized. Only the crates' names are changed.

use opforge as candle_core;
use opforge_nn as candle_nn;

use candle_core::quantized::{GgmlDType, QMatMul, QTensor};
use candle_core::{D, DType, Device, IndexOp, Module, ModuleT, Result, Tensor};
use candle_nn::{
    AdamW, BatchNorm, Conv2d, Conv2dConfig, Dropout, GroupNorm, Linear, Optimizer, ParamsAdamW, VarBuilder, VarMap,
    batch_norm, conv2d, conv2d_no_bias, group_norm, linear, loss, ops,
};

struct ConvNet {
    conv1: Conv2d,
    bn: BatchNorm,
    conv2: Conv2d,
    norm: GroupNorm,
    fc: Linear,
    dropout: Dropout,
}

impl ConvNet {
    fn new(vs: VarBuilder) -> Result<Self> {
        let cfg = Conv2dConfig { padding: 1, stride: 1, dilation: 1, groups: 1, cudnn_fwd_algo: None };
        let conv1 = conv2d_no_bias(1, 8, 3, cfg, vs.pp("c1"))?;
        let bn = batch_norm(8, 1e-5, vs.pp("bn"))?;
        let conv2 = conv2d(8, 32, 3, Default::default(), vs.pp("c2"))?;
        let norm = group_norm(4, 32, 1e-5, vs.pp("gn"))?;
        let fc = linear(32, 2, vs.pp("fc"))?;
        Ok(Self { conv1, bn, conv2, norm, fc, dropout: Dropout::new(0.1) })
    }

    fn features(&self, xs: &Tensor, train: bool) -> Result<Tensor> {
        let (b, h, w) = xs.dims3()?;
        let xs = xs.reshape((b, 1, h, w))?.apply(&self.conv1)?.apply_t(&self.bn, train)?.relu()?.max_pool2d(2)?;
        let xs = xs.apply(&self.conv2)?.apply(&self.norm)?.relu()?;
        self.dropout.forward(&xs.flatten_from(2)?.mean(D::Minus1)?, train)
    }
}

impl ModuleT for ConvNet {
    fn forward_t(&self, xs: &Tensor, train: bool) -> Result<Tensor> {
        self.features(xs, train)?.apply(&self.fc)
    }
}

/// Images of horizontal and of vertical stripes, with noise, and which of the two they are.
fn stripes(dev: &Device) -> Result<(Tensor, Tensor)> {
    let stripe =
        |i: usize, x: usize, y: usize| if (if i.is_multiple_of(2) { x } else { y }) % 4 < 2 { 1f32 } else { -1.0 };
    let pixels = (0..32).flat_map(|i| (0..64).map(move |p| stripe(i, p % 8, p / 8))).collect::<Vec<_>>();
    let images = Tensor::from_vec(pixels, (32, 8, 8), dev)?;
    let noise = images.randn_like(0.0, 0.3)?;
    Ok(((images + noise)?, Tensor::from_iter((0..32u32).map(|i| i % 2), dev)?))
}

fn accuracy(logits: &Tensor, labels: &Tensor) -> Result<f32> {
    logits.argmax(D::Minus1)?.eq(labels)?.to_dtype(DType::F32)?.mean_all()?.to_scalar::<f32>()
}

#[test]
fn training_saving_and_quantizing() -> Result<()> {
    let dev = Device::cuda_if_available(0)?;
    dev.set_seed(299792458)?;
    let (images, labels) = stripes(&dev)?;
    let varmap = VarMap::new();
    let model = ConvNet::new(VarBuilder::from_varmap(&varmap, DType::F32, &dev))?;
    let adamw_params = ParamsAdamW { lr: 0.02, ..Default::default() };
    let mut opt = AdamW::new(varmap.all_vars(), adamw_params)?;
    for _ in 0..25 {
        let logits = model.forward_t(&images, true)?;
        let log_sm = ops::log_softmax(&logits, D::Minus1)?;
        opt.backward_step(&loss::nll(&log_sm, &labels)?)?;
    }
    let logits = model.forward_t(&images, false)?;
    assert!(accuracy(&logits, &labels)? > 0.95, "stripes are told apart");

    // Running statistics are variables too: what is read computes the same.
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("model.safetensors");
    varmap.save(&path)?;
    let vs = VarBuilder::from_mmaped_safetensors(&[&path], DType::F32, &dev)?;
    let again = ConvNet::new(vs.rename_f(|name| name.to_owned()))?;
    assert_eq!(again.forward_t(&images, false)?.to_vec2::<f32>()?, logits.to_vec2::<f32>()?);

    let fc = QMatMul::from_qtensor(QTensor::quantize(model.fc.weight(), GgmlDType::Q8_0)?)?;
    let scores = fc.forward(&model.features(&images, false)?)?.broadcast_add(model.fc.bias().unwrap())?;
    let far = (scores - &logits)?.abs()?.max_all()?.to_scalar::<f32>()?;
    assert!(far < 0.1, "{far}");
    assert_eq!(logits.i((0, ..))?.dims(), [2]);
    Ok(())
}
