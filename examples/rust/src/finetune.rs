//! Teaching a head to tell kinds of lines apart, on the vectors of a sentence model that stays as it is or learns along. Training can be killed at any
//! time: it goes on from its last checkpoint to the same weights, bit for bit.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use opforge::{D, DType, Device, Tensor, Var, no_grad, safetensors};
use opforge_nn::{AdamW, Linear, Module, Optimizer, ParamsAdamW, VarBuilder, VarMap, linear, loss};
use rand::SeedableRng;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;

use crate::embedder::Embedder;
use crate::folder::Folder;
use crate::index::lines;

/// One of so many examples is held out.
const HELD_OUT: usize = 5;

/// How to train.
#[derive(Debug, Clone, clap::Args)]
pub struct Training {
    /// Times that all examples are seen.
    #[arg(long, default_value_t = 10)]
    pub epochs: usize,
    /// Examples a step.
    #[arg(long, default_value_t = 16)]
    pub batch: usize,
    /// The largest learning rate; it rises for a tenth of the steps and falls to nothing.
    #[arg(long, default_value_t = 1e-2)]
    pub lr: f64,
    /// Steps between checkpoints.
    #[arg(long, default_value_t = 50)]
    pub every: usize,
    /// The sentence model learns too.
    #[arg(long)]
    pub unfreeze: bool,
    /// Cuts lines that are too long for the model.
    #[arg(long)]
    pub truncate: bool,
    /// Of the order of examples and the head's first weights.
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
}

/// Lines with what they are.
pub struct Examples {
    /// The kinds, in the order of their names.
    pub kinds: Vec<String>,
    texts: Vec<String>,
    /// Numbers of kinds.
    labels: Vec<u32>,
}

impl Examples {
    /// From a file with a kind, a tab and a text on each line.
    ///
    /// # Errors
    /// Lines without a tab, and fewer than two kinds.
    pub fn read(path: &Path) -> Result<Examples> {
        let lines = lines(path)?;
        let split = |(number, line): &(usize, String)| -> Result<(String, String)> {
            let (kind, text) = line.split_once('\t').with_context(|| format!("{}:{number}: no tab", path.display()))?;
            Ok((kind.to_owned(), text.to_owned()))
        };
        let (named, texts): (Vec<String>, Vec<String>) =
            lines.iter().map(split).collect::<Result<Vec<_>>>()?.into_iter().unzip();
        let mut kinds = named.clone();
        kinds.sort();
        kinds.dedup();
        ensure!(kinds.len() > 1, "{}: one kind of lines only", path.display());
        let labels = named.iter().filter_map(|kind| kinds.binary_search(kind).ok()).map(|label| label as u32).collect();
        Ok(Examples { kinds, texts, labels })
    }

    /// The numbers of those that are learned from, and of those that are held out.
    fn parts(&self) -> (Vec<usize>, Vec<usize>) {
        (0..self.texts.len()).partition(|i| i % HELD_OUT != HELD_OUT - 1)
    }

    fn texts(&self, numbers: &[usize]) -> Vec<&str> {
        numbers.iter().map(|&i| self.texts[i].as_str()).collect()
    }

    fn labels(&self, numbers: &[usize]) -> Result<Tensor> {
        Ok(Tensor::new(numbers.iter().map(|&i| self.labels[i]).collect::<Vec<u32>>(), &Device::Cpu)?)
    }
}

/// A sentence model and a head that tells kinds.
pub struct Classifier {
    encoder: Embedder,
    head: Linear,
    vars: VarMap,
}

impl Classifier {
    /// With a new head, whose weights are those of a seed. Where the model learns too, its weights are variables.
    ///
    /// # Errors
    /// As [`Embedder::load`].
    pub fn new(model: &Path, kinds: usize, unfreeze: bool, seed: u64) -> Result<Classifier> {
        let vars = VarMap::new();
        let encoder = if unfreeze {
            for file in Folder::open(model)?.weight_files()? {
                let mut held = vars.data().lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                for (name, tensor) in safetensors::load(file, &Device::Cpu)? {
                    held.insert(name, Var::from_tensor(&tensor.to_dtype(DType::F32)?)?);
                }
            }
            Embedder::with_weights(model, VarBuilder::from_varmap(&vars, DType::F32, &Device::Cpu))?
        } else {
            Embedder::load(model)?
        };
        Device::Cpu.set_seed(seed)?;
        let head = linear(encoder.width(), kinds, VarBuilder::from_varmap(&vars, DType::F32, &Device::Cpu).pp("head"))?;
        Ok(Classifier { encoder, head, vars })
    }

