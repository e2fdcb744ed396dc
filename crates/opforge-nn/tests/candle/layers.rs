//! Layers under candle-nn's names that `layers.rs` does not hold: values by hand, or beside their definition.

use std::collections::HashMap;

use opforge::{DType, Device, Module, ModuleT, Result, Tensor, Var};
use opforge_nn::kv_cache::{ConcatKvCache, RotatingCache, RotatingKvCache, ScatteredCacheBuilder};
use opforge_nn::rnn::{Direction, LSTM};
use opforge_nn::*;

const CPU: &Device = &Device::Cpu;

fn counted(shape: &[usize]) -> Result<Tensor> {
    Tensor::arange(0f32, shape.iter().product::<usize>() as f32, CPU)?.reshape(shape)
}

fn flat(t: &Tensor) -> Result<Vec<f32>> {
    t.flatten_all()?.to_vec1()
}

fn near(got: &Tensor, expected: &[f32]) -> Result<()> {
    let got = flat(got)?;
    let fits = got.len() == expected.len() && got.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-4);
    assert!(fits, "{got:?}, wanted {expected:?}");
    Ok(())
}

#[test]
fn convolutions() -> Result<()> {
    let x = counted(&[1, 2, 4])?;
    let weight = Tensor::new(&[[[1f32, 2.0]], [[1.0, -1.0]]], CPU)?;
    let cfg = Conv1dConfig { groups: 2, padding: 1, stride: 2, ..Default::default() };
    let layer = Conv1d::new(weight.clone(), Some(Tensor::new(&[0f32, 10.0], CPU)?), cfg);
    // Channel 0 is 0 [0 1 2 3] 0, channel 1 is 0 [4 5 6 7] 0; windows of two at 0, 2 and 4.
    near(&layer.forward(&x)?, &[0.0, 5.0, 3.0, 6.0, 9.0, 17.0])?;
    assert_eq!((layer.config().stride, layer.weight().dims()), (2, &[2, 1, 2][..]));
    near(
        &layer.forward(&x)?,
        &flat(&x.conv1d(&weight, 1, 2, 1, 2)?.broadcast_add(&Tensor::new(&[[0f32], [10.0]], CPU)?)?)?,
    )?;

    let image = counted(&[1, 1, 3, 3])?;
    let ones = Tensor::ones((1, 1, 2, 2), DType::F32, CPU)?;
    near(&Conv2d::new(ones.clone(), None, Default::default()).forward(&image)?, &[8.0, 12.0, 20.0, 24.0])?;
    let cfg = ConvTranspose2dConfig { stride: 2, ..Default::default() };
    let large = ConvTranspose2d::new(ones, Some(Tensor::new(&[1f32], CPU)?), cfg).forward(&image.narrow(2, 0, 1)?)?;
    near(&large, &[1.0, 1.0, 2.0, 2.0, 3.0, 3.0, 1.0, 1.0, 2.0, 2.0, 3.0, 3.0])?;
    let cfg = ConvTranspose1dConfig { groups: 2, output_padding: 1, stride: 2, ..Default::default() };
    let long = ConvTranspose1d::new(weight, None, cfg).forward(&x.narrow(2, 0, 2)?)?;
    near(&long, &[0.0, 0.0, 1.0, 2.0, 0.0, 4.0, -4.0, 5.0, -5.0, 0.0])
}

#[test]
fn variables_of_convolutions() -> Result<()> {
    let map = VarMap::new();
    let vb = VarBuilder::from_varmap(&map, DType::F32, CPU);
    conv1d(4, 6, 3, Conv1dConfig { groups: 2, ..Default::default() }, vb.pp("a"))?;
    conv2d_no_bias(4, 6, 3, Default::default(), vb.pp("b"))?;
    conv_transpose1d(4, 6, 3, ConvTranspose1dConfig { groups: 2, ..Default::default() }, vb.pp("c"))?;
    conv_transpose2d(4, 6, 3, Default::default(), vb.pp("d"))?;
    conv_transpose2d_no_bias(4, 6, 3, Default::default(), vb.pp("e"))?;
    let vars = map.data().lock().unwrap();
    let dims: HashMap<&str, &[usize]> = vars.iter().map(|(name, var)| (name.as_str(), var.dims())).collect();
    let expected: [(&str, &[usize]); 8] = [
        ("a.weight", &[6, 2, 3]),
        ("a.bias", &[6]),
        ("b.weight", &[6, 4, 3, 3]),
        ("c.weight", &[4, 3, 3]),
        ("c.bias", &[6]),
        ("d.weight", &[4, 6, 3, 3]),
        ("d.bias", &[6]),
        ("e.weight", &[4, 6, 3, 3]),
    ];
    assert_eq!(dims, HashMap::from(expected));
    Ok(())
}

