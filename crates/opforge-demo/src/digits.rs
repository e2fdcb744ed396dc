//! Trains a classifier of handwritten digits and tests it on a fifth of them that it never saw.

use std::io::Read;
use std::path::Path;
use std::time::Instant;

use flate2::read::GzDecoder;
use indicatif::{ProgressBar, ProgressStyle};
use opforge::{D, DType, Device, Error, Module, ModuleT, Result, Tensor};
use opforge_nn::schedule::{OneCycle, Schedule};
use opforge_nn::{AdamW, Dropout, Linear, Optimizer, VarBuilder, VarMap, linear, loss};

use crate::{Part, target};

const DATA: &[u8] = include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/digits.csv.gz"));
const DEVICE: &Device = &Device::Cpu;
/// A picture's pixels a side and in all, and their largest value.
const SIDE: usize = 8;
const PIXELS: usize = SIDE * SIDE;
const WHITE: f64 = 16.0;
const CLASSES: usize = 10;
const HIDDEN: usize = 128;
const BATCH: usize = 64;
const EPOCHS: usize = 20;
const PEAK_RATE: f64 = 0.01;
const SEED: u64 = 2;
/// The least part of the held-out digits to be read right.
const TARGET: f64 = 0.97;

/// Pictures `[n, 64]` from 0 to 1, and their classes `[n]`.
struct Digits {
    pictures: Tensor,
    classes: Tensor,
}

impl Digits {
    fn load() -> Result<Self> {
        let mut text = String::new();
        GzDecoder::new(DATA).read_to_string(&mut text)?;
        let numbers: Vec<f32> = text
            .split([',', '\n'])
            .filter(|field| !field.is_empty())
            .map(|field| field.trim().parse().map_err(Error::wrap))
            .collect::<Result<_>>()?;
        let rows = Tensor::from_vec(numbers, ((), PIXELS + 1), DEVICE)?;
        Ok(Digits {
            pictures: rows.narrow(1, 0, PIXELS)?.affine(1.0 / WHITE, 0.0)?,
            classes: rows.narrow(1, PIXELS, 1)?.squeeze(1)?.to_dtype(DType::U32)?,
        })
    }

    fn len(&self) -> usize {
        self.classes.elem_count()
    }

    fn select(&self, ids: &Tensor) -> Result<Digits> {
        Ok(Digits { pictures: self.pictures.index_select(ids, 0)?, classes: self.classes.index_select(ids, 0)? })
    }

    /// These digits, and each of them moved by one pixel up, down, left and right.
    fn with_shifts(self) -> Result<Digits> {
        let square = self.pictures.reshape(((), SIDE, SIDE))?;
        let shift = |dim: usize, start: usize| {
            square.pad_with_zeros(dim, 1, 1)?.narrow(dim, start, SIDE)?.reshape(((), PIXELS))
        };
        let moved = [shift(1, 0)?, shift(1, 2)?, shift(2, 0)?, shift(2, 2)?, self.pictures.clone()];
        Ok(Digits { pictures: Tensor::cat(&moved, 0)?, classes: self.classes.repeat(moved.len())? })
    }

    /// Four fifths to train on, one fifth to test on, in a random order.
    fn split(&self) -> Result<(Digits, Digits)> {
        let (order, held_out) = (shuffled(self.len())?, self.len() / 5);
        Ok((
            self.select(&order.narrow(0, held_out, self.len() - held_out)?)?,
            self.select(&order.narrow(0, 0, held_out)?)?,
        ))
    }
}

/// The numbers below `n` in a random order: where random numbers would go if sorted.
fn shuffled(n: usize) -> Result<Tensor> {
    Tensor::rand(0f64, 1.0, n, DEVICE)?.arg_sort_last_dim(true)
}

/// One hidden layer.
struct Model {
    hidden: Linear,
    dropout: Dropout,
    output: Linear,
}

impl Model {
    fn new(vars: &VarMap) -> Result<Self> {
        let vb = VarBuilder::from_varmap(vars, DType::F32, DEVICE);
        Ok(Model {
            hidden: linear(PIXELS, HIDDEN, vb.pp("hidden"))?,
            dropout: Dropout::new(0.2),
            output: linear(HIDDEN, CLASSES, vb.pp("output"))?,
        })
    }

    fn predict(&self, pictures: &Tensor) -> Result<Vec<u32>> {
        self.forward_t(pictures, false)?.argmax(D::Minus1)?.to_vec1()
    }
}

impl ModuleT for Model {
    fn forward_t(&self, xs: &Tensor, train: bool) -> Result<Tensor> {
        let xs = self.hidden.forward(xs)?.relu()?.apply_t(&self.dropout, train)?;
        self.output.forward(&xs)
    }
}

/// What there is to draw, one value an epoch.
#[derive(Default)]
pub struct Curves {
    /// The mean loss of the training steps.
    pub train_loss: Vec<f64>,
    /// The loss on the held-out digits.
    pub test_loss: Vec<f64>,
    /// The part of the held-out digits that were read right.
    pub accuracy: Vec<f64>,
}

