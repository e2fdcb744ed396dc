//! Quantized tensors: what is lost, products beside naive ones, gradients, and files of the format gguf.

use std::borrow::Cow;
use std::io::Cursor;

use opforge::quantized::gguf_file::{self, Content, Value, ValueType};
use opforge::quantized::{GgmlDType, QMatMul, QStorage, QTensor};
use opforge::{DType, Device, ErrorKind, Module, Result, Tensor, Var};

const CPU: &Device = &Device::Cpu;

fn flat(t: &Tensor) -> Result<Vec<f32>> {
    t.flatten_all()?.to_vec1()
}

fn waves(shape: (usize, usize)) -> Result<Tensor> {
    Tensor::arange(0f32, (shape.0 * shape.1) as f32, CPU)?.affine(0.37, 0.1)?.sin()?.reshape(shape)
}

#[test]
fn rounded_elements_are_near() -> Result<()> {
    let x = waves((3, 512))?;
    // The greatest error of values within -1 and 1.
    let limits = |dtype| match dtype {
        GgmlDType::F32 => 0.0,
        GgmlDType::F16 => 5e-4,
        GgmlDType::BF16 => 4e-3,
        GgmlDType::Q8_0 | GgmlDType::Q8_1 | GgmlDType::Q8K => 5e-3,
        GgmlDType::Q6K => 0.04,
        GgmlDType::Q5_0 | GgmlDType::Q5_1 | GgmlDType::Q5K => 0.07,
        GgmlDType::Q4_0 | GgmlDType::Q4_1 | GgmlDType::Q4K => 0.14,
        GgmlDType::Q3K => 0.3,
        GgmlDType::Q2K => 0.45,
    };
    for dtype in GgmlDType::ALL {
        let q = QTensor::quantize(&x, dtype)?;
        assert_eq!((q.shape().dims(), q.rank(), q.dtype()), (&[3, 512][..], 2, dtype));
        assert_eq!(q.storage_size_in_bytes(), 3 * 512 / dtype.block_size() * dtype.type_size());
        assert_eq!(q.data()?.len(), q.storage_size_in_bytes());
        let error = q.dequantize(CPU)?.sub(&x)?.abs()?.max_all()?.to_scalar::<f32>()?;
        assert!(error <= limits(dtype), "{dtype:?} errs by {error}");
        assert_eq!(q.dequantize_f16(CPU)?.dtype(), DType::F16);
        let again = QTensor::new(QStorage::from_data(q.data()?, CPU, dtype)?, (3, 512))?;
        assert_eq!(flat(&again.dequantize(CPU)?)?, flat(&q.dequantize(CPU)?)?);
    }
    let strided = QTensor::quantize(&waves((512, 3))?.t()?, GgmlDType::Q8_0)?;
    assert_eq!(strided.shape().dims(), [3, 512]);
    let doubles = QTensor::quantize(&x.to_dtype(DType::F64)?, GgmlDType::Q4K)?;
    assert_eq!(doubles.data()?, QTensor::quantize(&x, GgmlDType::Q4K)?.data()?);
    Ok(())
}

/// The input loses half a step of 127 in each block besides: relative to the sum of magnitudes that is 1 / 254 of the block's greatest over its mean.
#[test]
fn products_are_those_of_what_blocks_hold() -> Result<()> {
    let (x, w) = (waves((5, 512))?, waves((7, 512))?.affine(-0.5, 0.2)?);
    for dtype in GgmlDType::ALL {
        let q = QTensor::quantize(&w, dtype)?;
        let held = q.dequantize(CPU)?;
        let expected = x.matmul(&held.t()?)?;
        let size = x.abs()?.matmul(&held.abs()?.t()?)?;
        let layer = QMatMul::from_qtensor(q)?;
        let y = layer.forward(&x)?;
        let worst = y.sub(&expected)?.abs()?.div(&size)?.max_all()?.to_scalar::<f32>()?;
        assert!(worst < 4e-3, "{dtype:?} errs by {worst}");
        let batch = layer.forward(&x.reshape((5, 1, 512))?)?;
        assert_eq!(batch.dims(), [5, 1, 7]);
        assert_eq!(flat(&batch)?, flat(&y)?, "{dtype:?}: results do not depend on the batch");
        assert_eq!(layer.forward(&x.to_dtype(DType::BF16)?)?.dtype(), DType::BF16);
        let halves = layer.forward_via_f16(&x)?;
        let worst = halves.sub(&expected)?.abs()?.div(&size)?.max_all()?.to_scalar::<f32>()?;
        assert!(halves.dtype() == DType::F32 && worst < 4e-3, "{dtype:?} in f16 errs by {worst}");
    }
    Ok(())
}

