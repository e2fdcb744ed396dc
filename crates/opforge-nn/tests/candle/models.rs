//! What candle's models are made of beside layers: experts, builders over other backends, older files of weights.

use std::io::Cursor;

use candle::quantized::{GgmlDType, QTensor, ggml_file, imatrix_file};
use candle::{DType, Device, Result, Shape, Tensor};
use candle_nn::moe::{moe_gemm, moe_gemm_gguf};
use candle_nn::var_builder::{Backend, Shard, ShardedSafeTensors, SimpleBackend, VarBuilderArgs};
use candle_nn::{Activation, Init, VarBuilder};
use opforge as candle;
use opforge_nn as candle_nn;

const CPU: &Device = &Device::Cpu;

/// Three tokens that go to two of four experts each, as a model's router says it: the experts of each token, and their weights.
fn routing() -> Result<(Tensor, Tensor, Tensor)> {
    let experts = Tensor::new(&[[2u32, 0], [3, 2], [0, 2]], CPU)?;
    let weights = Tensor::new(&[[0.25f32, 0.75], [0.5, 0.5], [1.0, 2.0]], CPU)?;
    let (sorted, pairs) = experts.flatten_all()?.sort_last_dim(true)?;
    Ok((sorted, pairs, weights))
}

#[test]
fn tokens_go_to_their_experts() -> Result<()> {
    let (experts, pairs, topk) = routing()?;
    let x = Tensor::arange(0f32, 6.0, CPU)?.reshape((3, 2))?;
    let weights = Tensor::arange(0f32, 24.0, CPU)?.reshape((4, 3, 2))?;
    let up = moe_gemm(&x, &weights, &None, &pairs, &experts, 2, true)?;
    assert_eq!(up.dims(), [6, 3]);
    let chosen = [2, 0, 3, 2, 0, 2];
    for (pair, expert) in chosen.into_iter().enumerate() {
        let expected = x.narrow(0, pair / 2, 1)?.matmul(&weights.get(expert)?.t()?)?.squeeze(0)?;
        assert_eq!(up.get(pair)?.to_vec1::<f32>()?, expected.to_vec1::<f32>()?, "{pair}");
    }
    let down = weights.transpose(1, 2)?.contiguous()?;
    let out = moe_gemm(&up, &down, &Some(topk.clone()), &pairs, &experts, 2, false)?;
    for (pair, expert) in chosen.into_iter().enumerate() {
        let scale = topk.flatten_all()?.get(pair)?.to_scalar::<f32>()?;
        let expected = up.narrow(0, pair, 1)?.matmul(&down.get(expert)?.t()?)?.affine(scale.into(), 0.0)?.squeeze(0)?;
        assert_eq!(out.get(pair)?.to_vec1::<f32>()?, expected.to_vec1::<f32>()?, "{pair}");
    }
    let wrong = Tensor::new(&[0u32, 1, 2, 3, 4, 4], CPU)?;
    assert!(moe_gemm(&x, &weights, &None, &wrong, &experts, 2, true).is_err(), "a pair twice");
    assert!(moe_gemm(&x, &weights.narrow(0, 0, 3)?, &None, &pairs, &experts, 2, true).is_err(), "an expert too many");
    assert!(moe_gemm(&x, &weights, &None, &pairs, &experts, 3, true).is_err(), "another topk");
    Ok(())
}

#[test]
fn quantized_experts_are_close() -> Result<()> {
    let (experts, pairs, topk) = routing()?;
    let weights = (Tensor::arange(0f32, 4.0 * 3.0 * 32.0, CPU)?.sin()?).reshape((4, 3, 32))?;
    let x = Tensor::arange(0f32, 6.0 * 32.0, CPU)?.cos()?.reshape((6, 32))?;
    let quantized = QTensor::quantize(&weights, GgmlDType::Q8_0)?;
    let exact = moe_gemm(&x, &weights, &Some(topk.clone()), &pairs, &experts, 2, false)?;
    let found = moe_gemm_gguf(&x, &quantized, &Some(topk), &pairs, &experts, 2, false, DType::F32)?;
    let error = found.sub(&exact)?.abs()?.max_all()?.to_scalar::<f32>()?;
    assert!(error > 0.0 && error < 0.1, "{error}");
    Ok(())
}

/// A backend of one's own, whose hint is a factor.
struct Filled;

#[derive(Default)]
struct Factor(f32);

impl Backend for Filled {
    type Hints = Factor;
    fn get(&self, shape: Shape, name: &str, hints: Factor, dtype: DType, device: &Device) -> Result<Tensor> {
        Tensor::full(name.len() as f32 * hints.0, shape, device)?.to_dtype(dtype)
    }
    fn get_unchecked(&self, name: &str, _: DType, _: &Device) -> Result<Tensor> {
        candle::bail!("{name} needs a shape")
    }
    fn contains_tensor(&self, name: &str) -> bool {
        name.starts_with("layer.")
    }
}