    /// Whether lines that are too long for the model are cut; at first they are errors.
    ///
    /// # Errors
    /// As [`Embedder::set_truncation`].
    pub fn set_truncation(&mut self, truncates: bool) -> Result<()> {
        self.encoder.set_truncation(truncates)
    }

    /// The probabilities `[sentences, kinds]`.
    ///
    /// # Errors
    /// What the tokenizer refuses.
    pub fn probabilities(&mut self, sentences: &[&str]) -> Result<Tensor> {
        let vectors = self.encoder.embed(sentences, 32, |_| ())?;
        Ok(no_grad(|| opforge_nn::ops::softmax(&self.head.forward(&vectors)?, D::Minus1))?)
    }

    /// Its weights, from a file that training has left in a folder.
    ///
    /// # Errors
    /// A folder without, and weights of another model.
    pub fn restore(&mut self, folder: &Path) -> Result<()> {
        let path = folder.join("weights.safetensors");
        self.vars.load(&path).with_context(|| format!("in {}", path.display()))
    }

    fn accuracy(&mut self, examples: &Examples, numbers: &[usize]) -> Result<f64> {
        if numbers.is_empty() {
            return Ok(f64::NAN);
        }
        let found = self.probabilities(&examples.texts(numbers))?.argmax(D::Minus1)?.to_vec1::<u32>()?;
        let right = found.iter().zip(examples.labels(numbers)?.to_vec1::<u32>()?).filter(|(a, b)| **a == *b).count();
        Ok(right as f64 / numbers.len() as f64)
    }
}

/// What is said of training as it goes on.
#[derive(Debug, Clone, Copy)]
pub struct Progress {
    /// Steps so far, and in all.
    pub step: usize,
    /// All steps.
    pub steps: usize,
    /// Of the last step.
    pub loss: f32,
}

/// A training, and what it has come to.
pub struct Run {
    training: Training,
    out: PathBuf,
    optimizer: AdamW,
    step: usize,
}

impl Run {
    /// Begins, or goes on from the folder's checkpoint where `resume`.
    ///
    /// # Errors
    /// A checkpoint that is missing, or of another training.
    pub fn begin(training: Training, out: &Path, classifier: &Classifier, resume: bool) -> Result<Run> {
        ensure!(training.batch > 0 && training.every > 0, "--batch and --every are at least 1");
        std::fs::create_dir_all(out).with_context(|| format!("making {}", out.display()))?;
        let optimizer = AdamW::new(classifier.vars.all_vars(), ParamsAdamW { lr: training.lr, ..Default::default() })?;
        let mut run = Run { training, out: out.to_owned(), optimizer, step: 0 };
        if resume {
            run.load(classifier)?;
        }
        Ok(run)
    }

