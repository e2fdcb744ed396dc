//! Llama (Touvron et al., 2023): a decoder of grouped-query attention (Ainslie et al., 2023), rotary positions, and gated layers.

use std::sync::Arc;

use anyhow::{Result, bail, ensure};
use opforge::quantized::QMatMul;
use opforge::{D, DType, Device, Module, Tensor};
use opforge_nn::kv_cache::KvCache;
use opforge_nn::{Linear, RmsNorm, VarBuilder, ops, rotary_emb};
use serde::{Deserialize, Serialize};

/// What `config.json` says.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[allow(missing_docs, reason = "named as in every config.json")]
pub struct Config {
    pub vocab_size: usize,
    pub hidden_size: usize,
    pub intermediate_size: usize,
    pub num_hidden_layers: usize,
    pub num_attention_heads: usize,
    pub num_key_value_heads: Option<usize>,
    pub head_dim: Option<usize>,
    pub max_position_embeddings: usize,
    pub rms_norm_eps: f64,
    #[serde(default = "ten_thousand")]
    pub rope_theta: f64,
    pub rope_scaling: Option<RopeScaling>,
    #[serde(default)]
    pub tie_word_embeddings: bool,
    pub bos_token_id: Option<u32>,
    pub eos_token_id: Option<Tokens>,
    #[serde(default)]
    pub attention_bias: bool,
    /// Whether positions turn neighbouring elements of a head, as in gguf, or those of its two halves.
    #[serde(skip)]
    pub neighbours: bool,
    /// What gguf divides each frequency by.
    #[serde(skip)]
    pub frequency_factors: Option<Vec<f32>>,
}

fn ten_thousand() -> f64 {
    1e4
}

/// One token or several.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(untagged)]
#[allow(missing_docs, reason = "what they say")]
pub enum Tokens {
    One(u32),
    Several(Vec<u32>),
}

/// How positions beyond those of the first training are brought within (Llama 3.1).
#[derive(Debug, Clone, Deserialize, Serialize)]
#[allow(missing_docs, reason = "named as in every config.json")]
pub struct RopeScaling {
    #[serde(alias = "type")]
    pub rope_type: String,
    pub factor: f64,
    #[serde(default)]
    pub low_freq_factor: f64,
    #[serde(default)]
    pub high_freq_factor: f64,
    #[serde(default)]
    pub original_max_position_embeddings: f64,
}

impl Config {
    /// Elements of a head.
    pub fn width(&self) -> usize {
        self.head_dim.unwrap_or(self.hidden_size / self.num_attention_heads.max(1))
    }

    /// Heads of keys and values.
    pub fn key_heads(&self) -> usize {
        self.num_key_value_heads.unwrap_or(self.num_attention_heads)
    }

    /// The tokens that end a text.
    pub fn ends(&self) -> Vec<u32> {
        match &self.eos_token_id {
            None => Vec::new(),
            Some(Tokens::One(token)) => vec![*token],
            Some(Tokens::Several(tokens)) => tokens.clone(),
        }
    }

    fn check(&self) -> Result<()> {
        let (heads, keys, width) = (self.num_attention_heads, self.key_heads(), self.width());
        ensure!(
            heads > 0 && keys > 0 && heads.is_multiple_of(keys),
            "{heads} heads cannot share {keys} of keys and values"
        );
        ensure!(!self.attention_bias, "attention_bias is true; models with biases are not known here");
        ensure!(width > 0 && width.is_multiple_of(2), "heads of {width} elements, where positions turn pairs");
        Ok(())
    }

    /// The angle by which a position turns each pair of elements.
    fn frequencies(&self) -> Result<Vec<f64>> {
        let width = self.width();
        let factor =
            |i: usize| self.frequency_factors.as_ref().and_then(|all| all.get(i)).map_or(1.0, |&f| f64::from(f));
        let plain = (0..width / 2).map(|i| self.rope_theta.powf(-2.0 * i as f64 / width as f64) / factor(i));
        match &self.rope_scaling {
            None => Ok(plain.collect()),
            Some(scaling) if scaling.rope_type == "linear" => Ok(plain.map(|f| f / scaling.factor).collect()),
            Some(scaling) if scaling.rope_type == "llama3" => Ok(plain.map(|f| scaling.llama3(f)).collect()),
            Some(RopeScaling { rope_type, .. }) => bail!("rope_scaling is {rope_type:?}; known are linear and llama3"),
        }
    }
}

impl RopeScaling {
    /// Fast angles as they are, slow ones divided by the factor, and between the two a mixture.
    fn llama3(&self, frequency: f64) -> f64 {
        let turns = self.original_max_position_embeddings * frequency / std::f64::consts::TAU;
        let share = ((turns - self.low_freq_factor) / (self.high_freq_factor - self.low_freq_factor)).clamp(0.0, 1.0);
        frequency * (share + (1.0 - share) / self.factor)
    }
}