#[test]
fn builders_stand_on_any_backend() -> Result<()> {
    let vb = VarBuilderArgs::new_with_args(Filled, DType::F64, CPU);
    let layer = vb.pp("layer");
    assert!(layer.contains_tensor("w") && !vb.contains_tensor("w"));
    assert_eq!(layer.get_with_hints(2, "w", Factor(0.5))?.to_vec1::<f64>()?, [3.5, 3.5]);
    assert_eq!(layer.get(1, "w")?.to_vec1::<f64>()?, [0.0]);
    assert_eq!(
        (layer.prefix(), layer.dtype, layer.clone().to_dtype(DType::F32).dtype()),
        ("layer".into(), DType::F64, DType::F32)
    );
    assert!(layer.get_unchecked("w").is_err());
    Ok(())
}

/// The simple kind, boxed as programs do it.
struct Ones;
impl SimpleBackend for Ones {
    fn get(&self, shape: Shape, _: &str, _: Init, dtype: DType, device: &Device) -> Result<Tensor> {
        Tensor::ones(shape, dtype, device)
    }
    fn get_unchecked(&self, _: &str, dtype: DType, device: &Device) -> Result<Tensor> {
        Tensor::ones((), dtype, device)
    }
    fn contains_tensor(&self, _: &str) -> bool {
        true
    }
}

#[test]
fn simple_backends_are_backends() -> Result<()> {
    let boxed: Box<dyn SimpleBackend> = Box::new(Ones);
    let vb: VarBuilder<'_> = VarBuilder::from_backend(boxed, DType::F32, Device::Cpu);
    let renamed = vb.clone().rename_f(|name| format!("other.{name}"));
    assert_eq!(renamed.pp("a").get(2, "w")?.to_vec1::<f32>()?, [1.0, 1.0]);
    assert_eq!(vb.get_unchecked("w")?.rank(), 0);
    Ok(())
}

#[test]
fn shards_are_parts_of_tensors() -> Result<()> {
    let path = std::env::temp_dir().join(format!("candle-shards-{}.safetensors", std::process::id()));
    let whole = Tensor::arange(0f32, 12.0, CPU)?.reshape((4, 3))?;
    whole.save_safetensors("w", &path)?;
    let vb = ShardedSafeTensors::var_builder(&[&path], DType::F32, CPU)?;
    let part = |dim, rank, world_size| vb.get_with_hints((4, 3), "w", Shard { dim, rank, world_size });
    assert_eq!(part(0, 1, 2)?.to_vec2::<f32>()?, [[6.0, 7.0, 8.0], [9.0, 10.0, 11.0]]);
    assert_eq!(part(1, 2, 3)?.to_vec2::<f32>()?, [[2.0], [5.0], [8.0], [11.0]]);
    assert_eq!(vb.get((4, 3), "w")?.to_vec2::<f32>()?, whole.to_vec2::<f32>()?);
    assert!(vb.get((3, 4), "w").is_err() && part(0, 0, 3).is_err() && part(0, 2, 2).is_err() && part(2, 0, 2).is_err());
    std::fs::remove_file(path)?;
    Ok(())
}

/// A tensor in such a file: name, number of the type, dimensions, bytes.
type Written<'a> = (&'a str, u32, &'a [u32], Vec<u8>);

