//! Vectors for the lines of a text, and search among them.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};
use indicatif::ProgressBar;
use opforge::safetensors;
use opforge_examples::embedder::Embedder;
use opforge_examples::{index, report, say};

/// Sentence embeddings with a BERT from a folder (config.json, model.safetensors, tokenizer.json).
#[derive(Parser)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Writes the vectors of a text's lines to a file of safetensors, as "embeddings".
    Embed {
        /// The model's folder.
        model: PathBuf,
        /// The text.
        text: PathBuf,
        /// Where to write.
        #[arg(short, long, default_value = "embeddings.safetensors")]
        out: PathBuf,
        /// Lines that are computed at once.
        #[arg(long, default_value_t = 32)]
        batch: usize,
        /// Cuts lines that are too long for the model.
        #[arg(long)]
        truncate: bool,
    },
    /// Prints the lines of a text that are next to a query; their vectors are kept beside the text.
    Search {
        /// The model's folder.
        model: PathBuf,
        /// The text.
        text: PathBuf,
        /// What to look for.
        query: String,
        /// How many lines.
        #[arg(short, default_value_t = 5)]
        k: usize,
        /// Cuts lines that are too long for the model.
        #[arg(long)]
        truncate: bool,
    },
}

fn run(command: Command) -> Result<()> {
    match command {
        Command::Embed { model, text, out, batch, truncate } => {
            let mut embedder = Embedder::load(&model)?;
            embedder.set_truncation(truncate)?;
            let lines = index::lines(&text)?;
            let sentences: Vec<&str> = lines.iter().map(|(_, line)| line.as_str()).collect();
            let bar = ProgressBar::new(sentences.len() as u64);
            let begun = std::time::Instant::now();
            let vectors = embedder.embed(&sentences, batch, |done| bar.set_position(done as u64))?;
            bar.finish_and_clear();
            let seconds = begun.elapsed().as_secs_f64();
            safetensors::save(&[("embeddings".to_owned(), vectors.clone())].into(), &out)?;
            say(format_args!("{:?} in {seconds:.2} s: {}\n", vectors.dims(), out.display()))?;
        }
        Command::Search { model, text, query, k, truncate } => {
            let mut embedder = Embedder::load(&model)?;
            embedder.set_truncation(truncate)?;
            let bar = ProgressBar::new_spinner();
            let index = index::Index::open(&text, &model, &mut embedder, |done| bar.set_position(done as u64))?;
            bar.finish_and_clear();
            for found in index.search(&query, k, &mut embedder)? {
                say(format_args!("{:.4}  {}: {}\n", found.score, found.number, found.line))?;
            }
        }
    }
    Ok(())
}

fn main() -> ExitCode {
    report(run(Cli::parse().command))
}
