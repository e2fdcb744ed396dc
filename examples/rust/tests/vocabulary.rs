//! Tokenizers that files of gguf bring.

use std::path::{Path, PathBuf};

use opforge::quantized::gguf_file::{self, Value};
use opforge::quantized::{GgmlDType, QTensor};
use opforge::{DType, Device, Tensor};
use opforge_examples::gguf::Gguf;
use opforge_examples::{small, vocabulary};
use tokenizers::Tokenizer;

fn texts<S: AsRef<str>>(texts: &[S]) -> Value {
    Value::Array(texts.iter().map(|text| Value::String(text.as_ref().to_owned())).collect())
}

fn write(folder: &Path, metadata: &[(&str, Value)]) -> PathBuf {
    let path = folder.join("model.gguf");
    let nothing = QTensor::quantize(&Tensor::zeros(1, DType::F32, &Device::Cpu).unwrap(), GgmlDType::F32).unwrap();
    let metadata: Vec<(&str, &Value)> = metadata.iter().map(|(key, value)| (*key, value)).collect();
    gguf_file::write(&mut std::fs::File::create(&path).unwrap(), &metadata, &[("nothing", &nothing)]).unwrap();
    path
}

fn tokenizer(metadata: &[(&str, Value)]) -> anyhow::Result<Tokenizer> {
    let folder = tempfile::tempdir().unwrap();
    vocabulary::tokenizer(&Gguf::open(&write(folder.path(), metadata)).unwrap())
}

#[test]
fn pairs_of_bytes_are_those_of_the_file_beside() {
    let folder = tempfile::tempdir().unwrap();
    small::write_llama(folder.path(), &small::tiny_llama(), 0).unwrap();
    let beside = Tokenizer::from_file(folder.path().join("tokenizer.json")).unwrap();
    let described: serde_json::Value =
        serde_json::from_slice(&std::fs::read(folder.path().join("tokenizer.json")).unwrap()).unwrap();
    let tokens: Vec<String> =
        (0..beside.get_vocab_size(true) as u32).map(|id| beside.id_to_token(id).unwrap()).collect();
    let merge = |pair: &serde_json::Value| format!("{} {}", pair[0].as_str().unwrap(), pair[1].as_str().unwrap());
    let merges: Vec<String> = described["model"]["merges"].as_array().unwrap().iter().map(merge).collect();
    assert!(!merges.is_empty());
    let kinds = (0..tokens.len()).map(|id| Value::I32(if id < 2 { 3 } else { 1 })).collect();
    let brought = tokenizer(&[
        ("tokenizer.ggml.model", Value::String("gpt2".to_owned())),
        ("tokenizer.ggml.tokens", texts(&tokens)),
        ("tokenizer.ggml.merges", texts(&merges)),
        ("tokenizer.ggml.token_type", Value::Array(kinds)),
    ])
    .unwrap();
    for text in small::SENTENCES.into_iter().chain(["<s>Gr\u{fc}\u{df}e, \u{1f40b}!</s>", " two  spaces\n"]) {
        let (theirs, ours) = (beside.encode(text, false).unwrap(), brought.encode(text, false).unwrap());
        assert_eq!(theirs.get_ids(), ours.get_ids(), "{text:?}");
        assert_eq!(beside.decode(theirs.get_ids(), true).unwrap(), brought.decode(ours.get_ids(), true).unwrap());
    }
}

/// Sentencepiece's: bytes, then pieces with falling scores.
fn pieces() -> Vec<(&'static str, Value)> {
    let bytes = (0..256).map(|byte| format!("<0x{byte:02X}>"));
    let known = ["\u{2581}", "a", "b", "ab", "\u{2581}a", "\u{2581}ab", "ba"].map(str::to_owned);
    let tokens: Vec<String> =
        ["<unk>", "<s>", "</s>"].map(str::to_owned).into_iter().chain(bytes).chain(known).collect();
    let score = |id: usize| if id < 259 { 0.0 } else { -((id - 258) as f32) };
    let kinds = (0..tokens.len()).map(|id| Value::I32(if id == 1 || id == 2 { 3 } else { 1 })).collect();
    vec![
        ("tokenizer.ggml.model", Value::String("llama".to_owned())),
        ("tokenizer.ggml.tokens", texts(&tokens)),
        ("tokenizer.ggml.scores", Value::Array((0..tokens.len()).map(|id| Value::F32(score(id))).collect())),
        ("tokenizer.ggml.token_type", Value::Array(kinds)),
    ]
}

#[test]
fn pieces_are_joined_by_their_scores() {
    let tokenizer = tokenizer(&pieces()).unwrap();
    let tokens = |text: &str| tokenizer.encode(text, false).unwrap().get_tokens().to_vec();
    // "ab" has a higher score than "\u{2581}a", so it is joined first.
    assert_eq!(tokens("ab"), ["\u{2581}ab"]);
    assert_eq!(tokens("a ab"), ["\u{2581}a", "\u{2581}ab"]);
    assert_eq!(tokens("bab"), ["\u{2581}", "b", "ab"]);
    assert_eq!(tokens("<s>b"), ["<s>", "\u{2581}", "b"]);
    assert_eq!(tokens("\u{e9}"), ["\u{2581}", "<0xC3>", "<0xA9>"]);
    for text in ["ab ba  aab", "b\u{e9}\u{1f40b}a"] {
        assert_eq!(tokenizer.decode(tokenizer.encode(text, false).unwrap().get_ids(), true).unwrap(), text);
    }
}

#[test]
fn what_is_missing_is_named() {
    for (missing, words) in [("model", "tokenizer.ggml.model"), ("scores", "tokenizer.ggml.scores")] {
        let metadata: Vec<_> = pieces().into_iter().filter(|(key, _)| !key.ends_with(missing)).collect();
        assert!(tokenizer(&metadata).unwrap_err().to_string().contains(words));
    }
    let mut other = pieces();
    other[0].1 = Value::String("bert".to_owned());
    assert!(tokenizer(&other).unwrap_err().to_string().contains("\"bert\""));
}
