//! Vectors for sentences (Reimers and Gurevych, 2019): a BERT's states, pooled to one vector each, of length 1.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::path::Path;

use anyhow::{Result, anyhow, bail, ensure};
use opforge::{D, DType, Device, Tensor};
use opforge_graph::{Program, trace};
use opforge_nn::VarBuilder;
use serde::Deserialize;
use tokenizers::{Tokenizer, TruncationParams};

use crate::bert::{Bert, Config};
use crate::folder::Folder;

/// How many shapes of batches programs are kept for.
const PROGRAMS: usize = 64;

/// How the states of a sentence's tokens become one vector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pooling {
    /// Their mean.
    Mean,
    /// That of the first token.
    First,
    /// The largest of each element.
    Max,
}

/// What `1_Pooling/config.json` of sentence-transformers says.
#[derive(Default, Deserialize)]
#[serde(default)]
struct PoolingConfig {
    pooling_mode_mean_tokens: bool,
    pooling_mode_cls_token: bool,
    pooling_mode_max_tokens: bool,
}

/// What `sentence_bert_config.json` says.
#[derive(Deserialize)]
struct SentenceConfig {
    max_seq_length: Option<usize>,
}

/// Makes vectors of sentences.
pub struct Embedder {
    model: Bert,
    tokenizer: Tokenizer,
    pooling: Pooling,
    normalized: bool,
    hidden: usize,
    /// The most tokens of a sentence.
    longest: usize,
    truncates: bool,
    programs: HashMap<(usize, usize, bool), Program>,
}

/// A batch: tokens, and which of them are none but padding.
struct Batch {
    tokens: Tensor,
    mask: Option<Tensor>,
}

impl Embedder {
    /// From a folder; where it has sentence-transformers' files besides (`modules.json`, `1_Pooling/config.json`, `sentence_bert_config.json`), they are
    /// followed. Otherwise the mean is taken, of length 1.
    ///
    /// # Errors
    /// Files that are missing or not as expected, and ways of pooling that are not known.
    pub fn load(path: &Path) -> Result<Embedder> {
        Self::with_weights(path, Folder::open(path)?.weights(DType::F32)?)
    }

    /// The same with other weights than the folder's.
    ///
    /// # Errors
    /// As [`Embedder::load`].
    pub fn with_weights(path: &Path, weights: VarBuilder<'_>) -> Result<Embedder> {
        let folder = Folder::open(path)?;
        let config: Config = folder.json("config.json")?;
        let model = Bert::load(&config, weights)?;
        let mut tokenizer = folder.tokenizer()?;
        let sentence: Option<SentenceConfig> = folder.optional_json("sentence_bert_config.json")?;
        let longest = sentence.and_then(|config| config.max_seq_length).unwrap_or(config.max_position_embeddings);
        let longest = longest.min(config.max_position_embeddings);
        tokenizer.with_truncation(None).map_err(|error| anyhow!("tokenizer.json: {error}"))?;
        tokenizer.with_padding(None);
        let (pooling, normalized) = (pooling(&folder)?, normalized(&folder)?);
        let hidden = config.hidden_size;
        let (truncates, programs) = (false, HashMap::new());
        Ok(Embedder { model, tokenizer, pooling, normalized, hidden, longest, truncates, programs })
    }

    /// Whether sentences that are too long for the model are cut from now on; at first they are errors.
    ///
    /// # Errors
    /// A model that takes fewer tokens than its tokenizer adds to every sentence.
    pub fn set_truncation(&mut self, truncates: bool) -> Result<()> {
        let truncation = TruncationParams { max_length: self.longest, ..Default::default() };
        self.tokenizer.with_truncation(truncates.then_some(truncation)).map_err(|error| anyhow!("{error}"))?;
        self.truncates = truncates;
        Ok(())
    }

    /// Whether sentences that are too long are cut.
    pub fn truncates(&self) -> bool {
        self.truncates
    }

    /// Elements of a vector.
    pub fn width(&self) -> usize {
        self.hidden
    }

    /// The vectors `[sentences, width]`, made in batches of sentences of about one length. `done` is told how many there are so far.
    ///
    /// # Errors
    /// What the tokenizer refuses, and sentences that are too long.
    pub fn embed(&mut self, sentences: &[&str], batch: usize, mut done: impl FnMut(usize)) -> Result<Tensor> {
        ensure!(batch > 0, "batches of 0 sentences");
        if sentences.is_empty() {
            return Ok(Tensor::zeros((0, self.hidden), DType::F32, &Device::Cpu)?);
        }
        let tokens = sentences.iter().map(|sentence| self.tokens(sentence)).collect::<Result<Vec<Vec<u32>>>>()?;
        let mut order: Vec<usize> = (0..tokens.len()).collect();
        order.sort_by_key(|&i| Reverse(tokens[i].len()));
        let mut parts = Vec::new();
        for chunk in order.chunks(batch) {
            let rows: Vec<&[u32]> = chunk.iter().map(|&i| tokens[i].as_slice()).collect();
            parts.push(self.run(&Batch::of(&rows)?)?);
            done(parts.iter().map(|part: &Tensor| part.dims()[0]).sum());
        }
        let mut places = vec![0u32; order.len()];
        order.iter().enumerate().for_each(|(row, &i)| places[i] = row as u32);
        Ok(Tensor::cat(&parts, 0)?.index_select(&Tensor::new(places, &Device::Cpu)?, 0)?)
    }

