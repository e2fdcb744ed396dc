//! Values that candle-nn 0.11 gives: each was found by running the same call on both.

use std::collections::HashMap;

use opforge::{DType, Device, Module, Result, Tensor, Var};
use opforge_nn::kv_cache::{Cache, KvCache};
use opforge_nn::*;

const CPU: &Device = &Device::Cpu;

fn counted(shape: &[usize]) -> Result<Tensor> {
    Tensor::arange(0f32, shape.iter().product::<usize>() as f32, CPU)?.reshape(shape)
}

#[test]
fn biases_of_linear_layers_broadcast() -> Result<()> {
    let (x, w) = (counted(&[2, 3])?, counted(&[2, 3])?);
    let with = |bias: Tensor| Linear::new(w.clone(), Some(bias)).forward(&x);
    assert_eq!(with(Tensor::new(10f32, CPU)?)?.to_vec2::<f32>()?, [[15.0, 24.0], [24.0, 60.0]]);
    assert_eq!(with(Tensor::new(&[10f32], CPU)?)?.to_vec2::<f32>()?, [[15.0, 24.0], [24.0, 60.0]]);
    assert_eq!(with(Tensor::new(&[10f32, 20.0], CPU)?)?.to_vec2::<f32>()?, [[15.0, 34.0], [24.0, 70.0]]);
    assert_eq!(with(Tensor::new(&[[10f32], [20.0]], CPU)?)?.to_vec2::<f32>()?, [[15.0, 24.0], [34.0, 70.0]]);
    assert!(with(Tensor::new(&[1f32, 2.0, 3.0], CPU)?).is_err());
    let one = Linear::new(counted(&[1, 3])?, Some(Tensor::new(&[1f32, 2.0], CPU)?));
    assert_eq!(one.forward(&x)?.to_vec2::<f32>()?, [[6.0, 7.0], [15.0, 16.0]]);
    let bias = Var::new(&[10f32], CPU)?;
    let grads = with(bias.as_tensor().clone())?.backward()?;
    assert_eq!(grads.get(&bias).unwrap().to_vec1::<f32>()?, [4.0]);
    Ok(())
}

#[test]
fn weights_of_norms_broadcast() -> Result<()> {
    let x = Tensor::new(&[[1f32, 3.0], [2.0, 6.0]], CPU)?;
    let rows = Tensor::new(&[[1f32], [10.0]], CPU)?;
    let near = |t: Tensor, expected: [[f32; 2]; 2]| -> Result<()> {
        let got = t.to_vec2::<f32>()?;
        for (got, expected) in got.iter().flatten().zip(expected.iter().flatten()) {
            assert!((got - expected).abs() < 1e-4, "{got}, wanted {expected}");
        }
        Ok(())
    };
    near(LayerNorm::new(rows.clone(), rows.clone(), 1e-8).forward(&x)?, [[0.0, 2.0], [0.0, 20.0]])?;
    near(LayerNorm::new_no_bias(Tensor::new(2f32, CPU)?, 1e-8).forward(&x)?, [[-2.0, 2.0]; 2])?;
    let root = 5f32.sqrt();
    near(RmsNorm::new(rows, 1e-8).forward(&x)?, [[1.0 / root, 3.0 / root], [10.0 / root, 30.0 / root]])
}

#[test]
fn slopes_of_the_inputs_shape() -> Result<()> {
    let x = Tensor::new(&[[-1f32, 2.0], [-3.0, -4.0]], CPU)?;
    let slopes = Tensor::new(&[[0.5f32, 9.0], [2.0, 0.0]], CPU)?;
    assert_eq!(PReLU::new(slopes, false).forward(&x)?.to_vec2::<f32>()?, [[-0.5, 2.0], [-6.0, 0.0]]);
    let (x, slope) = (Var::new(&[0f32, f32::INFINITY], CPU)?, Var::new(&[0.5f32], CPU)?);
    let grads = PReLU::new(slope.as_tensor().clone(), true).forward(&x)?.backward()?;
    assert_eq!(grads.get(&x).unwrap().to_vec1::<f32>()?, [0.5, 1.0], "the slope below 0");
    assert_eq!(grads.get(&slope).unwrap().to_vec1::<f32>()?, [0.0]);
    Ok(())
}

