//! Goes on with a text.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::Parser;
use opforge::DType;
use opforge_examples::generate::Decoder;
use opforge_examples::sampler::{Sampler, Sampling};
use opforge_examples::{report, say};

/// Goes on with a text, by a Llama from a folder (config.json, model.safetensors, tokenizer.json) or a file of gguf.
#[derive(Parser)]
struct Cli {
    /// The folder or the file.
    model: PathBuf,
    /// The text's beginning.
    prompt: String,
    /// The tokenizer, where it is not the model's own.
    #[arg(long)]
    tokenizer: Option<PathBuf>,
    /// The most tokens to make.
    #[arg(long, default_value_t = 64)]
    max_new_tokens: usize,
    /// The most tokens of prompt and continuation: room for so many is kept.
    #[arg(long, default_value_t = 2048)]
    context: usize,
    /// Computes a folder's model in bf16.
    #[arg(long)]
    bf16: bool,
    #[command(flatten)]
    sampling: Sampling,
}

fn run(cli: Cli) -> Result<()> {
    let mut sampler = Sampler::new(cli.sampling)?;
    let dtype = if cli.bf16 { DType::BF16 } else { DType::F32 };
    let mut decoder = Decoder::load(&cli.model, cli.tokenizer.as_deref(), dtype, cli.context)?;
    say(&cli.prompt)?;
    let speed = decoder.generate(&cli.prompt, cli.max_new_tokens, &mut sampler, |text| Ok(say(text)?))?;
    say("\n")?;
    eprintln!("{speed}");
    Ok(())
}

fn main() -> ExitCode {
    report(run(Cli::parse()))
}