/// The block that ggml and candle make of 32 numbers: integers by the scale in f32, which is rounded to half precision only where it is stored.
fn reference_block(dtype: GgmlDType, x: &[f32]) -> Vec<u8> {
    let half = |v: f32| opforge::f16::from_f32(v).to_le_bytes();
    let inverse = |d: f32| if d == 0.0 { 0.0 } else { 1.0 / d };
    let most = x.iter().fold(0f32, |most, &v| if v.abs() > most.abs() { v } else { most });
    let (low, high) = (x.iter().copied().fold(f32::MAX, f32::min), x.iter().copied().fold(f32::MIN, f32::max));
    let steps = |(d, shift, middle, top): (f32, f32, f32, u8)| -> Vec<u8> {
        x.iter().map(|v| (((v - shift) * inverse(d) + middle) as u8).min(top)).collect()
    };
    let nibbles = |q: &[u8]| (0..16).map(|j| (q[j] & 15) | (q[j + 16] & 15) << 4).collect::<Vec<u8>>();
    let fifth = |q: &[u8]| q.iter().enumerate().fold(0u32, |bits, (j, q)| bits | u32::from(q >> 4) << j).to_le_bytes();
    match dtype {
        GgmlDType::Q4_0 => {
            let d = most / -8.0;
            [half(d).to_vec(), nibbles(&steps((d, 0.0, 8.5, 15)))].concat()
        }
        GgmlDType::Q4_1 => {
            let d = (high - low) / 15.0;
            [half(d).to_vec(), half(low).to_vec(), nibbles(&steps((d, low, 0.5, 15)))].concat()
        }
        GgmlDType::Q5_0 => {
            let d = most / -16.0;
            let q = steps((d, 0.0, 16.5, 31));
            [half(d).to_vec(), fifth(&q).to_vec(), nibbles(&q)].concat()
        }
        GgmlDType::Q5_1 => {
            let d = (high - low) / 31.0;
            let q = steps((d, low, 0.5, 31));
            [half(d).to_vec(), half(low).to_vec(), fifth(&q).to_vec(), nibbles(&q)].concat()
        }
        _ => {
            let d = most.abs() / 127.0;
            let q: Vec<i8> = x.iter().map(|v| (v * inverse(d)).round() as i8).collect();
            let sum: i32 = q.iter().map(|&q| i32::from(q)).sum();
            let sum = opforge::f16::from_f32(sum as f32) * opforge::f16::from_f32(d);
            let sum = if dtype == GgmlDType::Q8_1 { sum.to_le_bytes().to_vec() } else { vec![] };
            [half(d).to_vec(), sum, q.iter().map(|&q| q as u8).collect()].concat()
        }
    }
}

#[test]
fn bytes_of_blocks_are_those_of_ggml() -> Result<()> {
    let mut values = waves((64, 32))?.to_vec2::<f32>()?;
    // Ties: half of a step, and numbers that all scales hold exactly.
    values.push((0..32).map(|i| (i as f32 - 15.5) * 8.0).collect());
    values.push((0..32).map(|i| if i == 0 { 127.0 } else { i as f32 - 16.5 }).collect());
    values.extend([vec![0.0; 32], vec![-0.75; 32], vec![3e-5; 32]]);
    let x = Tensor::new(values.clone(), CPU)?;
    let types = [GgmlDType::Q4_0, GgmlDType::Q4_1, GgmlDType::Q5_0, GgmlDType::Q5_1, GgmlDType::Q8_0, GgmlDType::Q8_1];
    for dtype in types {
        let expected: Vec<u8> = values.iter().flat_map(|x| reference_block(dtype, x)).collect();
        let q = QTensor::quantize(&x, dtype)?;
        let bytes = q.data()?;
        let differing = bytes.iter().zip(&expected).position(|(a, b)| a != b);
        assert_eq!((bytes.len(), differing), (expected.len(), None), "{dtype:?}");
    }
    Ok(())
}