#[test]
fn states_of_a_gru_are_joined() -> Result<()> {
    let parts =
        [("weight_ih_l0", &[6usize, 3][..]), ("weight_hh_l0", &[6, 2]), ("bias_ih_l0", &[6]), ("bias_hh_l0", &[6])];
    let tensors: HashMap<String, Tensor> =
        parts.iter().map(|(name, shape)| Ok((name.to_string(), (counted(shape)? * 0.01)?))).collect::<Result<_>>()?;
    let layer = gru(3, 2, GRUConfig::default(), VarBuilder::from_tensors(tensors, DType::F32, CPU))?;
    let states = layer.seq(&(counted(&[2, 4, 3])? * 0.1)?)?;
    let all = layer.states_to_tensor(&states)?;
    assert_eq!(all.dims(), [2, 8]);
    assert_eq!(all.narrow(1, 6, 2)?.to_vec2::<f32>()?, states[3].h().to_vec2::<f32>()?);
    Ok(())
}

#[test]
fn caches_gain_room_by_their_length() -> Result<()> {
    let mut cache = KvCache::new(1, 2);
    let part = |len: usize, phase: f64| counted(&[2, len, 2])? + phase;
    let (a, b) = (part(1, 0.0)?, part(4, 100.0)?);
    cache.append(&a, &b.narrow(1, 0, 1)?)?;
    assert_eq!(cache.k_cache().max_seq_len(), 2);
    let (k, v) = cache.append(&b, &b)?;
    assert_eq!(k.to_vec3::<f32>()?, Tensor::cat(&[&a, &b], 1)?.to_vec3::<f32>()?);
    assert_eq!(v.dims(), [2, 5, 2]);
    assert_eq!((cache.current_seq_len(), cache.k_cache().max_seq_len()), (5, 6));
    assert_eq!(cache.k_cache().all_data().as_ref().map(|t| t.dims().to_vec()), Some(vec![2, 6, 2]));
    let before = cache.k()?.unwrap();
    assert!(cache.append(&counted(&[3, 1, 2])?, &a).is_err());
    assert_eq!(cache.k()?.unwrap().to_vec3::<f32>()?, before.to_vec3::<f32>()?, "what did not fit changes nothing");
    cache.reset();
    assert_eq!((cache.current_seq_len(), cache.k_cache_mut().max_seq_len(), cache.v_cache_mut().dim()), (0, 6, 1));
    let mut first = Cache::new(0, 1);
    first.append(&counted(&[3, 2])?)?;
    assert_eq!((first.current_seq_len(), first.max_seq_len()), (3, 3));
    let mut none = Cache::new(0, 0);
    none.append(&counted(&[0, 2])?)?;
    assert!(none.append(&counted(&[1, 2])?).is_err(), "no room to gain");
    Ok(())
}

#[test]
fn mish_of_large_halves_is_the_input() -> Result<()> {
    let x = Tensor::new(&[100f32, 6e4, -0.0, f32::INFINITY], CPU)?.to_dtype(DType::F16)?;
    let y = ops::mish(&x)?.to_dtype(DType::F32)?.to_vec1::<f32>()?;
    assert_eq!(y, [100.0, 6e4, -0.0, f32::INFINITY]);
    Ok(())
}

#[test]
fn losses_of_integers_are_cut() -> Result<()> {
    let (x, y) = (Tensor::new(&[5i64, 1], CPU)?, Tensor::new(&[2i64, 1], CPU)?);
    assert_eq!(loss::mse(&x, &y)?.to_scalar::<i64>()?, 0);
    assert_eq!(loss::mse(&x.narrow(0, 0, 1)?, &y.narrow(0, 0, 1)?)?.to_scalar::<i64>()?, 9);
    assert_eq!(loss::huber(&x.narrow(0, 0, 1)?, &y.narrow(0, 0, 1)?, 1.0)?.to_scalar::<i64>()?, 3);
    let (x, y) = (Tensor::new(&[1f32, 4.0], CPU)?, Tensor::new(&[0f32, 4.0], CPU)?);
    assert_eq!(loss::huber(&x, &y, -1.0)?.to_scalar::<f32>()?, -1.0);
    Ok(())
}