/// The mean of 1, 3 and 5 is 3, their variance 8 / 3, or 4 without bias; a quarter of the way from 0 and 1.
#[test]
fn batch_norms() -> Result<()> {
    let x = Tensor::new(&[[1f32], [3.0], [5.0]], CPU)?;
    let map = VarMap::new();
    let config = BatchNormConfig { eps: 0.0, momentum: 0.25, ..Default::default() };
    let norm = batch_norm(1, config, VarBuilder::from_varmap(&map, DType::F32, CPU))?;
    let unit = (8f32 / 3.0).sqrt();
    near(&norm.forward_train(&x)?, &[-2.0 / unit, 0.0, 2.0 / unit])?;
    near(norm.running_mean(), &[0.75])?;
    near(norm.running_var(), &[1.75])?;
    near(map.data().lock().unwrap()["running_var"].as_tensor(), &[1.75])?;
    let unit = 1.75f32.sqrt();
    near(&norm.forward_t(&x, false)?, &[0.25 / unit, 2.25 / unit, 4.25 / unit])?;
    near(norm.running_mean(), &[0.75])?;

    let (zero, one) = (Tensor::new(&[0f32], CPU)?, Tensor::new(&[1f32], CPU)?);
    let given = BatchNorm::new_with_momentum(1, zero.clone(), one.clone(), one.clone(), zero.clone(), 0.0, 1.0)?;
    given.forward_train(&x)?;
    near(given.running_mean(), &[3.0])?;
    near(&zero, &[0.0])?;
    assert_eq!((given.momentum(), given.eps(), given.weight_and_bias().is_some()), (1.0, 0.0, true));
    let plain = BatchNorm::new_no_bias(1, zero.clone(), one.clone(), 1e-5)?;
    assert!(plain.weight_and_bias().is_none());
    assert!(BatchNorm::new_no_bias(2, zero.clone(), one.clone(), 1e-5).is_err());
    assert!(BatchNorm::new_no_bias(1, zero.clone(), one.clone(), -1.0).is_err());
    assert!(BatchNorm::new_no_bias_with_momentum(1, zero, one, 1e-5, 1.5).is_err());

    // Without the mean: squares are 1, 9 and 25.
    let config = BatchNormConfig { eps: 0.0, remove_mean: false, affine: false, momentum: 0.5 };
    let norm = batch_norm(1, config, VarBuilder::from_varmap(&VarMap::new(), DType::F32, CPU))?;
    let root = (35f32 / 3.0).sqrt();
    near(&norm.forward_train(&x)?, &[1.0 / root, 3.0 / root, 5.0 / root])?;
    near(norm.running_var(), &[0.5 * 1.0 + 0.5 * 35.0 / 2.0])?;
    near(norm.running_mean(), &[0.0])
}

/// Values that candle-nn 0.11 gives for the same calls.
#[test]
fn batch_norms_of_candle() -> Result<()> {
    let x = Tensor::new(&[[[1f32], [10.0]], [[3.0], [14.0]], [[5.0], [30.0]]], CPU)?;
    let of = |remove_mean: bool| {
        let config = BatchNormConfig { remove_mean, eps: 0.5, momentum: 0.25, ..Default::default() };
        batch_norm(2, config, VarBuilder::from_varmap(&VarMap::new(), DType::F32, CPU))
    };
    let norm = of(true)?;
    near(&norm.forward_train(&x)?, &[-1.1239029, -0.92273575, 0.0, -0.46136788, 1.1239029, 1.3841035])?;
    near(norm.running_var(), &[1.75, 28.75])?;
    near(&norm.forward_t(&x, false)?, &[0.16666667, 1.0169504, 1.5, 1.7565506, 2.8333333, 4.7149515])?;
    let norm = of(false)?;
    near(&norm.forward_train(&x)?, &[0.28669107, 0.50052166, 0.86007327, 0.70073026, 1.4334555, 1.5015649])?;
    near(norm.running_var(), &[5.125, 150.25])?;
    near(&norm.forward_t(&x, false)?, &[0.42163703, 0.81446296, 1.264911, 1.1402482, 2.1081853, 2.443389])
}

