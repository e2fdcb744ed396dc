//! Recurrent layers, rotary embeddings and caches against their formulas.

use opforge::{DType, Device, ErrorKind, Result, Tensor};
use opforge_nn::kv_cache::{Cache, KvCache};
use opforge_nn::{GRUConfig, LSTMConfig, RNN, VarBuilder, VarMap, gru, lstm, rotary_emb};

const CPU: &Device = &Device::Cpu;

fn wave(shape: impl Into<opforge::Shape>, phase: f64) -> Result<Tensor> {
    let shape = shape.into();
    Tensor::from_vec((0..shape.elem_count()).map(|i| (i as f64 * 0.9 + phase).sin()).collect(), shape, CPU)
}

fn close(got: f64, wanted: f64) {
    assert!((got - wanted).abs() < 1e-12, "{got}, wanted {wanted}");
}

/// Variables whose values differ everywhere, with the rows of weights and biases for a formula by hand.
fn set_all(vars: &VarMap) -> Result<()> {
    for (i, var) in vars.all_vars().iter().enumerate() {
        var.set(&wave(var.shape(), i as f64)?)?;
    }
    Ok(())
}

/// `weight[row] x + bias[row]` of the named variables.
fn row(vars: &VarMap, which: &str, row: usize, x: &[f64]) -> Result<f64> {
    let data = vars.data().lock().unwrap();
    let weight = data[&format!("weight_{which}_l0")].to_vec2::<f64>()?;
    let bias = data[&format!("bias_{which}_l0")].to_vec1::<f64>()?;
    Ok(weight[row].iter().zip(x).map(|(w, x)| w * x).sum::<f64>() + bias[row])
}

fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

const HIDDEN: usize = 3;

#[test]
fn lstm_follows_its_formula_and_learns() -> Result<()> {
    let vars = VarMap::new();
    let layer = lstm(2, HIDDEN, LSTMConfig::default(), VarBuilder::from_varmap(&vars, DType::F64, CPU))?;
    set_all(&vars)?;
    let input = wave((1, 4, 2), 0.3)?;
    let states = layer.seq(&input)?;
    let (mut h, mut c) = (vec![0.0; HIDDEN], vec![0.0; HIDDEN]);
    for (step, x) in input.to_vec3::<f64>()?[0].iter().enumerate() {
        let before = h.clone();
        for j in 0..HIDDEN {
            let gate = |g: usize| -> Result<f64> {
                let at = g * HIDDEN + j;
                Ok(row(&vars, "ih", at, x)? + row(&vars, "hh", at, &before)?)
            };
            c[j] = sigmoid(gate(1)?) * c[j] + sigmoid(gate(0)?) * gate(2)?.tanh();
            h[j] = sigmoid(gate(3)?) * c[j].tanh();
            close(states[step].h().to_vec2::<f64>()?[0][j], h[j]);
            close(states[step].c().to_vec2::<f64>()?[0][j], c[j]);
        }
    }
    let all = layer.states_to_tensor(&states)?;
    assert_eq!(all.dims(), [1, 4, HIDDEN]);
    let grads = all.sqr()?.sum_all()?.backward()?;
    assert!(vars.all_vars().iter().all(|var| grads.get(var).is_some()));
    Ok(())
}

#[test]
fn gru_follows_its_formula() -> Result<()> {
    let vars = VarMap::new();
    let layer = gru(2, HIDDEN, GRUConfig::default(), VarBuilder::from_varmap(&vars, DType::F64, CPU))?;
    set_all(&vars)?;
    let input = wave((1, 4, 2), 0.3)?;
    let states = layer.seq(&input)?;
    let mut h = vec![0.0; HIDDEN];
    for (step, x) in input.to_vec3::<f64>()?[0].iter().enumerate() {
        let before = h.clone();
        for j in 0..HIDDEN {
            let of_x = |g: usize| row(&vars, "ih", g * HIDDEN + j, x);
            let of_h = |g: usize| row(&vars, "hh", g * HIDDEN + j, &before);
            let (r, z) = (sigmoid(of_x(0)? + of_h(0)?), sigmoid(of_x(1)? + of_h(1)?));
            let n = (of_x(2)? + r * of_h(2)?).tanh();
            h[j] = (1.0 - z) * n + z * before[j];
            close(states[step].h().to_vec2::<f64>()?[0][j], h[j]);
        }
    }
    assert_eq!(layer.seq(&wave(3, 0.0)?).unwrap_err().kind(), ErrorKind::Shape);
    Ok(())
}

#[test]
fn rotary_embeddings_turn_pairs() -> Result<()> {
    let (b, h, t, d) = (2, 3, 4, 6);
    let x = wave((b, h, t, d), 0.0)?;
    let angles = wave((t + 2, d / 2), 1.0)?;
    let (cos, sin) = (angles.cos()?, angles.sin()?);
    let angle = angles.to_vec2::<f64>()?;
    let elements = |t: &Tensor| t.flatten_all()?.to_vec1::<f64>();
    let all = elements(&x)?;
    let (halves, neighbours) =
        (elements(&rotary_emb::rope(&x, &cos, &sin)?)?, elements(&rotary_emb::rope_i(&x, &cos, &sin)?)?);
    for start in (0..all.len()).step_by(d) {
        let position = start / d % t;
        for (i, angle) in angle[position].iter().enumerate() {
            let (s, c) = angle.sin_cos();
            for (turned, p, q) in [(&halves, i, i + d / 2), (&neighbours, 2 * i, 2 * i + 1)] {
                let (x1, x2) = (all[start + p], all[start + q]);
                close(turned[start + p], x1 * c - x2 * s);
                close(turned[start + q], x1 * s + x2 * c);
            }
        }
    }
    let swapped = rotary_emb::rope_thd(&x.transpose(1, 2)?.contiguous()?, &cos, &sin)?.transpose(1, 2)?;
    assert_eq!(elements(&swapped.contiguous()?)?, halves);
    let batched = |table: &Tensor| table.broadcast_left(b);
    assert_eq!(elements(&rotary_emb::rope(&x, &batched(&cos)?, &batched(&sin)?)?)?, halves);
    for bad in [wave((t - 1, d / 2), 0.0)?, wave((t, d), 0.0)?, wave((b + 1, t, d / 2), 0.0)?, wave(d / 2, 0.0)?] {
        assert_eq!(rotary_emb::rope(&x, &bad, &sin).unwrap_err().kind(), ErrorKind::Shape);
    }
    Ok(())
}

#[test]
fn caches_hold_what_was_appended() -> Result<()> {
    let mut cache = KvCache::new(1, 5);
    let (a, b) = (wave((2, 3, 4), 0.0)?, wave((2, 2, 4), 1.0)?);
    cache.append(&a, &b)?;
    let (k, v) = cache.append(&b, &a)?;
    assert_eq!(k.to_vec3::<f64>()?, Tensor::cat(&[&a, &b], 1)?.to_vec3::<f64>()?);
    assert_eq!(v.to_vec3::<f64>()?, Tensor::cat(&[&b, &a], 1)?.to_vec3::<f64>()?);
    assert_eq!(cache.current_seq_len(), 5);
    cache.reset();
    assert!(cache.k()?.is_none() && cache.current_seq_len() == 0);
    let mut single = Cache::new(0, 4);
    assert!(single.append(&Tensor::zeros((), DType::F32, CPU)?).is_err());
    Ok(())
}
