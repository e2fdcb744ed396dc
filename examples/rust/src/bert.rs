//! BERT (Devlin et al., 2019), as Hugging Face's files name its parts.

use anyhow::{Result, bail};
use opforge::{D, Module, Tensor};
use opforge_nn::{Activation, Embedding, LayerNorm, Linear, VarBuilder, embedding, layer_norm, linear, ops};
use serde::{Deserialize, Serialize};

/// What `config.json` says.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[allow(missing_docs, reason = "named as in every config.json")]
pub struct Config {
    pub vocab_size: usize,
    pub hidden_size: usize,
    pub num_hidden_layers: usize,
    pub num_attention_heads: usize,
    pub intermediate_size: usize,
    pub max_position_embeddings: usize,
    #[serde(default = "two")]
    pub type_vocab_size: usize,
    #[serde(default = "tiny")]
    pub layer_norm_eps: f64,
    #[serde(default = "gelu")]
    pub hidden_act: String,
}

fn two() -> usize {
    2
}
fn tiny() -> f64 {
    1e-12
}
fn gelu() -> String {
    "gelu".to_owned()
}

/// The encoder.
pub struct Bert {
    words: Embedding,
    positions: Embedding,
    types: Embedding,
    norm: LayerNorm,
    layers: Vec<Layer>,
}

impl Bert {
    /// From weights, whose names may begin with `bert.`; norms may have a `gamma` and a `beta`, as TensorFlow called them.
    ///
    /// # Errors
    /// Weights that are missing or of other shapes, and a config that describes another kind of model.
    pub fn load(config: &Config, weights: VarBuilder<'_>) -> Result<Bert> {
        let weights =
            if weights.contains_tensor("embeddings.word_embeddings.weight") { weights } else { weights.pp("bert") };
        let old = weights.contains_tensor("embeddings.LayerNorm.gamma");
        let weights = if old { weights.rename_f(old_name) } else { weights };
        let parts = weights.pp("embeddings");
        let table = |rows: usize, name: &str| embedding(rows, config.hidden_size, parts.pp(name));
        let layers = (0..config.num_hidden_layers).map(|i| Layer::load(config, weights.pp("encoder.layer").pp(i)));
        Ok(Bert {
            words: table(config.vocab_size, "word_embeddings")?,
            positions: table(config.max_position_embeddings, "position_embeddings")?,
            types: table(config.type_vocab_size, "token_type_embeddings")?,
            norm: layer_norm(config.hidden_size, config.layer_norm_eps, parts.pp("LayerNorm"))?,
            layers: layers.collect::<Result<_>>()?,
        })
    }

    /// The last layer's states, `[batch, length, hidden]`, of tokens `[batch, length]`, all of the first type. `mask` is true for tokens and false for
    /// padding, `[batch, length]`; without one there is no padding.
    ///
    /// # Errors
    /// Tokens that are none, and more of them than there are positions.
    pub fn forward(&self, tokens: &Tensor, mask: Option<&Tensor>) -> opforge::Result<Tensor> {
        let (_, length) = tokens.dims2()?;
        let mask = mask.map(|mask| mask.unsqueeze(1)?.unsqueeze(1)).transpose()?;
        let places =
            self.positions.embeddings().narrow(0, 0, length)?.broadcast_add(&self.types.embeddings().get(0)?)?;
        let x = self.norm.forward(&self.words.forward(tokens)?.broadcast_add(&places)?)?;
        self.layers.iter().try_fold(x, |x, layer| layer.forward(&x, mask.as_ref()))
    }
}

fn old_name(name: &str) -> String {
    match name.contains("LayerNorm") {
        true => name.replace(".weight", ".gamma").replace(".bias", ".beta"),
        false => name.to_owned(),
    }
}

struct Layer {
    attention: Attention,
    wide: Linear,
    activation: Activation,
    narrow: Linear,
    norm: LayerNorm,
}

impl Layer {
    fn load(config: &Config, weights: VarBuilder<'_>) -> Result<Layer> {
        let activation = match config.hidden_act.as_str() {
            "gelu" => Activation::Gelu,
            "gelu_new" | "gelu_pytorch_tanh" => Activation::NewGelu,
            "relu" => Activation::Relu,
            other => bail!("hidden_act is {other:?}; known are gelu, gelu_new, gelu_pytorch_tanh and relu"),
        };
        let (hidden, wide) = (config.hidden_size, config.intermediate_size);
        Ok(Layer {
            attention: Attention::load(config, weights.pp("attention"))?,
            wide: linear(hidden, wide, weights.pp("intermediate.dense"))?,
            activation,
            narrow: linear(wide, hidden, weights.pp("output.dense"))?,
            norm: layer_norm(hidden, config.layer_norm_eps, weights.pp("output.LayerNorm"))?,
        })
    }

    fn forward(&self, x: &Tensor, mask: Option<&Tensor>) -> opforge::Result<Tensor> {
        let x = self.attention.forward(x, mask)?;
        let y = self.narrow.forward(&self.activation.forward(&self.wide.forward(&x)?)?)?;
        self.norm.forward(&(x + y)?)
    }
}

struct Attention {
    query: Linear,
    key: Linear,
    value: Linear,
    out: Linear,
    norm: LayerNorm,
    heads: usize,
}

impl Attention {
    fn load(config: &Config, weights: VarBuilder<'_>) -> Result<Attention> {
        let (hidden, heads) = (config.hidden_size, config.num_attention_heads);
        if heads == 0 || !hidden.is_multiple_of(heads) {
            bail!("hidden_size {hidden} is no multiple of num_attention_heads {heads}");
        }
        let part = |name: &str| linear(hidden, hidden, weights.pp(name));
        Ok(Attention {
            query: part("self.query")?,
            key: part("self.key")?,
            value: part("self.value")?,
            out: part("output.dense")?,
            norm: layer_norm(hidden, config.layer_norm_eps, weights.pp("output.LayerNorm"))?,
            heads,
        })
    }

    fn forward(&self, x: &Tensor, mask: Option<&Tensor>) -> opforge::Result<Tensor> {
        let (batch, length, hidden) = x.dims3()?;
        let width = hidden / self.heads;
        let split = |part: &Linear| part.forward(x)?.reshape((batch, length, self.heads, width))?.transpose(1, 2);
        let scale = (width as f32).sqrt().recip();
        let y = ops::sdpa(&split(&self.query)?, &split(&self.key)?, &split(&self.value)?, mask, false, scale, 1.0)?;
        let y = y.transpose(1, 2)?.flatten_from(D::Minus2)?;
        self.norm.forward(&(x + self.out.forward(&y)?)?)
    }
}