#[test]
fn training_goes_through_norms() -> Result<()> {
    let x = Var::new(&[[1f32, 4.0], [3.0, -2.0], [5.0, 1.0]], CPU)?;
    let vb = VarBuilder::from_varmap(&VarMap::new(), DType::F32, CPU);
    let norm = batch_norm(2, 1e-5, vb)?;
    let grads = norm.forward_train(&x)?.powf(3.0)?.sum_all()?.backward()?;
    // Shifting or scaling a channel changes nothing.
    let grad = grads.get(&x).unwrap();
    near(&grad.sum(0)?, &[0.0, 0.0])?;
    near(&grad.mul(x.as_tensor())?.sum(0)?, &[0.0, 0.0])
}

#[test]
fn absorbed_norms() -> Result<()> {
    let image = counted(&[1, 2, 3, 3])?.affine(0.1, -0.5)?;
    let conv = Conv2d::new(counted(&[3, 2, 2, 2])?.affine(0.05, -0.3)?, Some(counted(&[3])?), Default::default());
    let row = |values: [f32; 3]| Tensor::new(&values, CPU);
    let mean = row([0.5, -1.0, 2.0])?;
    let norm =
        BatchNorm::new(3, mean.clone(), row([1.0, 4.0, 0.5])?, row([2.0, -1.0, 1.0])?, row([0.1, 0.2, 0.3])?, 1e-3)?;
    let expected = norm.forward_t(&conv.forward(&image)?, false)?;
    near(&conv.absorb_bn(&norm)?.forward(&image)?, &flat(&expected)?)?;
    let norm = BatchNorm::new_no_bias(3, mean, row([1.0, 4.0, 0.5])?, 1e-3)?;
    let bare = Conv2d::new(conv.weight().clone(), None, Default::default());
    near(&bare.absorb_bn(&norm)?.forward(&image)?, &flat(&norm.forward_t(&bare.forward(&image)?, false)?)?)
}

#[test]
fn group_norms() -> Result<()> {
    let (weight, bias) = (Tensor::new(&[1f32, 2.0, 1.0, 1.0], CPU)?, Tensor::new(&[0f32, 0.0, 5.0, 0.0], CPU)?);
    let x = Tensor::new(&[[[1f32], [3.0], [10.0], [30.0]]], CPU)?;
    near(&GroupNorm::new(weight.clone(), bias.clone(), 4, 2, 0.0)?.forward(&x)?, &[-1.0, 2.0, 4.0, 1.0])?;
    assert!(GroupNorm::new(weight.clone(), bias.clone(), 4, 3, 0.0).is_err());
    assert!(GroupNorm::new(weight.clone(), bias.clone(), 4, 0, 0.0).is_err());
    assert!(GroupNorm::new(weight, bias, 8, 2, 0.0)?.forward(&x).is_err(), "channels that the input has not");
    Ok(())
}

#[test]
fn functions() -> Result<()> {
    let x = Tensor::new(&[-1f32, 0.0, 2.0], CPU)?;
    near(&ops::selu(&x, 1.5, 2.0)?, &[3.0 * ((-1f32).exp() - 1.0), 0.0, 4.0])?;
    near(&ops::Identity::new().forward(&x)?, &[-1.0, 0.0, 2.0])?;
    let image = counted(&[1, 4, 1, 2])?;
    let shuffled = ops::pixel_shuffle(&image, 2)?;
    near(&shuffled, &[0.0, 2.0, 1.0, 3.0, 4.0, 6.0, 5.0, 7.0])?;
    near(&ops::pixel_unshuffle(&shuffled, 2)?, &flat(&image)?)?;
    assert!(ops::pixel_shuffle(&image, 3).is_err() && ops::pixel_unshuffle(&image, 0).is_err());
    let padded = ops::replication_pad2d(&counted(&[1, 1, 1, 2])?, 1)?;
    near(&padded, &[0.0, 0.0, 1.0, 1.0].repeat(3))?;
    let (row, ones) = (counted(&[2, 3])?, Tensor::ones(3, DType::F32, CPU)?);
    near(&ops::layer_norm_slow(&row, &ones, &ones, 1e-5)?, &flat(&ops::layer_norm(&row, &ones, &ones, 1e-5)?)?)?;
    near(&ops::rms_norm_slow(&row, &ones, 1e-5)?, &flat(&RmsNorm::new(ones, 1e-5).forward_diff(&row)?)?)
}

