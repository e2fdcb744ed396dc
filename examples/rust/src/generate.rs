//! Going on with a text, token by token.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow, ensure};
use opforge::DType;
use tokenizers::Tokenizer;

use crate::folder::{self, Folder};
use crate::gguf::Gguf;
use crate::llama::{Config, Llama};
use crate::sampler::Sampler;
use crate::vocabulary;

/// A model with its tokenizer.
pub struct Decoder {
    model: Llama,
    tokenizer: Tokenizer,
    begin: Option<u32>,
    ends: Vec<u32>,
}

/// How many tokens were read and made, and in what time.
#[derive(Debug, Clone, Copy, Default)]
pub struct Speed {
    /// Tokens of the prompt.
    pub read: usize,
    /// The time for them.
    pub reading: Duration,
    /// Tokens after it.
    pub made: usize,
    /// The time for them.
    pub making: Duration,
}

impl std::fmt::Display for Speed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let rate = |tokens: usize, time: Duration| tokens as f64 / time.as_secs_f64().max(1e-9);
        let (reading, making) = (rate(self.read, self.reading), rate(self.made, self.making));
        write!(f, "prompt {} tokens, {reading:.1} a second; made {} tokens, {making:.1} a second", self.read, self.made)
    }
}

impl Decoder {
    /// From a folder, or from a file of gguf, whose tokenizer is a file (`tokenizer.json`) or its own. Texts have up to `positions` tokens.
    ///
    /// # Errors
    /// Files that are missing or not as expected.
    pub fn load(path: &Path, tokenizer: Option<&Path>, dtype: DType, positions: usize) -> Result<Decoder> {
        let given = tokenizer.map(folder::tokenizer).transpose()?;
        if path.extension().is_some_and(|end| end == "gguf") {
            let gguf = Gguf::open(path)?;
            let tokenizer = given.map_or_else(|| vocabulary::tokenizer(&gguf), Ok)?;
            let config = gguf.config()?;
            return Self::new(&config, Llama::load(&config, &gguf, positions)?, tokenizer);
        }
        let folder = Folder::open(path)?;
        let config: Config = folder.json("config.json")?;
        let model = Llama::load(&config, &folder.weights(dtype)?, positions)?;
        Self::new(&config, model, given.map_or_else(|| folder.tokenizer(), Ok)?)
    }

    fn new(config: &Config, model: Llama, tokenizer: Tokenizer) -> Result<Decoder> {
        let size = tokenizer.get_vocab_size(true);
        ensure!(size <= config.vocab_size, "the tokenizer has {size} tokens, the model {}", config.vocab_size);
        Ok(Decoder { model, tokenizer, begin: config.bos_token_id, ends: config.ends() })
    }

    /// Goes on with a prompt for up to `most` tokens, or to the text's end. `say` is given the text as it grows.
    ///
    /// # Errors
    /// A prompt that is longer than the model can read, and those of `say`.
    pub fn generate(
        &mut self,
        prompt: &str,
        most: usize,
        sampler: &mut Sampler,
        mut say: impl FnMut(&str) -> Result<()>,
    ) -> Result<Speed> {
        let mut tokens = self.tokens(prompt)?;
        let (mut speed, mut begun) = (Speed { read: tokens.len(), ..Speed::default() }, Instant::now());
        self.model.reset();
        let mut logits = self.model.read(&tokens)?;
        let mut stream = self.tokenizer.decode_stream(true);
        for made in 0..most {
            let next = sampler.choose(&logits, &tokens)?;
            if made == 0 {
                speed.reading = begun.elapsed();
                begun = Instant::now();
            }
            if self.ends.contains(&next) {
                break;
            }
            tokens.push(next);
            speed.made += 1;
            if let Some(text) = stream.step(next).map_err(|error| anyhow!("token {next}: {error}"))? {
                say(&text)?;
            }
            if speed.made == most || self.model.room() == 0 {
                break;
            }
            logits = self.model.read(&[next])?;
        }
        speed.making = begun.elapsed();
        Ok(speed)
    }

    /// The prompt's tokens, after the one that begins a text, where the tokenizer does not put it there itself.
    fn tokens(&self, prompt: &str) -> Result<Vec<u32>> {
        let encoding = self.tokenizer.encode(prompt, true).map_err(|error| anyhow!("{prompt:?}: {error}"))?;
        let begin = self.begin.filter(|begin| encoding.get_ids().first() != Some(begin));
        let tokens: Vec<u32> = begin.into_iter().chain(encoding.get_ids().iter().copied()).collect();
        ensure!(!tokens.is_empty(), "an empty prompt, and a model without a token that begins a text");
        Ok(tokens)
    }
}
