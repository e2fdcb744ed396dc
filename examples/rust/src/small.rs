//! Small models with random weights and tokenizers of their own, to try the programs with.

use std::collections::HashMap;
use std::path::Path;

use anyhow::{Context, Result, anyhow};
use opforge::quantized::gguf_file::{self, Value};
use opforge::quantized::{GgmlDType, QTensor};
use opforge::{DType, Device, Tensor, safetensors};
use opforge_nn::{VarBuilder, VarMap};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use tokenizers::models::TrainerWrapper;
use tokenizers::models::bpe::{BPE, BpeTrainerBuilder, Vocab};
use tokenizers::models::wordpiece::WordPiece;
use tokenizers::normalizers::BertNormalizer;
use tokenizers::pre_tokenizers::bert::BertPreTokenizer;
use tokenizers::pre_tokenizers::byte_level::ByteLevel;
use tokenizers::processors::bert::BertProcessing;
use tokenizers::{AddedToken, Tokenizer};

use crate::bert::{self, Bert};
use crate::gguf::name_of;
use crate::llama::{self, Llama, Tokens};

/// What the tokenizers learn from.
pub const SENTENCES: [&str; 8] = [
    "The harbour was quiet, and the boats lay at their moorings.",
    "A kettle whistled in the kitchen while the soup simmered.",
    "Rain fell on the roof of the old station all night long.",
    "She tuned the violin, lifted the bow, and began to play.",
    "The proof needs one more lemma about bounded sequences.",
    "Bread, butter, two lemons and a bunch of parsley, please.",
    "The train to the coast leaves from platform nine at noon.",
    "He sanded the table until the grain of the oak showed.",
];

/// The dimensions of MiniLM, a sentence model of 6 layers.
pub fn minilm() -> bert::Config {
    bert::Config {
        vocab_size: 30522,
        hidden_size: 384,
        num_hidden_layers: 6,
        num_attention_heads: 12,
        intermediate_size: 1536,
        max_position_embeddings: 512,
        type_vocab_size: 2,
        layer_norm_eps: 1e-12,
        hidden_act: "gelu".to_owned(),
    }
}

/// A BERT that a test runs in no time.
pub fn tiny_bert() -> bert::Config {
    bert::Config {
        vocab_size: 300,
        hidden_size: 32,
        num_hidden_layers: 2,
        num_attention_heads: 4,
        intermediate_size: 64,
        max_position_embeddings: 64,
        ..minilm()
    }
}

/// A Llama that a test runs in no time; every two heads share one of keys and values.
pub fn tiny_llama() -> llama::Config {
    llama::Config {
        vocab_size: 320,
        hidden_size: 64,
        intermediate_size: 128,
        num_hidden_layers: 2,
        num_attention_heads: 4,
        num_key_value_heads: Some(2),
        head_dim: None,
        max_position_embeddings: 128,
        rms_norm_eps: 1e-5,
        rope_theta: 10_000.0,
        rope_scaling: None,
        tie_word_embeddings: false,
        bos_token_id: Some(0),
        eos_token_id: Some(Tokens::One(1)),
        attention_bias: false,
        neighbours: false,
        frequency_factors: None,
    }
}

/// Writes a BERT's folder.
///
/// # Errors
/// A folder that cannot be written.
pub fn write_bert(folder: &Path, config: &bert::Config, seed: u64) -> Result<()> {
    let vars = VarMap::new();
    Bert::load(config, VarBuilder::from_varmap(&vars, DType::F32, &Device::Cpu))?;
    let strip = |name: &str| name.strip_prefix("bert.").unwrap_or(name).to_owned();
    write_folder(
        folder,
        &serde_json::to_string_pretty(config)?,
        &pieces_tokenizer(config.vocab_size)?,
        random(&vars, seed, strip)?,
    )
}