/// A file of an older format: sizes, two tokens, and tensors.
fn ggml(magic: &[u8; 4], version: Option<u32>, tensors: &[Written<'_>]) -> Vec<u8> {
    let mut file: Vec<u8> = magic.iter().rev().copied().collect();
    let mut put = |values: &[u32]| file.extend(values.iter().flat_map(|v| v.to_le_bytes()));
    version.into_iter().for_each(|version| put(&[version]));
    put(&[2, 32, 1, 4, 1, 8, 2]);
    for (token, score) in [("a", 1.5f32), ("bc", -2.0)] {
        file.extend((token.len() as u32).to_le_bytes());
        file.extend(token.bytes());
        version.into_iter().for_each(|_| file.extend(score.to_le_bytes()));
    }
    for (name, number, dims, bytes) in tensors {
        let head = [&[dims.len() as u32, name.len() as u32, *number], *dims].concat();
        file.extend(head.iter().flat_map(|v| v.to_le_bytes()));
        file.extend(name.bytes());
        if magic == b"ggjt" {
            file.resize(file.len().next_multiple_of(32), 0);
        }
        file.extend(bytes);
    }
    file
}

#[test]
fn files_older_than_gguf_are_read() -> Result<()> {
    let weight = Tensor::arange(0f32, 64.0, CPU)?.reshape((2, 32))?;
    let quantized = QTensor::quantize(&weight, GgmlDType::Q8_0)?;
    let bias: Vec<u8> = [1f32, 2.0, 3.0].iter().flat_map(|v| v.to_le_bytes()).collect();
    // Files have the innermost dimension first.
    let tensors = [("bias", 0, &[3u32][..], bias), ("weight", 8, &[32, 2][..], quantized.data()?.into_owned())];
    for (magic, version) in [(b"ggml", None), (b"ggmf", Some(1)), (b"ggjt", Some(1)), (b"ggjt", Some(3))] {
        let file = ggml(magic, version, &tensors);
        let mut content = ggml_file::Content::read(&mut Cursor::new(&file), CPU)?;
        assert_eq!((content.hparams.n_vocab, content.hparams.n_rot, content.hparams.ftype), (2, 8, 2));
        let score = if version.is_some() { 1.5 } else { 0.0 };
        assert_eq!(content.vocab.token_score_pairs[0], (b"a".to_vec(), score));
        assert_eq!(content.vocab.token_score_pairs[1].0, b"bc");
        assert_eq!(content.remove("bias")?.dequantize(CPU)?.to_vec1::<f32>()?, [1.0, 2.0, 3.0]);
        let found = content.remove("weight")?;
        assert_eq!((found.shape().dims(), found.data()?), (&[2, 32][..], quantized.data()?));
        assert!(content.remove("weight").is_err());
        // Nothing shorter is a file, and none ends the process.
        for len in 0..file.len() {
            let cut = ggml_file::Content::read(&mut Cursor::new(&file[..len]), CPU);
            let fewer = cut.map(|content| content.tensors.len()).unwrap_or(0);
            assert!(fewer < tensors.len(), "{len} bytes");
        }
    }
    assert!(ggml_file::Content::read(&mut Cursor::new(ggml(b"ggjt", Some(4), &[])), CPU).is_err());
    assert!(ggml_file::qtensor_from_ggml(GgmlDType::F32, &[0; 7], vec![2], CPU).is_err());
    Ok(())
}

#[test]
fn importances_are_read() -> Result<()> {
    let mut file = Vec::new();
    let mut put = |values: &[u8]| file.extend(values);
    put(&2i32.to_le_bytes());
    for (name, calls, numbers) in [("blk.0.w", 4i32, vec![8f32, 2.0]), ("out", 0, vec![3.0])] {
        put(&(name.len() as i32).to_le_bytes());
        put(name.as_bytes());
        put(&calls.to_le_bytes());
        put(&(numbers.len() as i32).to_le_bytes());
        numbers.iter().for_each(|v| put(&v.to_le_bytes()));
    }
    let path = std::env::temp_dir().join(format!("candle-imatrix-{}.dat", std::process::id()));
    std::fs::write(&path, &file)?;
    let found = imatrix_file::load_imatrix(&path)?;
    assert_eq!((&found["blk.0.w"], &found["out"]), (&vec![2.0, 0.5], &vec![3.0]));
    std::fs::write(&path, &file[..file.len() - 1])?;
    assert!(imatrix_file::load_imatrix(&path).is_err());
    std::fs::remove_file(&path)?;
    assert!(imatrix_file::load_imatrix(&path).is_err());
    Ok(())
}

#[test]
fn checkpoints_say_what_they_have() -> Result<()> {
    let path = std::env::temp_dir().join(format!("candle-info-{}.pt", std::process::id()));
    let (a, b) = (Tensor::zeros((2, 3), DType::F32, CPU)?, Tensor::zeros(4, DType::I64, CPU)?);
    candle::pickle::save(&[("b", &b), ("a", &a)], &path)?;
    let infos = candle::pickle::read_pth_tensor_info(&path, true, None)?;
    let said: Vec<_> = infos.iter().map(|info| (info.name.as_str(), info.dtype, info.layout.dims().to_vec())).collect();
    assert_eq!(said, [("b", DType::I64, vec![4]), ("a", DType::F32, vec![2, 3])]);
    let stored: Vec<_> = infos.iter().map(|info| info.storage_size).collect();
    assert_eq!(stored, [4, 6]);
    assert!(infos.iter().all(|info| info.path.contains("/data/")), "{infos:?}");
    std::fs::remove_file(path)?;
    Ok(())
}

/// Configurations of models name activations.
#[test]
fn activations_are_read_and_written() {
    let read = |text: &str| serde_json::from_str::<Activation>(text);
    let names = [
        ("\"gelu\"", Activation::Gelu),
        ("\"newgelu\"", Activation::NewGelu),
        ("\"gelu_new\"", Activation::NewGelu),
        ("\"gelupytorchtanh\"", Activation::GeluPytorchTanh),
        ("\"gelu_pytorch_tanh\"", Activation::GeluPytorchTanh),
        ("\"silu\"", Activation::Silu),
        ("\"relu2\"", Activation::Relu2),
        ("\"hardswish\"", Activation::HardSwish),
        ("{\"leakyrelu\":0.25}", Activation::LeakyRelu(0.25)),
        ("{\"elu\":1.0}", Activation::Elu(1.0)),
    ];
    for (text, activation) in names {
        assert_eq!(read(text).unwrap(), activation, "{text}");
        let written = serde_json::to_string(&activation).unwrap();
        assert_eq!(read(&written).unwrap(), activation, "{written}");
        assert!(written == text || text.contains('_'), "{written} for {text}");
    }
    assert!(read("\"Gelu\"").is_err() && read("\"none\"").is_err());
}