/// A matrix of weights `[out, in]`, of floats or quantized.
pub enum Weight {
    /// Of floats.
    Dense(Linear),
    /// In blocks of few bits.
    Quantized(QMatMul),
}

impl Weight {
    /// The rows of these numbers.
    fn rows(&self, numbers: &Tensor) -> opforge::Result<Tensor> {
        match self {
            Weight::Dense(weight) => weight.weight().embedding(numbers),
            Weight::Quantized(weight) => weight.embedding(numbers),
        }
    }
}

impl Module for Weight {
    fn forward(&self, x: &Tensor) -> opforge::Result<Tensor> {
        match self {
            Weight::Dense(weight) => weight.forward(x),
            Weight::Quantized(weight) => weight.forward(x),
        }
    }
}

/// Where a model's weights come from, by Hugging Face's names.
pub trait Weights {
    /// A matrix `[out, in]`.
    ///
    /// # Errors
    /// Where there is none of this name and shape.
    fn matrix(&self, name: &str, shape: (usize, usize)) -> Result<Weight>;

    /// A tensor of floats.
    ///
    /// # Errors
    /// As [`Weights::matrix`].
    fn tensor(&self, name: &str, shape: &[usize]) -> Result<Tensor>;
}

impl Weights for VarBuilder<'_> {
    fn matrix(&self, name: &str, shape: (usize, usize)) -> Result<Weight> {
        Ok(Weight::Dense(Linear::new(self.get(shape, name)?, None)))
    }

    fn tensor(&self, name: &str, shape: &[usize]) -> Result<Tensor> {
        Ok(self.get(shape, name)?)
    }
}

/// The decoder, and the keys and values of what it has read.
pub struct Llama {
    words: Arc<Weight>,
    layers: Vec<Layer>,
    norm: RmsNorm,
    head: Arc<Weight>,
    /// `[positions, width / 2]` each.
    turns: (Tensor, Tensor),
    read: usize,
    positions: usize,
}

impl Llama {
    /// From weights; a text may have as many tokens as `positions` and the config allow.
    ///
    /// # Errors
    /// Weights that are missing or of other shapes, and a config that describes another kind of model.
    pub fn load(config: &Config, weights: &dyn Weights, positions: usize) -> Result<Llama> {
        config.check()?;
        let positions = positions.min(config.max_position_embeddings);
        let (vocabulary, hidden) = (config.vocab_size, config.hidden_size);
        let words = Arc::new(weights.matrix("model.embed_tokens.weight", (vocabulary, hidden))?);
        let head = match config.tie_word_embeddings {
            true => words.clone(),
            false => Arc::new(weights.matrix("lm_head.weight", (vocabulary, hidden))?),
        };
        let layers = (0..config.num_hidden_layers).map(|i| Layer::load(config, weights, i, positions));
        let norm = weights.tensor("model.norm.weight", &[hidden])?;
        Ok(Llama {
            words,
            layers: layers.collect::<Result<_>>()?,
            turns: turns(&config.frequencies()?, positions, norm.dtype())?,
            norm: RmsNorm::new(norm, config.rms_norm_eps),
            head,
            read: 0,
            positions,
        })
    }

    /// Reads tokens after those it has read; gives the logits `[vocabulary]` of what comes next.
    ///
    /// # Errors
    /// No tokens, more of them than there are positions, and tokens that are none.
    pub fn read(&mut self, tokens: &[u32]) -> Result<Tensor> {
        let (count, left) = (tokens.len(), self.positions - self.read);
        ensure!((1..=left).contains(&count), "{count} tokens, where there is room for 1 to {left}");
        let tokens = Tensor::new(tokens, &Device::Cpu)?.unsqueeze(0)?;
        let part = |turns: &Tensor| turns.narrow(0, self.read, count);
        let turns = (part(&self.turns.0)?, part(&self.turns.1)?);
        let mut x = self.words.rows(&tokens)?;
        for layer in &mut self.layers {
            x = layer.forward(&x, &turns)?;
        }
        self.read += count;
        let last = self.norm.forward(&x.narrow(1, count - 1, 1)?)?;
        Ok(self.head.forward(&last)?.flatten_all()?.to_dtype(DType::F32)?)
    }

    /// How many more tokens it can read.
    pub fn room(&self) -> usize {
        self.positions - self.read
    }

    /// Forgets what it has read.
    pub fn reset(&mut self) {
        self.read = 0;
        self.layers.iter_mut().for_each(|layer| layer.attention.cache.reset());
    }
}

