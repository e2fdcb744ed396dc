//! Both models beside plain loops in f64, made of the formulas alone.

use std::collections::HashMap;
use std::path::Path;

use opforge::quantized::GgmlDType;
use opforge::{DType, Device, Tensor, safetensors};
use opforge_examples::embedder::Embedder;
use opforge_examples::folder::Folder;
use opforge_examples::gguf::Gguf;
use opforge_examples::llama::{Config, Llama, RopeScaling, Tokens};
use opforge_examples::{bert, small};

type Rows = Vec<Vec<f64>>;

/// A model's weights as rows.
struct Weights(HashMap<String, Rows>);

impl Weights {
    fn read(folder: &Path) -> Weights {
        let rows = |tensor: &Tensor| {
            let tensor = tensor.to_dtype(DType::F64).unwrap();
            match tensor.rank() {
                1 => vec![tensor.to_vec1().unwrap()],
                _ => tensor.to_vec2().unwrap(),
            }
        };
        let tensors = safetensors::load(folder.join("model.safetensors"), &Device::Cpu).unwrap();
        Weights(tensors.iter().map(|(name, tensor)| (name.clone(), rows(tensor))).collect())
    }

    fn vector(&self, name: &str) -> &[f64] {
        &self.0[name][0]
    }

    fn linear(&self, name: &str, x: &Rows) -> Rows {
        let bias = self.0.get(&format!("{name}.bias")).map(|rows| rows[0].clone());
        let dot = |row: &[f64], x: &[f64]| row.iter().zip(x).map(|(a, b)| a * b).sum::<f64>();
        let apply = |x: &Vec<f64>| {
            let products = self.0[&format!("{name}.weight")].iter().map(|row| dot(row, x));
            products.enumerate().map(|(i, y)| y + bias.as_ref().map_or(0.0, |bias| bias[i])).collect()
        };
        x.iter().map(apply).collect()
    }

    fn layer_norm(&self, name: &str, eps: f64, x: &Rows) -> Rows {
        let (weight, bias) = (self.vector(&format!("{name}.weight")), self.vector(&format!("{name}.bias")));
        let norm = |x: &Vec<f64>| {
            let mean = x.iter().sum::<f64>() / x.len() as f64;
            let variance = x.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / x.len() as f64;
            let scaled = x.iter().map(|x| (x - mean) / (variance + eps).sqrt());
            scaled.zip(weight.iter().zip(bias)).map(|(x, (w, b))| x * w + b).collect()
        };
        x.iter().map(norm).collect()
    }

    fn rms_norm(&self, name: &str, eps: f64, x: &Rows) -> Rows {
        let norm = |x: &Vec<f64>| {
            let square = x.iter().map(|x| x * x).sum::<f64>() / x.len() as f64;
            x.iter().zip(self.vector(name)).map(|(x, w)| x / (square + eps).sqrt() * w).collect()
        };
        x.iter().map(norm).collect()
    }
}

fn plus(a: &Rows, b: &Rows) -> Rows {
    a.iter().zip(b).map(|(a, b)| a.iter().zip(b).map(|(a, b)| a + b).collect()).collect()
}

/// Attention of heads of `width`; query `i` sees the keys for which `sees(i, j)`. Several heads of queries share one of keys.
fn attention(q: &Rows, k: &Rows, v: &Rows, width: usize, sees: impl Fn(usize, usize) -> bool) -> Rows {
    let shared = q[0].len() / k[0].len();
    let head = |i: usize, h: usize| -> Vec<f64> {
        let part = |x: &Vec<f64>, h: usize| x[h * width..(h + 1) * width].to_vec();
        let query = part(&q[i], h);
        let seen: Vec<usize> = (0..k.len()).filter(|&j| sees(i, j)).collect();
        let score = |j: &usize| part(&k[*j], h / shared).iter().zip(&query).map(|(a, b)| a * b).sum::<f64>();
        let scores: Vec<f64> = seen.iter().map(|j| score(j) / (width as f64).sqrt()).collect();
        let most = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let total: f64 = scores.iter().map(|s| (s - most).exp()).sum();
        let mut out = vec![0.0; width];
        for (j, score) in seen.iter().zip(&scores) {
            let share = (score - most).exp() / total;
            part(&v[*j], h / shared).iter().zip(&mut out).for_each(|(v, out)| *out += share * v);
        }
        out
    };
    (0..q.len()).map(|i| (0..q[0].len() / width).flat_map(|h| head(i, h)).collect()).collect()
}

