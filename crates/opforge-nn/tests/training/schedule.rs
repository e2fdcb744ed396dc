//! Schedules against closed forms.

use std::f64::consts::PI;

use opforge::{Device, Result, Var};
use opforge_nn::schedule::{Constant, Cosine, Exponential, OneCycle, Schedule, Step, WarmUp};
use opforge_nn::{Optimizer, SGD};

fn close(got: f64, wanted: f64) {
    assert!((got - wanted).abs() <= 1e-12 * wanted.abs(), "{got}, wanted {wanted}");
}

#[test]
fn steps_and_exponentials() {
    let step = Step { base: 0.8, period: 10, factor: 0.5 };
    let exponential = Exponential { base: 0.8, factor: 0.9 };
    for t in 0..40 {
        close(step.at(t), [0.8, 0.4, 0.2, 0.1][t / 10]);
        close(exponential.at(t), 0.8 * (t as f64 * 0.9f64.ln()).exp());
        close(Constant(0.3).at(t), 0.3);
    }
}

#[test]
fn cosine_falls_to_its_floor_and_stays() {
    let cosine = Cosine { base: 1.0, floor: 0.2, steps: 50 };
    for t in 0..=50 {
        close(cosine.at(t), 0.2 + 0.8 * (1.0 + (PI * t as f64 / 50.0).cos()) / 2.0);
    }
    close(cosine.at(25), 0.6);
    close(cosine.at(1000), 0.2);
}

#[test]
fn warm_up_rises_evenly_then_follows() {
    let rate = WarmUp { steps: 4, then: Exponential { base: 1.0, factor: 0.5 } };
    for (t, wanted) in [0.25, 0.5, 0.75, 1.0, 1.0, 0.5, 0.25].into_iter().enumerate() {
        close(rate.at(t), wanted);
    }
}

#[test]
fn one_cycle_starts_peaks_and_ends_where_it_should() {
    let cycle = OneCycle::new(0.5, 100);
    close(cycle.at(0), 0.5 / 25.0);
    close(cycle.at(29), 0.5);
    close(cycle.at(99), 0.5 / 25.0 / 1e4);
    let halfway = (29.0 + 99.0) / 2.0;
    close(cycle.at(halfway as usize), (0.5 + 0.5 / 25.0 / 1e4) / 2.0);
    for t in 0..99 {
        assert_eq!(cycle.at(t) < cycle.at(t + 1), t < 29, "step {t}");
    }
}

#[test]
fn degenerate_schedules_stay_finite() {
    let rates: [&dyn Fn(usize) -> f64; 4] = [
        &|t| Step { base: 1.0, period: 0, factor: 0.5 }.at(t),
        &|t| Cosine { base: 1.0, floor: 0.0, steps: 0 }.at(t),
        &|t| WarmUp { steps: 0, then: Constant(1.0) }.at(t),
        &|t| OneCycle::new(1.0, 0).at(t),
    ];
    for (i, rate) in rates.iter().enumerate() {
        for t in 0..3 {
            assert!(rate(t).is_finite(), "schedule {i}, step {t}");
        }
    }
}

#[test]
fn apply_sets_the_rate() -> Result<()> {
    let mut sgd = SGD::new(vec![Var::new(&[1f32], &Device::Cpu)?], 1.0)?;
    Step { base: 0.4, period: 1, factor: 0.5 }.apply(1, &mut sgd);
    close(sgd.learning_rate(), 0.2);
    Ok(())
}
