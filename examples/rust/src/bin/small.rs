//! Writes small random models, which the other programs run.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, ValueEnum};
use opforge::quantized::GgmlDType;
use opforge_examples::{report, small};

/// Writes a model with random weights and a tokenizer of its own, to try the other programs with.
#[derive(Parser)]
struct Cli {
    kind: Kind,
    /// The folder, or the file of gguf, to write.
    path: PathBuf,
    /// Of the weights.
    #[arg(long, default_value_t = 0)]
    seed: u64,
}

#[derive(Clone, Copy, ValueEnum)]
enum Kind {
    /// A BERT of two layers.
    Bert,
    /// A BERT of MiniLM's dimensions.
    Minilm,
    /// A Llama of two layers.
    Llama,
    /// The same, quantized.
    Gguf,
}

fn run(Cli { kind, path, seed }: Cli) -> Result<()> {
    match kind {
        Kind::Bert => small::write_bert(&path, &small::tiny_bert(), seed),
        Kind::Minilm => small::write_bert(&path, &small::minilm(), seed),
        Kind::Llama => small::write_llama(&path, &small::tiny_llama(), seed),
        Kind::Gguf => small::write_gguf(&path, &small::tiny_llama(), GgmlDType::Q8_0, seed),
    }
}

fn main() -> ExitCode {
    report(run(Cli::parse()))
}