fn expect_close(found: &[f32], expected: &[f64], tolerance: f64) {
    assert_eq!(found.len(), expected.len());
    let largest = expected.iter().fold(1f64, |most, x| most.max(x.abs()));
    for (i, (found, expected)) in found.iter().zip(expected).enumerate() {
        let error = (f64::from(*found) - expected).abs() / largest;
        assert!(error < tolerance, "{found} instead of {expected} at {i}");
    }
}

/// The mean of the last states, of length 1.
fn embedding(config: &bert::Config, weights: &Weights, tokens: &[u32]) -> Vec<f64> {
    let table = |name: &str, row: usize| weights.0[&format!("embeddings.{name}_embeddings.weight")][row].clone();
    let rows =
        |name: &str, at: &dyn Fn(usize) -> usize| (0..tokens.len()).map(|i| table(name, at(i))).collect::<Rows>();
    let x = plus(&plus(&rows("word", &|i| tokens[i] as usize), &rows("position", &|i| i)), &rows("token_type", &|_| 0));
    let mut x = weights.layer_norm("embeddings.LayerNorm", config.layer_norm_eps, &x);
    for layer in 0..config.num_hidden_layers {
        let name = |part: &str| format!("encoder.layer.{layer}.{part}");
        let [q, k, v] =
            ["query", "key", "value"].map(|part| weights.linear(&name(&format!("attention.self.{part}")), &x));
        let y = attention(&q, &k, &v, config.hidden_size / config.num_attention_heads, |_, _| true);
        let y = plus(&x, &weights.linear(&name("attention.output.dense"), &y));
        x = weights.layer_norm(&name("attention.output.LayerNorm"), config.layer_norm_eps, &y);
        let mut wide = weights.linear(&name("intermediate.dense"), &x);
        wide.iter_mut().flatten().for_each(|x| *x *= 0.5 * (1.0 + erf(*x / 2f64.sqrt())));
        let y = plus(&x, &weights.linear(&name("output.dense"), &wide));
        x = weights.layer_norm(&name("output.LayerNorm"), config.layer_norm_eps, &y);
    }
    let mean: Vec<f64> =
        (0..config.hidden_size).map(|i| x.iter().map(|x| x[i]).sum::<f64>() / x.len() as f64).collect();
    let length = mean.iter().map(|x| x * x).sum::<f64>().sqrt();
    mean.iter().map(|x| x / length).collect()
}

/// The error function, by its series of Maclaurin: arguments here are small.
fn erf(x: f64) -> f64 {
    let (mut sum, mut term) = (x, x);
    for n in 1..60 {
        term *= -x * x / n as f64;
        sum += term / (2 * n + 1) as f64;
    }
    sum * 2.0 / std::f64::consts::PI.sqrt()
}

#[test]
fn embeddings_are_those_of_the_formulas() {
    let folder = tempfile::tempdir().unwrap();
    let config = small::tiny_bert();
    small::write_bert(folder.path(), &config, 3).unwrap();
    let (weights, mut embedder) = (Weights::read(folder.path()), Embedder::load(folder.path()).unwrap());
    let tokenizer = Folder::open(folder.path()).unwrap().tokenizer().unwrap();
    // Of several lengths, so that most are padded.
    let sentences = ["rain", "the boats lay at their moorings", "she began to play the violin on the roof", "oak"];
    let found = embedder.embed(&sentences, 3, |_| ()).unwrap().to_vec2::<f32>().unwrap();
    for (sentence, found) in sentences.iter().zip(found) {
        let tokens = tokenizer.encode(*sentence, true).unwrap().get_ids().to_vec();
        expect_close(&found, &embedding(&config, &weights, &tokens), 1e-5);
    }
}