/// Writes a Llama's folder.
///
/// # Errors
/// A folder that cannot be written.
pub fn write_llama(folder: &Path, config: &llama::Config, seed: u64) -> Result<()> {
    let weights = llama_weights(config, seed)?;
    write_folder(folder, &serde_json::to_string_pretty(config)?, &bytes_tokenizer(config.vocab_size)?, weights)
}

/// Writes the same Llama as [`write_llama`] as a file of gguf, its matrices quantized; with the tokenizer beside it, as `tokenizer.json`.
///
/// # Errors
/// A file that cannot be written, and sizes that are no multiples of the dtype's blocks.
pub fn write_gguf(file: &Path, config: &llama::Config, dtype: GgmlDType, seed: u64) -> Result<()> {
    let mut tensors = Vec::new();
    for (name, tensor) in llama_weights(config, seed)? {
        let dtype = if tensor.rank() == 2 { dtype } else { GgmlDType::F32 };
        let tensor = if name.contains("q_proj") || name.contains("k_proj") {
            neighbouring(&tensor, config.width())?
        } else {
            tensor
        };
        tensors.push((name_of(&name), QTensor::quantize(&tensor, dtype)?));
    }
    let whole = |value: usize| Value::U32(value as u32);
    let ends = config.ends();
    let metadata = [
        ("general.architecture", Value::String("llama".to_owned())),
        ("llama.embedding_length", whole(config.hidden_size)),
        ("llama.feed_forward_length", whole(config.intermediate_size)),
        ("llama.block_count", whole(config.num_hidden_layers)),
        ("llama.attention.head_count", whole(config.num_attention_heads)),
        ("llama.attention.head_count_kv", whole(config.key_heads())),
        ("llama.attention.layer_norm_rms_epsilon", Value::F32(config.rms_norm_eps as f32)),
        ("llama.context_length", whole(config.max_position_embeddings)),
        ("llama.rope.dimension_count", whole(config.width())),
        ("llama.rope.freq_base", Value::F32(config.rope_theta as f32)),
        ("tokenizer.ggml.bos_token_id", Value::U32(config.bos_token_id.unwrap_or(0))),
        ("tokenizer.ggml.eos_token_id", Value::U32(ends.first().copied().unwrap_or(1))),
    ];
    let metadata: Vec<(&str, &Value)> = metadata.iter().map(|(key, value)| (*key, value)).collect();
    let tensors: Vec<(&str, &QTensor)> = tensors.iter().map(|(name, tensor)| (name.as_str(), tensor)).collect();
    let mut out = std::fs::File::create(file).with_context(|| format!("writing {}", file.display()))?;
    gguf_file::write(&mut out, &metadata, &tensors)?;
    save_tokenizer(&bytes_tokenizer(config.vocab_size)?, &file.with_file_name("tokenizer.json"))
}

fn llama_weights(config: &llama::Config, seed: u64) -> Result<HashMap<String, Tensor>> {
    let vars = VarMap::new();
    Llama::load(config, &VarBuilder::from_varmap(&vars, DType::F32, &Device::Cpu), 1)?;
    random(&vars, seed, str::to_owned)
}

/// Rows of a head in gguf's order: those that a position turns together are neighbours.
fn neighbouring(weight: &Tensor, width: usize) -> Result<Tensor> {
    let (rows, columns) = weight.dims2()?;
    Ok(weight.reshape((rows / width, 2, width / 2, columns))?.transpose(1, 2)?.reshape((rows, columns))?)
}

/// Weights for the variables' names and shapes: ones for norms, zeros for their biases, else small random numbers, the same for the same seed.
fn random(vars: &VarMap, seed: u64, rename: impl Fn(&str) -> String) -> Result<HashMap<String, Tensor>> {
    let vars = vars.data().lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let mut names: Vec<&String> = vars.keys().collect();
    names.sort();
    let mut random = StdRng::seed_from_u64(seed);
    let mut tensors = HashMap::new();
    for name in names {
        let shape = vars[name].shape();
        let is_norm = name.to_lowercase().contains("norm");
        let mut number = || match (is_norm, name.ends_with("weight")) {
            (true, true) => 1.0,
            (true, false) => 0.0,
            (false, _) => random.random_range(-0.1f32..0.1),
        };
        let numbers: Vec<f32> = (0..shape.elem_count()).map(|_| number()).collect();
        tensors.insert(rename(name), Tensor::from_vec(numbers, shape.clone(), &Device::Cpu)?);
    }
    Ok(tensors)
}

