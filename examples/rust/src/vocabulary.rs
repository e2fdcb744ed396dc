//! The tokenizer that a file of gguf brings: its vocabulary, as one of the `tokenizers` crate.

use std::collections::HashMap;

use anyhow::{Context, Result, anyhow, bail};
use opforge::quantized::gguf_file::Value;
use tokenizers::decoders::DecoderWrapper;
use tokenizers::decoders::byte_fallback::ByteFallback;
use tokenizers::decoders::fuse::Fuse;
use tokenizers::decoders::sequence::Sequence as Decoders;
use tokenizers::decoders::strip::Strip;
use tokenizers::models::bpe::{BPE, Vocab};
use tokenizers::normalizers::prepend::Prepend;
use tokenizers::normalizers::replace::Replace;
use tokenizers::normalizers::{NormalizerWrapper, Sequence as Normalizers};
use tokenizers::pre_tokenizers::byte_level::ByteLevel;
use tokenizers::{AddedToken, Tokenizer};

use crate::gguf::Gguf;

/// What sentencepiece writes for a space.
const SPACE: &str = "\u{2581}";

/// The file's tokenizer.
///
/// # Errors
/// A file without one, and kinds other than `llama` (sentencepiece) and `gpt2` (of bytes).
pub fn tokenizer(gguf: &Gguf) -> Result<Tokenizer> {
    let value =
        |key: &str| gguf.value(&format!("tokenizer.ggml.{key}")).with_context(|| format!("no tokenizer.ggml.{key}"));
    let tokens = texts(value("tokens")?)?;
    let mut tokenizer = match value("model")?.to_string()?.as_str() {
        "llama" => sentencepiece(&tokens, &numbers(value("scores")?)?)?,
        "gpt2" => of_bytes(&tokens, &texts(value("merges")?)?)?,
        other => bail!("tokenizer.ggml.model is {other:?}; known are llama and gpt2"),
    };
    if let Ok(kinds) = value("token_type") {
        /// Tokens that stand for no text.
        const CONTROL: i64 = 3;
        let kinds = kinds.to_vec()?.iter().map(|kind| Ok(i64::from(kind.to_i32()?)));
        let kinds = kinds.collect::<Result<Vec<i64>>>()?;
        let special = tokens.iter().zip(kinds).filter(|(_, kind)| *kind == CONTROL);
        let added: Vec<AddedToken> = special.map(|(token, _)| AddedToken::from(token.clone(), true)).collect();
        tokenizer.add_special_tokens(added).map_err(|error| anyhow!("tokenizer.ggml.tokens: {error}"))?;
    }
    Ok(tokenizer)
}

fn texts(value: &Value) -> Result<Vec<String>> {
    Ok(value.to_vec()?.iter().map(|text| text.to_string().cloned()).collect::<opforge::Result<_>>()?)
}

fn numbers(value: &Value) -> Result<Vec<f32>> {
    Ok(value.to_vec()?.iter().map(Value::to_f32).collect::<opforge::Result<_>>()?)
}

fn vocabulary(tokens: &[String]) -> HashMap<String, u32> {
    tokens.iter().cloned().zip(0..).collect()
}

fn build(tokens: &[String], merges: Vec<(String, String)>, fallback: bool) -> Result<Tokenizer> {
    let vocabulary = tokens.iter().cloned().zip(0..).collect();
    let builder = BPE::builder().vocab_and_merges::<Vocab>(vocabulary, merges);
    let model = builder.byte_fallback(fallback).fuse_unk(true).build();
    Ok(Tokenizer::new(model.map_err(|error| anyhow!("the vocabulary: {error}"))?))
}

/// Pairs of bytes, as GPT-2 has them.
fn of_bytes(tokens: &[String], merges: &[String]) -> Result<Tokenizer> {
    let pair = |merge: &String| -> Result<(String, String)> {
        let (a, b) = merge.split_once(' ').with_context(|| format!("{merge:?} is no pair of tokens"))?;
        Ok((a.to_owned(), b.to_owned()))
    };
    let mut tokenizer = build(tokens, merges.iter().map(pair).collect::<Result<_>>()?, false)?;
    tokenizer.with_pre_tokenizer(Some(ByteLevel::new(false, true, true)));
    tokenizer.with_decoder(Some(ByteLevel::default()));
    Ok(tokenizer)
}

/// Sentencepiece's: of two neighbours those are joined first whose union has the highest score, which is a list of pairs in that order.
fn sentencepiece(tokens: &[String], scores: &[f32]) -> Result<Tokenizer> {
    let known = vocabulary(tokens);
    let mut merges: Vec<(f32, &str, &str)> = Vec::new();
    for (token, &score) in tokens.iter().zip(scores) {
        let cuts = token.char_indices().skip(1).map(|(i, _)| token.split_at(i));
        let mut pairs: Vec<(&str, &str)> =
            cuts.filter(|(a, b)| known.contains_key(*a) && known.contains_key(*b)).collect();
        pairs.sort_by_key(|(a, b)| (known[*a], known[*b]));
        merges.extend(pairs.into_iter().map(|(a, b)| (score, a, b)));
    }
    merges.sort_by(|a, b| b.0.total_cmp(&a.0));
    let merges = merges.into_iter().map(|(_, a, b)| (a.to_owned(), b.to_owned())).collect();
    let mut tokenizer = build(tokens, merges, true)?;
    let spaces = Replace::new(" ", SPACE).map_err(|error| anyhow!("{error}"))?;
    let before: Vec<NormalizerWrapper> = vec![Prepend::new(SPACE.to_owned()).into(), spaces.into()];
    tokenizer.with_normalizer(Some(Normalizers::new(before))).map_err(|error| anyhow!("{error}"))?;
    let spaces = Replace::new(SPACE, " ").map_err(|error| anyhow!("{error}"))?;
    let after: Vec<DecoderWrapper> =
        vec![spaces.into(), ByteFallback::new().into(), Fuse::new().into(), Strip::new(' ', 1, 0).into()];
    tokenizer.with_decoder(Some(Decoders::new(after)));
    Ok(tokenizer)
}