#[test]
fn inputs_have_gradients() -> Result<()> {
    let (x, w) = (Var::from_tensor(&waves((2, 256))?)?, waves((3, 256))?);
    let q = QTensor::quantize(&w, GgmlDType::Q6K)?;
    let held = q.dequantize(CPU)?;
    let grads = QMatMul::from_qtensor(q)?.forward(&x)?.sqr()?.sum_all()?.backward()?;
    let plain = x.matmul(&held.t()?)?.sqr()?.sum_all()?.backward()?;
    let (got, expected) = (flat(grads.get(&x).unwrap())?, flat(plain.get(&x).unwrap())?);
    let most = expected.iter().fold(0f32, |most, v| most.max(v.abs()));
    let worst = got.iter().zip(&expected).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    assert!(worst < 0.02 * most, "{worst} beside {most}");
    Ok(())
}

#[test]
fn rows_by_number() -> Result<()> {
    let w = waves((6, 256))?;
    let ids = Tensor::new(&[[5u32, 0], [2, 5]], CPU)?;
    for dtype in [GgmlDType::F16, GgmlDType::Q4_1, GgmlDType::Q3K] {
        let q = QTensor::quantize(&w, dtype)?;
        let expected = q.dequantize(CPU)?.index_select(&ids.flatten_all()?, 0)?;
        let got = QMatMul::from_qtensor(q.clone())?.embedding(&ids)?;
        assert_eq!(got.dims(), [2, 2, 256]);
        assert_eq!(flat(&got)?, flat(&expected)?, "{dtype:?}");
        assert_eq!(flat(&q.embedding(&ids)?)?, flat(&expected)?, "{dtype:?}");
        assert!(q.embedding(&Tensor::new(&[6u32], CPU)?).and_then(|t| flat(&t)).is_err());
    }
    Ok(())
}

#[test]
fn refusals() -> Result<()> {
    let kind = |result: Result<QTensor>| result.err().map(|error| error.kind());
    assert_eq!(kind(QTensor::quantize(&waves((2, 48))?, GgmlDType::Q4_0)), Some(ErrorKind::Shape));
    assert_eq!(
        kind(QTensor::quantize(&waves((256, 32))?, GgmlDType::Q4K)),
        Some(ErrorKind::Shape),
        "rows, not elements"
    );
    assert_eq!(kind(QTensor::quantize(&Tensor::new(1f32, CPU)?, GgmlDType::Q4_0)), Some(ErrorKind::Shape));
    assert!(QStorage::from_data(Cow::Borrowed(&[0; 17]), CPU, GgmlDType::Q4_0).is_err());
    let storage = QStorage::from_data(Cow::Borrowed(&[0; 36]), CPU, GgmlDType::Q4_0)?;
    assert_eq!(kind(QTensor::new(storage, (3, 32))), Some(ErrorKind::Shape));
    let layer = QMatMul::from_qtensor(QTensor::quantize(&waves((2, 64))?, GgmlDType::Q4_0)?)?;
    assert_eq!(layer.forward(&waves((2, 32))?).unwrap_err().kind(), ErrorKind::Shape);
    assert!(layer.forward(&Tensor::new(1f32, CPU)?).is_err());
    let none = layer.forward(&Tensor::zeros((0, 64), DType::F32, CPU)?)?;
    assert_eq!(none.dims(), [0, 2]);
    assert_eq!(flat(&none)?, [0f32; 0]);
    Ok(())
}