    /// The vectors of a batch `[sentences, width]`, with gradients where the weights are variables.
    ///
    /// # Errors
    /// What the tokenizer refuses, and sentences that are too long.
    pub fn forward(&self, sentences: &[&str]) -> Result<Tensor> {
        let tokens = sentences.iter().map(|sentence| self.tokens(sentence)).collect::<Result<Vec<Vec<u32>>>>()?;
        let batch = Batch::of(&tokens.iter().map(Vec::as_slice).collect::<Vec<_>>())?;
        Ok(self.vectors(&batch.tokens, batch.mask.as_ref())?)
    }

    fn tokens(&self, sentence: &str) -> Result<Vec<u32>> {
        let encoding = self.tokenizer.encode(sentence, true).map_err(|error| anyhow!("{sentence:?}: {error}"))?;
        let (count, longest) = (encoding.get_ids().len(), self.longest);
        ensure!(count > 0, "{sentence:?} has no tokens");
        let begin: String = sentence.chars().take(40).collect();
        ensure!(
            count <= longest,
            "{begin:?}.. has {count} tokens, the model takes {longest}; --truncate cuts such lines"
        );
        Ok(encoding.get_ids().to_vec())
    }

    /// A batch's vectors, by a program that is made for its shape once.
    fn run(&mut self, batch: &Batch) -> Result<Tensor> {
        let (rows, length) = batch.tokens.dims2()?;
        let key = (rows, length, batch.mask.is_some());
        if !self.programs.contains_key(&key) {
            if self.programs.len() == PROGRAMS {
                self.programs.clear();
            }
            let program = trace(&batch.arguments(), |x| Ok(vec![self.vectors(&x[0], x.get(1))?]))?.compile()?;
            self.programs.insert(key, program);
        }
        Ok(self.programs[&key].run(&batch.arguments())?.remove(0))
    }

    fn vectors(&self, tokens: &Tensor, mask: Option<&Tensor>) -> opforge::Result<Tensor> {
        let pooled = pool(self.pooling, &self.model.forward(tokens, mask)?, mask)?;
        if !self.normalized {
            return Ok(pooled);
        }
        let lengths = pooled.sqr()?.sum_keepdim(D::Minus1)?.sqrt()?.maximum(1e-12)?;
        pooled.broadcast_div(&lengths)
    }
}

impl Batch {
    /// Rows of tokens, filled up to the longest.
    fn of(rows: &[&[u32]]) -> opforge::Result<Batch> {
        let length = rows.iter().map(|row| row.len()).max().unwrap_or(0);
        let shape = (rows.len(), length);
        let padded = |row: &&[u32]| row.iter().copied().chain(std::iter::repeat(0)).take(length).collect::<Vec<u32>>();
        let tokens = Tensor::from_vec(rows.iter().flat_map(padded).collect(), shape, &Device::Cpu)?;
        if rows.iter().all(|row| row.len() == length) {
            return Ok(Batch { tokens, mask: None });
        }
        let is_token = |row: &&[u32]| (0..length).map(|i| i < row.len()).collect::<Vec<bool>>();
        let mask = Tensor::from_vec(rows.iter().flat_map(is_token).collect(), shape, &Device::Cpu)?;
        Ok(Batch { tokens, mask: Some(mask) })
    }

    fn arguments(&self) -> Vec<&Tensor> {
        std::iter::once(&self.tokens).chain(&self.mask).collect()
    }
}

/// One vector a sentence, of states `[batch, length, hidden]`.
fn pool(pooling: Pooling, states: &Tensor, mask: Option<&Tensor>) -> opforge::Result<Tensor> {
    let Some(mask) = mask else {
        return match pooling {
            Pooling::Mean => states.mean(1),
            Pooling::First => states.narrow(1, 0, 1)?.squeeze(1),
            Pooling::Max => states.max(1),
        };
    };
    let mask = mask.unsqueeze(2)?;
    match pooling {
        Pooling::First => states.narrow(1, 0, 1)?.squeeze(1),
        Pooling::Mean => {
            let ones = mask.to_dtype(states.dtype())?;
            states.broadcast_mul(&ones)?.sum(1)?.broadcast_div(&ones.sum(1)?)
        }
        Pooling::Max => {
            let least = Tensor::full(f32::NEG_INFINITY, states.shape(), states.device())?;
            mask.broadcast_as(states.shape())?.where_cond(states, &least)?.max(1)
        }
    }
}

fn pooling(folder: &Folder) -> Result<Pooling> {
    let Some(config) = folder.optional_json::<PoolingConfig>("1_Pooling/config.json")? else {
        return Ok(Pooling::Mean);
    };
    match (config.pooling_mode_mean_tokens, config.pooling_mode_cls_token, config.pooling_mode_max_tokens) {
        (true, false, false) => Ok(Pooling::Mean),
        (false, true, false) => Ok(Pooling::First),
        (false, false, true) => Ok(Pooling::Max),
        _ => bail!("1_Pooling/config.json asks for another pooling than one of mean, cls and max"),
    }
}

/// Whether the model's modules end with one that makes vectors of length 1; they do where nobody says.
fn normalized(folder: &Folder) -> Result<bool> {
    let modules: Option<serde_json::Value> = folder.optional_json("modules.json")?;
    let is_norm = |module: &serde_json::Value| module["type"].as_str().is_some_and(|name| name.ends_with("Normalize"));
    Ok(modules.is_none_or(|modules| modules.as_array().is_some_and(|all| all.iter().any(is_norm))))
}