/// The logits after the last token.
fn logits(config: &Config, weights: &Weights, tokens: &[u32]) -> Vec<f64> {
    let width = config.width();
    let frequency = |i: usize| {
        let plain = config.rope_theta.powf(-2.0 * i as f64 / width as f64);
        let Some(scaling) = &config.rope_scaling else { return plain };
        let length = std::f64::consts::TAU / plain;
        let (short, long) = (
            scaling.original_max_position_embeddings / scaling.high_freq_factor,
            scaling.original_max_position_embeddings / scaling.low_freq_factor,
        );
        if length < short {
            plain
        } else if length > long {
            plain / scaling.factor
        } else {
            let smooth = (scaling.original_max_position_embeddings / length - scaling.low_freq_factor)
                / (scaling.high_freq_factor - scaling.low_freq_factor);
            (1.0 - smooth) * plain / scaling.factor + smooth * plain
        }
    };
    let turn = |x: Rows| -> Rows {
        let turned = |position: usize, x: &Vec<f64>| {
            let one = |at: usize| {
                let (head, i) = (at / width * width, at % width);
                let (half, angle) = (width / 2, position as f64 * frequency(i % (width / 2)));
                let other = if i < half { -x[head + i + half] } else { x[head + i - half] };
                x[at] * angle.cos() + other * angle.sin()
            };
            (0..x.len()).map(one).collect()
        };
        x.iter().enumerate().map(|(position, x)| turned(position, x)).collect()
    };
    let mut x: Rows = tokens.iter().map(|&t| weights.0["model.embed_tokens.weight"][t as usize].clone()).collect();
    for layer in 0..config.num_hidden_layers {
        let name = |part: &str| format!("model.layers.{layer}.{part}");
        let y = weights.rms_norm(&name("input_layernorm.weight"), config.rms_norm_eps, &x);
        let [q, k, v] = ["q", "k", "v"].map(|part| weights.linear(&name(&format!("self_attn.{part}_proj")), &y));
        let y = attention(&turn(q), &turn(k), &v, width, |i, j| j <= i);
        x = plus(&x, &weights.linear(&name("self_attn.o_proj"), &y));
        let y = weights.rms_norm(&name("post_attention_layernorm.weight"), config.rms_norm_eps, &x);
        let (gate, up) = (weights.linear(&name("mlp.gate_proj"), &y), weights.linear(&name("mlp.up_proj"), &y));
        let gated = |g: &Vec<f64>, u: &Vec<f64>| g.iter().zip(u).map(|(g, u)| g / (1.0 + (-g).exp()) * u).collect();
        let y: Rows = gate.iter().zip(&up).map(|(g, u)| gated(g, u)).collect();
        x = plus(&x, &weights.linear(&name("mlp.down_proj"), &y));
    }
    let last = weights.rms_norm("model.norm.weight", config.rms_norm_eps, &vec![x.pop().unwrap()]);
    let head = if config.tie_word_embeddings { "model.embed_tokens" } else { "lm_head" };
    weights.linear(head, &last).remove(0)
}

fn configs() -> Vec<Config> {
    let scaling = RopeScaling {
        rope_type: "llama3".to_owned(),
        factor: 8.0,
        low_freq_factor: 1.0,
        high_freq_factor: 4.0,
        original_max_position_embeddings: 64.0,
    };
    let tiny = small::tiny_llama();
    vec![
        tiny.clone(),
        Config {
            tie_word_embeddings: true,
            num_key_value_heads: None,
            eos_token_id: Some(Tokens::Several(vec![1, 2])),
            ..tiny.clone()
        },
        Config { rope_scaling: Some(scaling), num_key_value_heads: Some(1), head_dim: Some(24), ..tiny },
    ]
}

#[test]
fn logits_are_those_of_the_formulas_however_the_text_is_read() {
    let tokens: Vec<u32> = (0..40).map(|i| (i * 37 + 11) % 320).collect();
    for config in configs() {
        let folder = tempfile::tempdir().unwrap();
        small::write_llama(folder.path(), &config, 5).unwrap();
        let expected = logits(&config, &Weights::read(folder.path()), &tokens);
        let weights = Folder::open(folder.path()).unwrap().weights(DType::F32).unwrap();
        let mut model = Llama::load(&config, &weights, 64).unwrap();
        // At once; after a part; one by one.
        for part in [40, 13, 1] {
            model.reset();
            let mut found = Vec::new();
            for tokens in tokens.chunks(part) {
                found = model.read(tokens).unwrap().to_vec1::<f32>().unwrap();
            }
            expect_close(&found, &expected, 1e-5);
        }
    }
}

#[test]
fn gguf_holds_the_same_model() {
    let tokens: Vec<u32> = (0..20).map(|i| (i * 61 + 7) % 320).collect();
    for config in &configs()[..1] {
        let folder = tempfile::tempdir().unwrap();
        small::write_llama(folder.path(), config, 5).unwrap();
        let expected = logits(config, &Weights::read(folder.path()), &tokens);
        for (dtype, tolerance) in [(GgmlDType::F32, 1e-5), (GgmlDType::Q8_0, 2e-2), (GgmlDType::Q4_0, 0.2)] {
            let file = folder.path().join("model.gguf");
            small::write_gguf(&file, config, dtype, 5).unwrap();
            let gguf = Gguf::open(&file).unwrap();
            let mut model = Llama::load(&gguf.config().unwrap(), &gguf, 64).unwrap();
            let found = model.read(&tokens).unwrap().to_vec1::<f32>().unwrap();
            expect_close(&found, &expected, tolerance);
        }
    }
}
