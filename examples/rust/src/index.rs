//! The vectors of a text's lines, kept beside it, and search among them.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use opforge::{Device, Tensor, safetensors};
use sha2::{Digest, Sha256};

use crate::embedder::Embedder;
use crate::folder::Folder;

/// A text's lines with their vectors.
pub struct Index {
    /// With their numbers, from 1 on.
    lines: Vec<(usize, String)>,
    /// `[lines, width]`.
    vectors: Tensor,
}

/// A line that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Found<'a> {
    /// The cosine of the angle between its vector and the query's.
    pub score: f32,
    /// Its number in the text, from 1 on.
    pub number: usize,
    /// The line.
    pub line: &'a str,
}

/// The lines of a text file that are not blank, with their numbers, from 1 on.
///
/// # Errors
/// A file that cannot be read, and one without such lines.
pub fn lines(path: &Path) -> Result<Vec<(usize, String)>> {
    let text = std::fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))?;
    let numbered = (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty());
    let lines: Vec<(usize, String)> = numbered.map(|(number, line)| (number, line.to_owned())).collect();
    ensure!(!lines.is_empty(), "{} has no lines", path.display());
    Ok(lines)
}

impl Index {
    /// The index of a text. It is read from the file beside the text (`TEXT.index.safetensors`) where that was made of the same text by the same model, and
    /// made and written there otherwise.
    ///
    /// # Errors
    /// A text that cannot be read, and what the model refuses of it.
    pub fn open(text: &Path, model: &Path, embedder: &mut Embedder, done: impl FnMut(usize)) -> Result<Index> {
        let (lines, kept) = (lines(text)?, beside(text));
        let digest = Tensor::new(digest(&lines, model, embedder.truncates())?, &Device::Cpu)?;
        if let Some(vectors) = read(&kept, &digest) {
            return Ok(Index { lines, vectors });
        }
        let sentences: Vec<&str> = lines.iter().map(|(_, line)| line.as_str()).collect();
        let vectors = embedder.embed(&sentences, 32, done)?;
        let tensors = [("digest".to_owned(), digest), ("vectors".to_owned(), vectors.clone())];
        safetensors::save(&tensors.into(), &kept).with_context(|| format!("writing {}", kept.display()))?;
        Ok(Index { lines, vectors })
    }

    /// How many lines there are.
    pub fn len(&self) -> usize {
        self.lines.len()
    }

    /// Whether there is no line.
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// The `count` lines next to a query, the best first.
    ///
    /// # Errors
    /// What the model refuses of the query.
    pub fn search(&self, query: &str, count: usize, embedder: &mut Embedder) -> Result<Vec<Found<'_>>> {
        let query = unit(&embedder.embed(&[query], 1, |_| ())?)?;
        let scores: Vec<f32> = unit(&self.vectors)?.matmul(&query.t()?)?.flatten_all()?.to_vec1()?;
        let mut order: Vec<usize> = (0..scores.len()).collect();
        order.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]));
        let found = |&i: &usize| Found { score: scores[i], number: self.lines[i].0, line: &self.lines[i].1 };
        Ok(order.iter().take(count).map(found).collect())
    }
}

/// Rows of length 1.
fn unit(x: &Tensor) -> Result<Tensor> {
    Ok(x.broadcast_div(&x.sqr()?.sum_keepdim(1)?.sqrt()?.maximum(1e-12)?)?)
}

fn beside(text: &Path) -> PathBuf {
    let mut name = text.as_os_str().to_owned();
    name.push(".index.safetensors");
    name.into()
}

/// The vectors of a file that has this digest; none where there is no such file.
fn read(kept: &Path, digest: &Tensor) -> Option<Tensor> {
    let mut tensors = safetensors::load(kept, &Device::Cpu).ok()?;
    let theirs = tensors.get("digest")?.to_vec1::<u8>().ok()?;
    (theirs == digest.to_vec1::<u8>().ok()?).then(|| tensors.remove("vectors"))?
}

/// Tells texts and models apart: the lines and whether they are cut, the model's config, and its weights by their size and time.
fn digest(lines: &[(usize, String)], model: &Path, truncates: bool) -> Result<Vec<u8>> {
    let mut hash = Sha256::new();
    hash.update([u8::from(truncates)]);
    lines.iter().for_each(|(_, line)| hash.update(format!("{}:{line}", line.len())));
    for entry in ["config.json", "1_Pooling/config.json", "modules.json", "tokenizer.json"] {
        hash.update(std::fs::read(model.join(entry)).unwrap_or_default());
    }
    for file in Folder::open(model)?.weight_files()? {
        let weights = std::fs::metadata(&file).with_context(|| format!("reading {}", file.display()))?;
        hash.update(format!("{} {:?}", weights.len(), weights.modified()?));
    }
    Ok(hash.finalize().to_vec())
}