/// Attention by its definition, head by head.
#[test]
fn attention() -> Result<()> {
    let q = counted(&[1, 4, 3, 2])?.affine(0.1, -1.0)?.sin()?;
    let (k, v) = (counted(&[1, 2, 3, 2])?.affine(0.3, 0.0)?.cos()?, counted(&[1, 2, 3, 5])?.affine(0.2, 0.0)?.sin()?);
    let infinite = f32::NEG_INFINITY;
    let causal = Tensor::new(&[[0f32, infinite, infinite], [0.0, 0.0, infinite], [0.0, 0.0, 0.0]], CPU)?;
    let mask = Tensor::new(&[[0f32, 1.0, -1.0], [0.5, 0.0, 0.0], [0.0, -2.0, 0.0]], CPU)?;
    for (cap, with_mask, is_causal) in [
        (1.0, false, false),
        (1.0, true, false),
        (1.0, false, true),
        (1.0, true, true),
        (3.0, false, false),
        (3.0, true, true),
    ] {
        let given = mask.broadcast_as((1, 4, 3, 3))?;
        let got = ops::sdpa(&q, &k, &v, with_mask.then_some(&given), is_causal, 0.7, cap)?;
        assert_eq!(got.dims(), [1, 4, 3, 5]);
        for head in 0..4 {
            let of = |t: &Tensor, head: usize| t.get(0)?.get(head);
            let mut scores = (of(&q, head)?.matmul(&of(&k, head / 2)?.t()?)? * 0.7)?;
            if cap != 1.0 {
                scores = ((scores / f64::from(cap))?.tanh()? * f64::from(cap))?;
            }
            if with_mask {
                scores = (scores + &mask)?;
            }
            if is_causal {
                scores = (scores + &causal)?;
            }
            let expected = ops::softmax(&scores, 1)?.matmul(&of(&v, head / 2)?)?;
            near(&of(&got, head)?, &flat(&expected)?)?;
        }
    }
    assert!(ops::sdpa(&q, &counted(&[1, 3, 3, 2])?, &counted(&[1, 3, 3, 2])?, None, false, 1.0, 2.0).is_err());
    Ok(())
}

#[test]
fn draws_of_classes() -> Result<()> {
    CPU.set_seed(5)?;
    let logits = Tensor::new(&[0f32, 3f32.ln()], CPU)?.broadcast_as((4000, 2))?.contiguous()?;
    let share = |t: Tensor| t.to_dtype(DType::F32)?.mean_all()?.to_scalar::<f32>();
    // Of 4000 draws with probability 3/4, five standard deviations are 0.034.
    assert!((share(sampling::gumbel_softmax(&logits, 1.0, 1)?)? - 0.75).abs() < 0.035);
    // At temperature 1/2 probabilities are as 1 to 9.
    assert!((share(sampling::gumbel_softmax(&logits, 0.5, 1)?)? - 0.9).abs() < 0.025);
    assert_eq!(share(sampling::gumbel_softmax(&logits, 0.0, 1)?)?, 1.0);
    Ok(())
}

#[test]
fn joined_caches() -> Result<()> {
    let mut cache = ConcatKvCache::new(2);
    assert!(cache.is_empty() && cache.k().is_none() && cache.current_seq_len() == 0);
    let (a, b) = (counted(&[1, 2, 3, 2])?, counted(&[1, 2, 1, 2])?);
    cache.append(&a, &a)?;
    let (k, v) = cache.append(&b, &(&b + 1.0)?)?;
    near(&k, &flat(&Tensor::cat(&[&a, &b], 2)?)?)?;
    assert_eq!((cache.current_seq_len(), cache.dim(), v.dims()), (4, 2, &[1, 2, 4, 2][..]));
    assert!(cache.append(&counted(&[1, 3, 1, 2])?, &b).is_err());
    assert_eq!(cache.current_seq_len(), 4, "what did not fit changes nothing");
    *cache.k_mut().unwrap() = a.clone();
    assert_eq!(cache.clone().into_inner().unwrap().0.dims(), a.dims());
    cache.reset();
    assert!(cache.v().is_none() && cache.v_mut().is_none());
    Ok(())
}