/// A file with every kind of values and of tensors.
fn file() -> Result<Vec<u8>> {
    let list = Value::Array(vec![Value::String("a".into()), Value::String(String::new())]);
    let metadata = [
        ("general.alignment", Value::U32(64)),
        ("u8", Value::U8(200)),
        ("i8", Value::I8(-3)),
        ("u16", Value::U16(60_000)),
        ("i16", Value::I16(-30_000)),
        ("i32", Value::I32(-5)),
        ("u64", Value::U64(u64::MAX)),
        ("i64", Value::I64(i64::MIN)),
        ("f32", Value::F32(0.5)),
        ("f64", Value::F64(-0.25)),
        ("bool", Value::Bool(true)),
        ("text", Value::String("naïve".into())),
        ("list", list.clone()),
        ("lists", Value::Array(vec![list.clone(), list])),
        ("empty", Value::Array(vec![])),
    ];
    let tensors = GgmlDType::ALL
        .map(|dtype| (format!("{dtype:?}"), QTensor::quantize(&waves((2, 256)).unwrap(), dtype).unwrap()));
    let metadata: Vec<(&str, &Value)> = metadata.iter().map(|(name, value)| (*name, value)).collect();
    let tensors: Vec<(&str, &QTensor)> = tensors.iter().map(|(name, tensor)| (name.as_str(), tensor)).collect();
    let mut out = Cursor::new(Vec::new());
    gguf_file::write(&mut out, &metadata, &tensors)?;
    Ok(out.into_inner())
}

#[test]
fn files_are_read_as_they_were_written() -> Result<()> {
    let bytes = file()?;
    assert_eq!(&bytes[..8], b"GGUF\x03\0\0\0");
    // Behind something else: positions are from where reading began.
    let mut reader = Cursor::new([&[9u8; 5][..], &bytes].concat());
    reader.set_position(5);
    let content = Content::read(&mut reader)?;
    assert_eq!(content.magic, gguf_file::VersionedMagic::GgufV3);
    assert_eq!((content.tensor_data_offset - 5) % 64, 0);
    let value = |name: &str| &content.metadata[name];
    assert_eq!(value("u8").to_u8()?, 200);
    assert_eq!(value("i8").to_i8()?, -3);
    assert_eq!(value("u16").to_u16()?, 60_000);
    assert_eq!(value("i16").to_i16()?, -30_000);
    assert_eq!(value("i32").to_i32()?, -5);
    assert_eq!(value("u64").to_u64()?, u64::MAX);
    assert_eq!(value("i64").to_i64()?, i64::MIN);
    assert_eq!((value("f32").to_f32()?, value("f64").to_f64()?), (0.5, -0.25));
    assert_eq!((value("bool").to_bool()?, value("u8").to_u64()?), (true, 200));
    assert_eq!(value("text").to_string()?, "naïve");
    assert_eq!(value("lists").to_vec()?[1], *value("list"));
    assert_eq!((value("list").value_type(), value("empty").to_vec()?.len()), (ValueType::Array, 0));
    assert!(value("text").to_u32().is_err() && value("u8").to_string().is_err());
    assert_eq!(content.tensor_infos.len(), 15);
    for dtype in GgmlDType::ALL {
        let read = content.tensor(&mut reader, &format!("{dtype:?}"), CPU)?;
        assert_eq!((read.dtype(), read.shape().dims()), (dtype, &[2, 256][..]));
        let expected = QTensor::quantize(&waves((2, 256))?, dtype)?;
        assert_eq!(read.data()?, expected.data()?, "{dtype:?}");
    }
    assert!(content.tensor(&mut reader, "none", CPU).is_err());
    Ok(())
}

/// A file made by hand, as the documentation has it, in its first two versions.
#[test]
fn older_versions() -> Result<()> {
    for version in [1u32, 2] {
        let length = |n: u64| if version == 1 { (n as u32).to_le_bytes().to_vec() } else { n.to_le_bytes().to_vec() };
        let text = |text: &str| [length(text.len() as u64), text.as_bytes().to_vec()].concat();
        let number = |n: u32| n.to_le_bytes().to_vec();
        let mut bytes = [b"GGUF".to_vec(), number(version), length(1), length(1)].concat();
        bytes.extend([text("answer"), number(4), number(42)].concat());
        bytes.extend([text("t"), number(2), length(3), length(2), number(0), 0u64.to_le_bytes().to_vec()].concat());
        bytes.resize(bytes.len().next_multiple_of(32), 0);
        bytes.extend((0..6).flat_map(|i| (i as f32).to_le_bytes()));
        let mut reader = Cursor::new(bytes);
        let content = Content::read(&mut reader)?;
        assert_eq!(content.metadata["answer"].to_u32()?, 42);
        let t = content.tensor(&mut reader, "t", CPU)?.dequantize(CPU)?;
        assert_eq!(t.to_vec2::<f32>()?, [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]);
    }
    Ok(())
}