fn special(names: &[&str]) -> Vec<AddedToken> {
    names.iter().map(|name| AddedToken::from((*name).to_owned(), true)).collect()
}

/// Of whole bytes, as GPT-2 has them.
fn bytes_tokenizer(size: usize) -> Result<Tokenizer> {
    let mut tokenizer = Tokenizer::new(BPE::default());
    tokenizer.with_pre_tokenizer(Some(ByteLevel::new(false, true, true)));
    tokenizer.with_decoder(Some(ByteLevel::default()));
    let trainer = BpeTrainerBuilder::new()
        .vocab_size(size.min(320))
        .show_progress(false)
        .special_tokens(special(&["<s>", "</s>"]))
        .initial_alphabet(ByteLevel::alphabet().into_iter().collect());
    learn(tokenizer, trainer.build().into())
}

/// Pieces that are no text, by their numbers.
const SPECIAL: [&str; 4] = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"];

/// Of pieces of words, as BERT has them: letters and digits, alone and within words, and the sentences' words. Not learned: `WordPieceTrainer` numbers
/// the letters within words in no certain order, and breaks ties by it.
fn pieces_tokenizer(size: usize) -> Result<Tokenizer> {
    let letters = || ('a'..='z').chain('0'..='9').map(String::from);
    let within = letters().map(|letter| format!("##{letter}"));
    let words = SENTENCES.iter().flat_map(|line| line.split(|c: char| !c.is_alphanumeric())).map(str::to_lowercase);
    let marks = [SPECIAL.as_slice(), &[".", ","]].concat().into_iter().map(str::to_owned);
    let mut pieces = Vec::new();
    for piece in marks.chain(letters()).chain(within).chain(words.filter(|word| word.len() > 1)) {
        if !pieces.contains(&piece) {
            pieces.push(piece);
        }
    }
    let vocabulary: Vocab = pieces.into_iter().take(size).zip(0..).collect();
    let model = WordPiece::builder().vocab(vocabulary).unk_token("[UNK]".to_owned()).build();
    let mut tokenizer = Tokenizer::new(model.map_err(|error| anyhow!("{error}"))?);
    tokenizer.with_normalizer(Some(BertNormalizer::default())).map_err(|error| anyhow!("{error}"))?;
    tokenizer.with_pre_tokenizer(Some(BertPreTokenizer));
    tokenizer.add_special_tokens(special(&SPECIAL)).map_err(|error| anyhow!("{error}"))?;
    tokenizer.with_post_processor(Some(BertProcessing::new(("[SEP]".to_owned(), 3), ("[CLS]".to_owned(), 2))));
    Ok(tokenizer)
}

fn learn(mut tokenizer: Tokenizer, mut trainer: TrainerWrapper) -> Result<Tokenizer> {
    tokenizer.train(&mut trainer, SENTENCES.iter()).map_err(|error| anyhow!("training a tokenizer: {error}"))?;
    Ok(tokenizer)
}

fn save_tokenizer(tokenizer: &Tokenizer, file: &Path) -> Result<()> {
    tokenizer.save(file, true).map_err(|error| anyhow!("writing {}: {error}", file.display()))
}

fn write_folder(folder: &Path, config: &str, tokenizer: &Tokenizer, weights: HashMap<String, Tensor>) -> Result<()> {
    std::fs::create_dir_all(folder).with_context(|| format!("making {}", folder.display()))?;
    std::fs::write(folder.join("config.json"), config)?;
    safetensors::save(&weights, folder.join("model.safetensors"))?;
    save_tokenizer(tokenizer, &folder.join("tokenizer.json"))
}
