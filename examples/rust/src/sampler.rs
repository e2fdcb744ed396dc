//! Which token comes next: the likeliest, or one drawn at random among the likely.

use std::collections::BTreeSet;

use anyhow::{Result, ensure};
use opforge::{D, Tensor};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

/// How tokens are chosen.
#[derive(Debug, Clone, clap::Args)]
pub struct Sampling {
    /// Divides logits: 0 takes the likeliest token, 1 draws by the model's probabilities.
    #[arg(long, default_value_t = 0.8)]
    pub temperature: f64,
    /// Draws among this many of the likeliest tokens.
    #[arg(long)]
    pub top_k: Option<usize>,
    /// Draws among the fewest tokens whose probabilities add up to this.
    #[arg(long)]
    pub top_p: Option<f64>,
    /// Divides logits of tokens that were there before, or multiplies those below 0 (Keskar et al., 2019).
    #[arg(long, default_value_t = 1.0)]
    pub repetition_penalty: f32,
    /// Equal seeds draw equal tokens.
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
}

/// Chooses tokens.
pub struct Sampler {
    sampling: Sampling,
    random: StdRng,
}

impl Sampler {
    /// With these settings.
    ///
    /// # Errors
    /// A temperature below 0, and other settings that leave no token.
    pub fn new(sampling: Sampling) -> Result<Sampler> {
        let Sampling { temperature, top_k, top_p, repetition_penalty, seed } = sampling;
        ensure!(temperature >= 0.0 && temperature.is_finite(), "a temperature of {temperature}, which is below 0");
        ensure!(top_k != Some(0), "--top-k 0 leaves no token");
        ensure!(top_p.is_none_or(|p| p > 0.0 && p <= 1.0), "--top-p is no share above 0 and up to 1");
        ensure!(repetition_penalty > 0.0, "a repetition penalty of {repetition_penalty}, which is not above 0");
        Ok(Sampler { sampling, random: StdRng::seed_from_u64(seed) })
    }

    /// The next token, by logits `[vocabulary]` of f32; `before` are the tokens so far.
    ///
    /// # Errors
    /// Logits that are no numbers.
    pub fn choose(&mut self, logits: &Tensor, before: &[u32]) -> Result<u32> {
        let mut logits: Vec<f32> = logits.to_vec1()?;
        ensure!(logits.iter().all(|x| !x.is_nan()), "the model gave NaN");
        self.penalize(&mut logits, before);
        let likeliest = || (0..logits.len()).max_by(|&a, &b| logits[a].total_cmp(&logits[b]).then(b.cmp(&a)));
        if self.sampling.temperature == 0.0 {
            return Ok(likeliest().unwrap_or(0) as u32);
        }
        let logits = Tensor::new(logits, &opforge::Device::Cpu)?.affine(1.0 / self.sampling.temperature, 0.0)?;
        let probabilities: Vec<f32> = opforge_nn::ops::softmax(&logits, D::Minus1)?.to_vec1()?;
        Ok(self.draw(&probabilities))
    }

    fn penalize(&self, logits: &mut [f32], before: &[u32]) {
        let penalty = self.sampling.repetition_penalty;
        for &token in before.iter().collect::<BTreeSet<_>>() {
            if let Some(logit) = logits.get_mut(token as usize) {
                *logit = if *logit > 0.0 { *logit / penalty } else { *logit * penalty };
            }
        }
    }

    /// A token drawn by probabilities, among those that the settings leave.
    fn draw(&mut self, probabilities: &[f32]) -> u32 {
        let mut order: Vec<usize> = (0..probabilities.len()).collect();
        if self.sampling.top_k.is_some() || self.sampling.top_p.is_some() {
            order.sort_by(|&a, &b| probabilities[b].total_cmp(&probabilities[a]));
        }
        order.truncate(self.sampling.top_k.unwrap_or(usize::MAX));
        if let Some(share) = self.sampling.top_p {
            let enough = share * order.iter().map(|&i| f64::from(probabilities[i])).sum::<f64>();
            let mut sum = 0.0;
            let mut below = |i: &usize| {
                let is_below = sum < enough;
                sum += f64::from(probabilities[*i]);
                is_below
            };
            let kept = order.iter().take_while(|i| below(i)).count();
            order.truncate(kept);
        }
        let total: f64 = order.iter().map(|&i| f64::from(probabilities[i])).sum();
        let mut left = self.random.random::<f64>() * total;
        let found = order.iter().find(|&&i| {
            left -= f64::from(probabilities[i]);
            left < 0.0
        });
        found.or(order.last()).copied().unwrap_or(0) as u32
    }
}