/// Reads a file and all its tensors.
fn read_all(bytes: &[u8]) -> Result<()> {
    let mut reader = Cursor::new(bytes);
    let content = Content::read(&mut reader)?;
    content.tensor_infos.keys().try_for_each(|name| content.tensor(&mut reader, name, CPU).map(drop))
}

#[test]
fn cut_files_are_errors() -> Result<()> {
    let bytes = file()?;
    read_all(&bytes)?;
    // What is aligned behind the last tensor is nobody's.
    let end = bytes.len() - 64;
    for len in (0..2000.min(end)).chain((2000..end).step_by(97)) {
        let error = read_all(&bytes[..len]).expect_err("a part of a file");
        assert_eq!(error.kind(), ErrorKind::Format, "{len}: {error}");
    }
    Ok(())
}

#[test]
fn impossible_claims_are_errors() -> Result<()> {
    let head = |tensors: u64, values: u64| {
        [b"GGUF\x03\0\0\0".to_vec(), tensors.to_le_bytes().to_vec(), values.to_le_bytes().to_vec()].concat()
    };
    let name = [1u64.to_le_bytes().to_vec(), b"a".to_vec()].concat();
    let value =
        |kind: u32, rest: &[u8]| [head(0, 1), name.clone(), kind.to_le_bytes().to_vec(), rest.to_vec()].concat();
    let list = |kind: u32, count: u64| [kind.to_le_bytes().to_vec(), count.to_le_bytes().to_vec()].concat();
    let nested: Vec<u8> = (0..100_000).flat_map(|_| list(9, 1)).collect();
    let tensor = |dims: &[u64], kind: u32, offset: u64| {
        let dims: Vec<u8> = dims.iter().flat_map(|dim| dim.to_le_bytes()).collect();
        let rank = (dims.len() as u32 / 8).to_le_bytes().to_vec();
        let info = [rank, dims, kind.to_le_bytes().to_vec(), offset.to_le_bytes().to_vec()].concat();
        [head(1, 0), name.clone(), info, vec![0; 256]].concat()
    };
    let cases: [(&str, Vec<u8>); 16] = [
        ("magic", b"GGML\x03\0\0\0".to_vec()),
        ("version", b"GGUF\x04\0\0\0".to_vec()),
        ("tensors", head(u64::MAX, 0)),
        ("values", head(0, 1 << 40)),
        ("a name", [head(0, 1), u64::MAX.to_le_bytes().to_vec()].concat()),
        ("kind", value(77, &[0; 64])),
        ("truth", value(7, &[2])),
        ("text", value(8, &[2, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xfe])),
        ("a list", value(9, &list(0, 1 << 60))),
        ("lists", value(9, &nested)),
        ("twice", [head(0, 2), [name.clone(), vec![0, 0, 0, 0, 1]].concat().repeat(2)].concat()),
        (
            "alignment",
            [head(0, 1), 17u64.to_le_bytes().to_vec(), b"general.alignment".to_vec(), vec![4, 0, 0, 0, 0, 0, 0, 0]]
                .concat(),
        ),
        ("dims", tensor(&[1 << 40, 1 << 40], 0, 0)),
        ("blocks", tensor(&[31], 2, 0)),
        ("type", tensor(&[1], 99, 0)),
        ("offset", tensor(&[1], 0, u64::MAX - 31)),
    ];
    for (case, bytes) in cases {
        let error = read_all(&bytes).expect_err(case);
        assert_eq!(error.kind(), ErrorKind::Format, "{case}: {error}");
    }
    read_all(&tensor(&[1], 0, 0)).expect("the file that the others are variants of");
    Ok(())
}