/// Cosines and sines `[positions, frequencies]` of the angles of each position.
fn turns(frequencies: &[f64], positions: usize, dtype: DType) -> Result<(Tensor, Tensor)> {
    let angles = Tensor::arange(0f64, positions as f64, &Device::Cpu)?
        .unsqueeze(1)?
        .broadcast_mul(&Tensor::new(frequencies, &Device::Cpu)?.unsqueeze(0)?)?;
    Ok((angles.cos()?.to_dtype(dtype)?, angles.sin()?.to_dtype(dtype)?))
}

struct Layer {
    before_attention: RmsNorm,
    attention: Attention,
    before_gate: RmsNorm,
    gate: Weight,
    up: Weight,
    down: Weight,
}

impl Layer {
    fn load(config: &Config, weights: &dyn Weights, layer: usize, positions: usize) -> Result<Layer> {
        let (hidden, wide) = (config.hidden_size, config.intermediate_size);
        let name = |part: &str| format!("model.layers.{layer}.{part}.weight");
        let norm = |part: &str| -> Result<RmsNorm> {
            Ok(RmsNorm::new(weights.tensor(&name(part), &[hidden])?, config.rms_norm_eps))
        };
        Ok(Layer {
            before_attention: norm("input_layernorm")?,
            attention: Attention::load(config, weights, layer, positions)?,
            before_gate: norm("post_attention_layernorm")?,
            gate: weights.matrix(&name("mlp.gate_proj"), (wide, hidden))?,
            up: weights.matrix(&name("mlp.up_proj"), (wide, hidden))?,
            down: weights.matrix(&name("mlp.down_proj"), (hidden, wide))?,
        })
    }

    fn forward(&mut self, x: &Tensor, turns: &(Tensor, Tensor)) -> opforge::Result<Tensor> {
        let x = (x + self.attention.forward(&self.before_attention.forward(x)?, turns)?)?;
        let y = self.before_gate.forward(&x)?;
        let gated = (self.gate.forward(&y)?.silu()? * self.up.forward(&y)?)?;
        x + self.down.forward(&gated)?
    }
}

struct Attention {
    query: Weight,
    key: Weight,
    value: Weight,
    out: Weight,
    heads: usize,
    key_heads: usize,
    width: usize,
    neighbours: bool,
    cache: KvCache,
}

impl Attention {
    fn load(config: &Config, weights: &dyn Weights, layer: usize, positions: usize) -> Result<Attention> {
        let (heads, key_heads, width, hidden) =
            (config.num_attention_heads, config.key_heads(), config.width(), config.hidden_size);
        let part = |part: &str, rows, columns| {
            weights.matrix(&format!("model.layers.{layer}.self_attn.{part}_proj.weight"), (rows, columns))
        };
        Ok(Attention {
            query: part("q", heads * width, hidden)?,
            key: part("k", key_heads * width, hidden)?,
            value: part("v", key_heads * width, hidden)?,
            out: part("o", hidden, heads * width)?,
            heads,
            key_heads,
            width,
            neighbours: config.neighbours,
            cache: KvCache::new(2, positions),
        })
    }

    fn forward(&mut self, x: &Tensor, (cos, sin): &(Tensor, Tensor)) -> opforge::Result<Tensor> {
        let (batch, length, _) = x.dims3()?;
        let split =
            |weight: &Weight, heads| weight.forward(x)?.reshape((batch, length, heads, self.width))?.transpose(1, 2);
        let turn = |x: Tensor| match self.neighbours {
            true => rotary_emb::rope_i(&x, cos, sin),
            false => rotary_emb::rope(&x, cos, sin),
        };
        let query = turn(split(&self.query, self.heads)?)?;
        let key = turn(split(&self.key, self.key_heads)?)?;
        let (keys, values) =
            self.cache.append(&key.contiguous()?, &split(&self.value, self.key_heads)?.contiguous()?)?;
        let (mask, causal) = visible(length, keys.dim(2)?)?;
        let scale = (self.width as f32).sqrt().recip();
        let y = ops::sdpa(&query, &keys, &values, mask.as_ref(), causal, scale, 1.0)?;
        self.out.forward(&y.transpose(1, 2)?.flatten_from(D::Minus2)?)
    }
}

/// Which keys the last `queries` of a text may look at, `[queries, keys]`: those up to their own. The last one may at all; where they are the whole text,
/// that is what attention calls causal.
fn visible(queries: usize, keys: usize) -> opforge::Result<(Option<Tensor>, bool)> {
    if queries == 1 || queries == keys {
        return Ok((None, queries > 1));
    }
    let row = |i: usize| (0..keys).map(move |j| j + queries <= keys + i);
    let mask: Vec<bool> = (0..queries).flat_map(row).collect();
    Ok((Some(Tensor::from_vec(mask, (queries, keys), &Device::Cpu)?), false))
}