/// A window over a long sequence beside the sequence itself: what is given back are the last elements, at the places that `positions` says.
#[test]
fn rotating_caches() -> Result<()> {
    for (room, steps) in [(4usize, [2usize, 1, 3, 1, 6, 2, 2]), (3, [1, 1, 1, 1, 2, 3, 2]), (1, [1, 1, 2, 1, 1, 3, 1])]
    {
        let mut cache = RotatingCache::new(0, room);
        let mut seen = 0;
        for step in steps {
            let (positions, mask) = (cache.positions(step), cache.attn_mask(step, CPU)?);
            let given = cache.append(&Tensor::arange(seen as f32, (seen + step) as f32, CPU)?)?.to_vec1::<f32>()?;
            let expected: Vec<f32> = positions.iter().map(|&p| p as f32).collect();
            assert_eq!(given, expected, "room {room}, {step} after {seen}");
            let mut sorted = positions.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, ((seen + step).saturating_sub(room.max(step))..seen + step).collect::<Vec<_>>());
            assert_eq!(mask.is_none(), step == 1);
            for (i, row) in mask.map_or(Ok(vec![]), |mask| mask.to_vec2::<u8>())?.into_iter().enumerate() {
                let hidden = |&p: &usize| u8::from(p > seen + i || p + room < seen + i);
                assert_eq!(row, positions.iter().map(hidden).collect::<Vec<_>>());
            }
            seen += step;
            assert_eq!(cache.current_seq_len(), seen);
            let held = cache.current_data()?.unwrap().dims1()?;
            assert_eq!(held, seen.min(room));
        }
    }
    let mut both = RotatingKvCache::new(1, 4);
    both.append(&counted(&[2, 3])?, &counted(&[2, 3])?)?;
    let (k, _) = both.append(&counted(&[2, 2])?, &counted(&[2, 2])?)?;
    near(&k, &[1.0, 1.0, 2.0, 0.0, 3.0, 4.0, 5.0, 2.0])?;
    assert_eq!((both.offset(), both.current_seq_len(), both.positions(1)), (1, 5, vec![4, 5, 2, 3]));
    both.reset();
    assert!(both.k()?.is_none() && both.v()?.is_none());
    assert!(RotatingCache::new(0, 0).append(&counted(&[1])?).is_err());
    assert!(RotatingCache::new(3, 2).append(&counted(&[1])?).is_err());
    Ok(())
}

#[test]
fn builders_of_other_names_and_files() -> Result<()> {
    let tensors = HashMap::from([("model.w".to_owned(), counted(&[2, 3])?)]);
    let vb = VarBuilder::from_tensors(tensors.clone(), DType::F32, CPU).rename_f(|name| format!("model.{name}"));
    near(&vb.get((2, 3), "w")?, &flat(&tensors["model.w"])?)?;
    assert!(vb.contains_tensor("w") && !vb.contains_tensor("model.w") && vb.get((3, 2), "w").is_err());
    assert_eq!(vb.get_unchecked_dtype("w", DType::F64)?.dtype(), DType::F64);
    assert_eq!(vb.clone().set_dtype(DType::BF16).get((2, 3), "w")?.dtype(), DType::BF16);
    assert!(vb.set_device(Device::Meta).device().is_meta());

    let folder = tempfile::tempdir()?;
    let path = folder.path().join("arrays.npz");
    Tensor::write_npz(&[("a.w", &tensors["model.w"])], &path)?;
    let vb = VarBuilder::from_npz(&path, DType::F64, CPU)?.pp("a");
    assert_eq!(vb.get((2, 3), "w")?.dtype(), DType::F64);
    assert!(vb.get((2, 2), "w").is_err() && vb.get(1, "none").is_err() && !vb.contains_tensor("none"));

    let path = folder.path().join("weights.pth");
    opforge::pickle::save(&[("a.w", &tensors["model.w"])], &path)?;
    let vb = VarBuilder::from_pth(&path, DType::F64, CPU)?.pp("a");
    assert_eq!(flat(&vb.get((2, 3), "w")?.to_dtype(DType::F32)?)?, flat(&tensors["model.w"])?);
    assert!(vb.get((2, 2), "w").is_err() && !vb.contains_tensor("none"));
    assert!(VarBuilder::from_pth_with_state(&path, DType::F64, "state_dict", CPU).is_err());

    let path = folder.path().join("t.safetensors");
    opforge::safetensors::save(&tensors, &path)?;
    let bytes = std::fs::read(&path)?;
    let vb = VarBuilder::from_slice_safetensors(&bytes, DType::F32, CPU)?;
    near(&vb.get((2, 3), "model.w")?, &flat(&tensors["model.w"])?)?;
    assert!(VarBuilder::from_slice_safetensors(&bytes[..9], DType::F32, CPU).is_err());
    Ok(())
}

