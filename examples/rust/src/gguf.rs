//! Llamas in files of gguf, whose weights are quantized.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;
use std::sync::Mutex;

use anyhow::{Context, Result, ensure};
use opforge::quantized::gguf_file::{Content, Value};
use opforge::quantized::{QMatMul, QTensor};
use opforge::{Device, Tensor};

use crate::llama::{Config, Tokens, Weight, Weights};

/// A file of gguf.
pub struct Gguf {
    content: Content,
    reader: Mutex<BufReader<File>>,
}

impl Gguf {
    /// The file, of which its description is read.
    ///
    /// # Errors
    /// A file that cannot be read or is none of gguf.
    pub fn open(path: &Path) -> Result<Gguf> {
        let file = File::open(path).with_context(|| format!("reading {}", path.display()))?;
        let mut reader = BufReader::new(file);
        let content = Content::read(&mut reader).with_context(|| format!("in {}", path.display()))?;
        Ok(Gguf { content, reader: Mutex::new(reader) })
    }

    /// A value of the description.
    pub fn value(&self, key: &str) -> Option<&Value> {
        self.content.metadata.get(key)
    }

    /// The model that the description tells of.
    ///
    /// # Errors
    /// Another architecture than llama, and values that are missing.
    pub fn config(&self) -> Result<Config> {
        let architecture = self.value("general.architecture").context("no general.architecture")?.to_string()?;
        ensure!(architecture == "llama", "general.architecture is {architecture:?}; known is llama");
        let find = |key: &str| self.value(&format!("llama.{key}"));
        let whole = |key: &str| -> Result<usize> {
            Ok(find(key).with_context(|| format!("no llama.{key}"))?.to_u64()?.try_into()?)
        };
        let token = |key: &str| self.value(&format!("tokenizer.ggml.{key}_token_id")).map(Value::to_u32).transpose();
        let words = self.content.tensor_infos.get("token_embd.weight").context("no token_embd.weight")?;
        let factors = match self.content.tensor_infos.contains_key("rope_freqs.weight") {
            true => Some(self.tensor_named("rope_freqs.weight")?.dequantize(&Device::Cpu)?.flatten_all()?.to_vec1()?),
            false => None,
        };
        Ok(Config {
            vocab_size: words.shape.dims2()?.0,
            hidden_size: whole("embedding_length")?,
            intermediate_size: whole("feed_forward_length")?,
            num_hidden_layers: whole("block_count")?,
            num_attention_heads: whole("attention.head_count")?,
            num_key_value_heads: whole("attention.head_count_kv").ok(),
            head_dim: whole("attention.key_length").ok(),
            max_position_embeddings: whole("context_length")?,
            rms_norm_eps: find("attention.layer_norm_rms_epsilon").map_or(Ok(1e-5), Value::to_f32)?.into(),
            rope_theta: find("rope.freq_base").map_or(Ok(10_000.0), Value::to_f32)?.into(),
            rope_scaling: None,
            tie_word_embeddings: !self.content.tensor_infos.contains_key("output.weight"),
            bos_token_id: token("bos")?,
            eos_token_id: token("eos")?.map(Tokens::One),
            attention_bias: false,
            neighbours: true,
            frequency_factors: factors,
        })
    }

    fn tensor_named(&self, name: &str) -> Result<QTensor> {
        let mut reader = self.reader.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        Ok(self.content.tensor(&mut *reader, name, &Device::Cpu)?)
    }

    fn get(&self, name: &str, shape: &[usize]) -> Result<QTensor> {
        let tensor = self.tensor_named(&name_of(name))?;
        let dims = tensor.shape().dims();
        ensure!(dims == shape, "{name} is {dims:?} in the file, and {shape:?} by its description");
        Ok(tensor)
    }
}

impl Weights for Gguf {
    fn matrix(&self, name: &str, (rows, columns): (usize, usize)) -> Result<Weight> {
        Ok(Weight::Quantized(QMatMul::from_qtensor(self.get(name, &[rows, columns])?)?))
    }

    fn tensor(&self, name: &str, shape: &[usize]) -> Result<Tensor> {
        Ok(self.get(name, shape)?.dequantize(&Device::Cpu)?)
    }
}

/// gguf's name of what Hugging Face's files call `name`.
pub fn name_of(name: &str) -> String {
    const PARTS: [(&str, &str); 13] = [
        ("model.embed_tokens", "token_embd"),
        ("model.norm", "output_norm"),
        ("lm_head", "output"),
        ("model.layers", "blk"),
        ("self_attn.q_proj", "attn_q"),
        ("self_attn.k_proj", "attn_k"),
        ("self_attn.v_proj", "attn_v"),
        ("self_attn.o_proj", "attn_output"),
        ("mlp.gate_proj", "ffn_gate"),
        ("mlp.up_proj", "ffn_up"),
        ("mlp.down_proj", "ffn_down"),
        ("post_attention_layernorm", "ffn_norm"),
        ("input_layernorm", "attn_norm"),
    ];
    PARTS.iter().fold(name.to_owned(), |name, (theirs, ours)| name.replace(theirs, ours))
}
