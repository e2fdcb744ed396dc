//! A model's folder in the usual layout: `config.json`, `tokenizer.json`, and weights in one file of safetensors or several.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, ensure};
use opforge::{DType, Device};
use opforge_nn::VarBuilder;
use serde::de::DeserializeOwned;
use tokenizers::Tokenizer;

/// A folder with a model.
pub struct Folder(PathBuf);

impl Folder {
    /// The folder, whose files are looked for when they are needed.
    ///
    /// # Errors
    /// Where there is no such folder.
    pub fn open(path: &Path) -> Result<Folder> {
        ensure!(path.is_dir(), "{} is no folder with a model", path.display());
        Ok(Folder(path.to_owned()))
    }

    /// The path of one of its files.
    pub fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// A file of JSON.
    ///
    /// # Errors
    /// Where it is missing, or says other things than are expected of it.
    pub fn json<T: DeserializeOwned>(&self, name: &str) -> Result<T> {
        let path = self.file(name);
        let text = std::fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
        serde_json::from_str(&text).with_context(|| format!("in {}", path.display()))
    }

    /// The same of a file that need not be there.
    ///
    /// # Errors
    /// Where it is there, and says other things.
    pub fn optional_json<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>> {
        self.file(name).exists().then(|| self.json(name)).transpose()
    }

    /// The tokenizer.
    ///
    /// # Errors
    /// Where `tokenizer.json` is missing or none.
    pub fn tokenizer(&self) -> Result<Tokenizer> {
        tokenizer(&self.file("tokenizer.json"))
    }

    /// The files of weights: `model.safetensors`, or those that `model.safetensors.index.json` names.
    ///
    /// # Errors
    /// Where there is neither.
    pub fn weight_files(&self) -> Result<Vec<PathBuf>> {
        let single = self.file("model.safetensors");
        if single.exists() {
            return Ok(vec![single]);
        }
        let index: Option<serde_json::Value> = self.optional_json("model.safetensors.index.json")?;
        let index = index.ok_or_else(|| anyhow!("{} has no model.safetensors", self.0.display()))?;
        let map = index["weight_map"].as_object().context("model.safetensors.index.json has no \"weight_map\"")?;
        let names: BTreeSet<&str> = map.values().filter_map(serde_json::Value::as_str).collect();
        Ok(names.into_iter().map(|name| self.file(name)).collect())
    }

    /// The weights, mapped: they are read as they are asked for, as `dtype`.
    ///
    /// # Errors
    /// Where files are missing or malformed.
    pub fn weights(&self, dtype: DType) -> Result<VarBuilder<'static>> {
        Ok(VarBuilder::from_mmaped_safetensors(&self.weight_files()?, dtype, &Device::Cpu)?)
    }
}

/// The tokenizer that a file describes.
///
/// # Errors
/// Where it is missing or none.
pub fn tokenizer(path: &Path) -> Result<Tokenizer> {
    Tokenizer::from_file(path).map_err(|error| anyhow!("{}: {error}", path.display()))
}
