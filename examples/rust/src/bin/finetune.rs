//! Teaches a head to tell kinds of lines apart.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::{Parser, Subcommand};
use indicatif::{ProgressBar, ProgressStyle};
use opforge_examples::finetune::{Classifier, Examples, Run, Training};
use opforge_examples::{report, say};

/// Tells kinds of lines apart, on a BERT from a folder (config.json, model.safetensors, tokenizer.json).
#[derive(Parser)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Learns from a file with a kind, a tab and a text on each line; leaves weights and checkpoints in a folder.
    Train {
        /// The model's folder.
        model: PathBuf,
        /// The examples.
        examples: PathBuf,
        /// The folder for what is learned.
        out: PathBuf,
        /// Goes on from the last checkpoint.
        #[arg(long)]
        resume: bool,
        #[command(flatten)]
        training: Training,
    },
    /// Prints what kind a text is.
    Apply {
        /// The model's folder.
        model: PathBuf,
        /// The folder with what was learned.
        out: PathBuf,
        /// The text.
        text: String,
        /// Whether the model learned too.
        #[arg(long)]
        unfreeze: bool,
        /// Cuts a text that is too long for the model.
        #[arg(long)]
        truncate: bool,
    },
}

fn run(command: Command) -> Result<()> {
    match command {
        Command::Train { model, examples, out, resume, training } => {
            let examples = Examples::read(&examples)?;
            let mut classifier = Classifier::new(&model, examples.kinds.len(), training.unfreeze, training.seed)?;
            classifier.set_truncation(training.truncate)?;
            let mut run = Run::begin(training, &out, &classifier, resume)?;
            std::fs::write(out.join("kinds.json"), serde_json::to_string(&examples.kinds)?)?;
            let bar = ProgressBar::new(0)
                .with_style(ProgressStyle::with_template("{bar:30} {pos}/{len} steps, {per_sec}, {eta} left, {msg}")?);
            let accuracy = run.train(&mut classifier, &examples, |progress| {
                bar.set_length(progress.steps as u64);
                bar.set_position(progress.step as u64);
                bar.set_message(format!("loss {:.4}", progress.loss));
            })?;
            bar.finish();
            say(format_args!("knows {:.1} % of the lines that were held out\n", 100.0 * accuracy))?;
        }
        Command::Apply { model, out, text, unfreeze, truncate } => {
            let kinds = std::fs::read_to_string(out.join("kinds.json")).context("reading kinds.json")?;
            let kinds: Vec<String> = serde_json::from_str(&kinds).context("in kinds.json")?;
            let mut classifier = Classifier::new(&model, kinds.len(), unfreeze, 0)?;
            classifier.set_truncation(truncate)?;
            classifier.restore(&out)?;
            let probabilities = classifier.probabilities(&[&text])?.flatten_all()?.to_vec1::<f32>()?;
            let mut named: Vec<(f32, String)> = probabilities.into_iter().zip(kinds).collect();
            named.sort_by(|a, b| b.0.total_cmp(&a.0));
            for (probability, kind) in named {
                say(format_args!("{probability:.4}  {kind}\n"))?;
            }
        }
    }
    Ok(())
}

fn main() -> ExitCode {
    report(run(Cli::parse().command))
}
