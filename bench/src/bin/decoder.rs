//! Tokens per second of a Llama of 200 million parameters with random weights, here and in candle; `python/decoder.py` runs it, a process a library.
//!
//! `decoder write FOLDER` writes the model, as safetensors and as gguf; `decoder opforge|candle FOLDER f32|q4_0|q8_0|q4k` reads a prompt of 64 tokens, makes
//! 32, and prints the seconds for each of both.

use std::error::Error;
use std::path::Path;
use std::time::Instant;

use opforge::quantized::GgmlDType;
use opforge_examples::{folder::Folder, gguf::Gguf, llama, small};

type Outcome<T> = Result<T, Box<dyn Error>>;

const PROMPT: usize = 64;
const MADE: usize = 32;
const CONTEXT: usize = 256;

const QUANTIZED: [(&str, GgmlDType); 3] = [("q4_0", GgmlDType::Q4_0), ("q8_0", GgmlDType::Q8_0), ("q4k", GgmlDType::Q4K)];

fn config() -> llama::Config {
    llama::Config {
        vocab_size: 32000,
        hidden_size: 1024,
        intermediate_size: 2816,
        num_hidden_layers: 12,
        num_attention_heads: 16,
        num_key_value_heads: Some(4),
        max_position_embeddings: CONTEXT,
        ..small::tiny_llama()
    }
}

/// Reads tokens at a position; gives the likeliest next one.
type Model = Box<dyn FnMut(&[u32], usize) -> Outcome<u32>>;

fn ours(path: &Path, kind: &str) -> Outcome<Model> {
    let mut model = if kind == "f32" {
        let folder = Folder::open(path)?;
        llama::Llama::load(&folder.json("config.json")?, &folder.weights(opforge::DType::F32)?, CONTEXT)?
    } else {
        let gguf = Gguf::open(&path.join(format!("{kind}.gguf")))?;
        llama::Llama::load(&gguf.config()?, &gguf, CONTEXT)?
    };
    Ok(Box::new(move |tokens, position| {
        if position == 0 {
            model.reset();
        }
        Ok(model.read(tokens)?.argmax(0)?.to_scalar::<u32>()?)
    }))
}

fn candles(path: &Path, kind: &str) -> Outcome<Model> {
    use candle_core::{DType, Device, Tensor, quantized::gguf_file};
    use candle_transformers::models::{llama, quantized_llama};
    let device = Device::Cpu;
    let next = |logits: Tensor| -> Outcome<u32> { Ok(logits.flatten_all()?.argmax(0)?.to_scalar::<u32>()?) };
    if kind == "f32" {
        let config: llama::LlamaConfig = serde_json::from_slice(&std::fs::read(path.join("config.json"))?)?;
        let config = config.into_config(false);
        // SAFETY: nobody changes the file meanwhile.
        let weights = unsafe { candle_nn::VarBuilder::from_mmaped_safetensors(&[path.join("model.safetensors")], DType::F32, &device)? };
        let model = llama::Llama::load(weights, &config)?;
        let mut cache = llama::Cache::new(true, DType::F32, &config, &device)?;
        return Ok(Box::new(move |tokens, position| {
            if position == 0 {
                cache = llama::Cache::new(true, DType::F32, &config, &device)?;
            }
            next(model.forward(&Tensor::new(tokens, &device)?.unsqueeze(0)?, position, &mut cache)?)
        }));
    }
    let mut file = std::fs::File::open(path.join(format!("{kind}.gguf")))?;
    let content = gguf_file::Content::read(&mut file)?;
    let mut model = quantized_llama::ModelWeights::from_gguf(content, &mut file, &device)?;
    Ok(Box::new(move |tokens, position| next(model.forward(&Tensor::new(tokens, &device)?.unsqueeze(0)?, position)?)))
}

/// The seconds for the prompt, and for each token after it.
fn time(model: &mut Model) -> Outcome<(f64, f64, Vec<u32>)> {
    let prompt: Vec<u32> = (0..PROMPT as u32).map(|i| (i * 7919 + 13) % 32000).collect();
    let begun = Instant::now();
    let mut made = vec![model(&prompt, 0)?];
    let reading = begun.elapsed().as_secs_f64();
    let begun = Instant::now();
    for position in PROMPT..PROMPT + MADE {
        made.push(model(&made[made.len() - 1..], position)?);
    }
    Ok((reading, begun.elapsed().as_secs_f64() / MADE as f64, made))
}

fn main() -> Outcome<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["write", path] => {
            let path = Path::new(path);
            small::write_llama(path, &config(), 1)?;
            for (name, dtype) in QUANTIZED {
                small::write_gguf(&path.join(format!("{name}.gguf")), &config(), dtype, 1)?;
            }
        }
        [library @ ("opforge" | "candle"), path, kind] => {
            let mut model = if library == "opforge" { ours(Path::new(path), kind)? } else { candles(Path::new(path), kind)? };
            time(&mut model)?;
            let (reading, making, made) = time(&mut model)?;
            println!("{}", serde_json::json!({ "reading": reading, "making": making, "tokens": made }));
        }
        _ => return Err("decoder write FOLDER | decoder opforge|candle FOLDER f32|q4_0|q8_0|q4k".into()),
    }
    Ok(())
}