#[test]
fn parameters_of_the_second_direction() -> Result<()> {
    let map = VarMap::new();
    let config = LSTMConfig { direction: Direction::Backward, layer_idx: 1, ..LSTMConfig::default_no_bias() };
    let layer = LSTM::new(2, 3, config, VarBuilder::from_varmap(&map, DType::F32, CPU))?;
    assert_eq!((layer.config().layer_idx, layer.config().direction), (1, Direction::Backward));
    let mut names: Vec<String> = map.data().lock().unwrap().keys().cloned().collect();
    names.sort();
    assert_eq!(names, ["weight_hh_l1_reverse", "weight_ih_l1_reverse"]);
    Ok(())
}

#[test]
fn turned_pairs_by_either_name() -> Result<()> {
    let x = counted(&[1, 1, 2, 4])?;
    let (cos, sin) = (counted(&[2, 2])?.cos()?, counted(&[2, 2])?.sin()?);
    near(&rotary_emb::rope_slow(&x, &cos, &sin)?, &flat(&rotary_emb::rope(&x, &cos, &sin)?)?)?;
    near(&rotary_emb::rope_i_slow(&x, &cos, &sin)?, &flat(&rotary_emb::rope_i(&x, &cos, &sin)?)?)
}

/// Each batch element has a window of its own. Beside the sequences that were appended: a step sees what came before it, as far as there is room.
#[test]
fn scattered_caches() -> Result<()> {
    let (batch, room) = (2usize, 5usize);
    let mut builder = ScatteredCacheBuilder::new(batch, room, DType::F32, CPU)?;
    let mut cache = builder.make_cache(1, 1)?;
    let mut sequences = vec![Vec::new(); batch];
    let steps = [
        (1, [true, true]),
        (2, [true, false]),
        (3, [false, true]),
        (3, [true, true]),
        (6, [true, true]),
        (2, [true, true]),
    ];
    for (call, (len, active)) in steps.into_iter().enumerate() {
        let new =
            (Tensor::arange(0f32, (batch * len) as f32, CPU)? + 100.0 * call as f64)?.reshape((batch, 1, len, 1))?;
        let wanted = builder.indices_and_mask(len, &active)?;
        let (k, v) = cache.append(&new, &(&new * 2.0)?, &wanted)?;
        near(&v, &flat(&(&k * 2.0)?)?)?;
        let mask = wanted.mask().broadcast_as((batch, 1, len, k.dims()[2]))?;
        for b in (0..batch).filter(|&b| active[b]) {
            sequences[b].extend(flat(&new.get(b)?)?);
            let (keys, before) = (flat(&k.get(b)?)?, sequences[b].len() - len);
            for (i, row) in mask.get(b)?.get(0)?.to_vec2::<f32>()?.into_iter().enumerate() {
                let mut seen: Vec<f32> =
                    keys.iter().zip(&row).filter(|(_, m)| **m == 0.0).map(|(key, _)| *key).collect();
                seen.sort_by(f32::total_cmp);
                let own = before + i;
                // Of a long call, each sees what came in it; else what the window still has.
                let first = if len >= room { before } else { (before + len).saturating_sub(room) };
                let mut expected = sequences[b][first..=own].to_vec();
                expected.sort_by(f32::total_cmp);
                assert_eq!(seen, expected, "call {call}, batch {b}, step {i}");
            }
        }
        assert_eq!(builder.positions(), sequences.iter().map(Vec::len).collect::<Vec<_>>());
    }
    builder.reset_batch_index(1);
    assert_eq!((builder.positions()[1], builder.batch_size()), (0, 2));
    assert!(builder.indices_and_mask(1, &[true]).is_err());
    assert!(ScatteredCacheBuilder::new(1, 0, DType::F32, CPU).is_err());
    builder.reset();
    assert_eq!(builder.positions(), [0, 0]);
    Ok(())
}
