//! What the example programs are made of: models as their files describe them, and what people do with them.
//!
//! | program | does |
//! |---|---|
//! | `embeddings` | vectors for the lines of a text, and search among them ([`embedder`], [`index`]) with a BERT ([`bert`]) |
//! | `decoder` | goes on with a text ([`generate`]) with a Llama ([`llama`]) from safetensors or gguf ([`gguf`]) |
//! | `finetune` | teaches a head on a BERT to tell kinds of lines apart ([`finetune`]) |
//! | `small` | writes small random models to try the others with ([`small`]) |
//!
//! A model is a folder ([`folder`]): `config.json`, `model.safetensors`, `tokenizer.json`.

pub mod bert;
pub mod embedder;
pub mod finetune;
pub mod folder;
pub mod generate;
pub mod gguf;
pub mod index;
pub mod llama;
pub mod sampler;
pub mod small;
pub mod vocabulary;

use std::io::{ErrorKind, Write};
use std::process::ExitCode;

/// Prints to whoever reads; unlike `println!` where nobody does any more, as after `| head`, it gives an error.
///
/// # Errors
/// As [`std::io::Write::write_all`].
pub fn say(text: impl std::fmt::Display) -> std::io::Result<()> {
    let mut out = std::io::stdout();
    write!(out, "{text}")?;
    out.flush()
}

/// Ends a program: an error is one line, and status 2. That nobody reads on is none.
pub fn report(outcome: anyhow::Result<()>) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if error.downcast_ref().is_some_and(|e: &std::io::Error| e.kind() == ErrorKind::BrokenPipe) => {
            ExitCode::SUCCESS
        }
        Err(error) => {
            let text = format!("{error:#}");
            let lines: Vec<&str> = text.lines().map(|line| line.trim().trim_start_matches("caused by: ")).collect();
            eprintln!("error: {}", lines.join(": "));
            ExitCode::from(2)
        }
    }
}