/// A trained classifier with what it was tested on.
pub struct Trained {
    vars: VarMap,
    model: Model,
    test: Digits,
    seconds: f64,
    parameters: usize,
    /// How training went.
    pub curves: Curves,
}

fn accuracy(predictions: &[u32], classes: &[u32]) -> f64 {
    let right = predictions.iter().zip(classes).filter(|(a, b)| a == b).count();
    right as f64 / classes.len() as f64
}

fn progress() -> ProgressBar {
    let style = ProgressStyle::with_template("training {bar:24} {pos:>2}/{len} epochs  {msg}");
    ProgressBar::new(EPOCHS as u64).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}

/// Trains from a fixed seed: every run gives the same classifier.
pub fn train() -> Result<Trained> {
    DEVICE.set_seed(SEED)?;
    let (train, test) = Digits::load()?.split()?;
    let train = train.with_shifts()?;
    let vars = VarMap::new();
    let model = Model::new(&vars)?;
    let mut optimizer = AdamW::new_lr(vars.all_vars(), PEAK_RATE)?;
    let batches = train.len().div_ceil(BATCH);
    let rate = OneCycle::new(PEAK_RATE, EPOCHS * batches);
    let classes = test.classes.to_vec1::<u32>()?;
    let mut curves = Curves::default();
    let (bar, start) = (progress(), Instant::now());
    for epoch in 0..EPOCHS {
        let order = shuffled(train.len())?;
        let mut total = 0.0;
        for batch in 0..batches {
            let ids = order.narrow(0, batch * BATCH, BATCH.min(train.len() - batch * BATCH))?;
            let Digits { pictures, classes } = train.select(&ids)?;
            rate.apply(epoch * batches + batch, &mut optimizer);
            let loss = loss::cross_entropy(&model.forward_t(&pictures, true)?, &classes)?;
            optimizer.backward_step(&loss)?;
            total += f64::from(loss.to_scalar::<f32>()?);
        }
        let test_loss = loss::cross_entropy(&model.forward_t(&test.pictures, false)?, &test.classes)?;
        let right = accuracy(&model.predict(&test.pictures)?, &classes);
        curves.train_loss.push(total / batches as f64);
        curves.test_loss.push(test_loss.to_scalar::<f32>()?.into());
        curves.accuracy.push(right);
        bar.set_message(format!("loss {:.4}, accuracy {:.1} %", total / batches as f64, right * 100.0));
        bar.inc(1);
    }
    bar.finish_and_clear();
    let parameters = vars.all_vars().iter().map(|var| var.elem_count()).sum();
    Ok(Trained { vars, model, test, seconds: start.elapsed().as_secs_f64(), parameters, curves })
}

impl Trained {
    /// Shows some held-out digits with their predictions, and tests the accuracy on all of them.
    pub fn check(&self) -> Part {
        let predictions = self.model.predict(&self.test.pictures)?;
        let right = accuracy(&predictions, &self.test.classes.to_vec1()?);
        print!("{}", gallery(&self.test.pictures, &predictions)?);
        let Trained { test, parameters, seconds, .. } = self;
        let read = format!("{:.1} % of {} held-out digits", right * 100.0, test.len());
        let figures = format!("{read}, {parameters} parameters, {EPOCHS} epochs in {seconds:.1} s");
        target(right >= TARGET, || format!("{figures}; the target is {:.0} %", TARGET * 100.0))?;
        Ok(figures)
    }

    /// Saves the weights and loads them into a new model, which must predict exactly the same.
    pub fn save_and_reload(&self, path: &Path) -> Part {
        self.vars.save(path)?;
        let mut vars = VarMap::new();
        let reloaded = Model::new(&vars)?;
        let scores = |model: &Model| model.forward_t(&self.test.pictures, false)?.to_vec2::<f32>();
        let (saved, fresh) = (scores(&self.model)?, scores(&reloaded)?);
        target(saved != fresh, || "a new model predicts like the trained one".into())?;
        vars.load(path)?;
        target(saved == scores(&reloaded)?, || "the reloaded model scores differently".into())?;
        let bytes = std::fs::metadata(path)?.len();
        Ok(format!("{bytes} bytes in {}; reloaded, they give equal scores", path.display()))
    }
}

/// The first digits side by side, two characters a pixel, above what the classifier takes them for.
fn gallery(pictures: &Tensor, predictions: &[u32]) -> Result<String> {
    const SHOWN: usize = 4;
    const SHADES: [&str; 5] = ["  ", "░░", "▒▒", "▓▓", "██"];
    let pictures = pictures.narrow(0, 0, SHOWN)?.reshape((SHOWN, SIDE, SIDE))?.to_vec3::<f32>()?;
    let mut text = String::new();
    for y in 0..SIDE {
        for picture in &pictures {
            let shade = |&x: &f32| SHADES[((x * SHADES.len() as f32) as usize).min(SHADES.len() - 1)];
            text.extend(picture[y].iter().map(shade));
            text.push_str("  ");
        }
        text.push('\n');
    }
    for prediction in &predictions[..SHOWN] {
        let label = format!("reads {prediction}");
        text.push_str(&format!("{label:^16}  "));
    }
    Ok(text.lines().map(|line| line.trim_end().to_owned() + "\n").collect())
}