    /// Trains to the end; gives the share of examples held out that the classifier knows.
    ///
    /// # Errors
    /// A folder that cannot be written, and a loss that is no number.
    pub fn train(
        &mut self,
        classifier: &mut Classifier,
        examples: &Examples,
        mut say: impl FnMut(Progress),
    ) -> Result<f64> {
        let (learned, held_out) = examples.parts();
        let per_epoch = learned.len().div_ceil(self.training.batch);
        let steps = per_epoch * self.training.epochs;
        let fixed = match self.training.unfreeze {
            true => None,
            false => Some(classifier.encoder.embed(&examples.texts(&learned), 32, |_| ())?),
        };
        while self.step < steps {
            let (epoch, place) = (self.step / per_epoch, self.step % per_epoch * self.training.batch);
            let order = order(learned.len(), self.training.seed, epoch);
            let rows = &order[place..learned.len().min(place + self.training.batch)];
            let numbers: Vec<usize> = rows.iter().map(|&row| learned[row as usize]).collect();
            let vectors = match &fixed {
                Some(vectors) => vectors.index_select(&Tensor::new(rows, &Device::Cpu)?, 0)?,
                None => classifier.encoder.forward(&examples.texts(&numbers))?,
            };
            let loss = loss::cross_entropy(&classifier.head.forward(&vectors)?, &examples.labels(&numbers)?)?;
            self.optimizer.set_learning_rate(self.training.lr * rate(self.step, steps));
            self.optimizer.backward_step(&loss)?;
            self.step += 1;
            let loss = loss.to_scalar::<f32>()?;
            ensure!(loss.is_finite(), "the loss is {loss} at step {}: try a smaller --lr", self.step);
            say(Progress { step: self.step, steps, loss });
            if self.step.is_multiple_of(self.training.every) || self.step == steps {
                self.save(classifier)?;
            }
        }
        classifier.accuracy(examples, &held_out)
    }

    /// What distinguishes trainings that can be gone on with: all but how often checkpoints are made.
    fn settings(&self) -> String {
        let Training { epochs, batch, lr, every: _, unfreeze, truncate, seed } = self.training;
        format!("epochs {epochs}, batch {batch}, lr {lr}, unfreeze {unfreeze}, truncate {truncate}, seed {seed}")
    }

    fn save(&self, classifier: &Classifier) -> Result<()> {
        let mut state: HashMap<String, Tensor> = self.optimizer.state()?.into_iter().collect();
        state.insert("settings".to_owned(), Tensor::new(self.settings().into_bytes(), &Device::Cpu)?);
        state.insert("position".to_owned(), Tensor::new(self.step as i64, &Device::Cpu)?);
        for (name, var) in classifier.vars.data().lock().unwrap_or_else(std::sync::PoisonError::into_inner).iter() {
            state.insert(format!("weights.{name}"), var.as_tensor().clone());
        }
        replace(&self.out.join("checkpoint.safetensors"), |path| Ok(safetensors::save(&state, path)?))?;
        replace(&self.out.join("weights.safetensors"), |path| Ok(classifier.vars.save(path)?))
    }

    fn load(&mut self, classifier: &Classifier) -> Result<()> {
        let path = self.out.join("checkpoint.safetensors");
        let state = safetensors::load(&path, &Device::Cpu).with_context(|| format!("reading {}", path.display()))?;
        let find = |name: &str| state.get(name).with_context(|| format!("{} has no {name}", path.display()));
        let theirs = String::from_utf8_lossy(&find("settings")?.to_vec1::<u8>()?).into_owned();
        if theirs != self.settings() {
            bail!("{} is of another training ({theirs}; this is {})", path.display(), self.settings());
        }
        for (name, var) in classifier.vars.data().lock().unwrap_or_else(std::sync::PoisonError::into_inner).iter() {
            var.set(find(&format!("weights.{name}"))?)?;
        }
        self.optimizer.load_state(&state)?;
        self.step = usize::try_from(find("position")?.to_scalar::<i64>()?)?;
        Ok(())
    }
}

/// A file that is there as a whole or not at all, whenever the program ends.
fn replace(path: &Path, write: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
    let new = path.with_extension("new");
    write(&new).with_context(|| format!("writing {}", new.display()))?;
    std::fs::File::open(&new)?.sync_all()?;
    std::fs::rename(&new, path).with_context(|| format!("writing {}", path.display()))
}

/// The order of the examples in an epoch.
fn order(count: usize, seed: u64, epoch: usize) -> Vec<u32> {
    let mut order: Vec<u32> = (0..count as u32).collect();
    order.shuffle(&mut StdRng::seed_from_u64(seed.wrapping_add(epoch as u64)));
    order
}

/// The part of the largest rate at a step.
fn rate(step: usize, steps: usize) -> f64 {
    let rising = (steps / 10).max(1);
    if step < rising {
        return (step + 1) as f64 / rising as f64;
    }
    (steps - step) as f64 / (steps - rising).max(1) as f64
}
