//! The example programs, on small models made for the purpose.

use std::path::Path;

use opforge::{DType, Error};
use opforge_examples::embedder::Embedder;
use opforge_examples::generate::Decoder;
use opforge_examples::index::Index;
use opforge_examples::sampler::{Sampler, Sampling};
use opforge_examples::small;

use crate::{Part, target};

/// Searches a text with a BERT and goes on with one by a Llama, both of random weights: what they find means nothing, that it is found does.
pub fn run(folder: &Path) -> Part {
    println!("Models from files: a BERT finds lines, a Llama goes on with a text");
    let (found, speed) = search(folder)
        .and_then(|found| Ok((found, go_on(folder)?)))
        .map_err(|error| Error::msg(format!("{error:#}")))?;
    target(found > 0.9999, || format!("a line was found with a cosine of {found} to itself"))?;
    Ok(format!("cosine {found:.4}; {speed}"))
}

fn search(folder: &Path) -> anyhow::Result<f32> {
    let (model, text) = (folder.join("bert"), folder.join("lines.txt"));
    small::write_bert(&model, &small::tiny_bert(), 0)?;
    std::fs::write(&text, small::SENTENCES.join("\n"))?;
    let mut embedder = Embedder::load(&model)?;
    let index = Index::open(&text, &model, &mut embedder, |_| ())?;
    let found = index.search(small::SENTENCES[3], 2, &mut embedder)?;
    found.iter().for_each(|line| println!("  {:.4}  {}: {}", line.score, line.number, line.line));
    Ok(found[0].score)
}

fn go_on(folder: &Path) -> anyhow::Result<String> {
    let model = folder.join("llama");
    small::write_llama(&model, &small::tiny_llama(), 0)?;
    let sampling = Sampling { temperature: 0.0, top_k: None, top_p: None, repetition_penalty: 1.0, seed: 0 };
    let mut text = String::new();
    let mut decoder = Decoder::load(&model, None, DType::F32, 128)?;
    let speed = decoder.generate("The rain", 32, &mut Sampler::new(sampling)?, |more| {
        text.push_str(more);
        Ok(())
    })?;
    println!("  The rain{}", text.escape_debug());
    Ok(speed.to_string())
}
