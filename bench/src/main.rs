//! Measures opforge beside candle and beside what the machine can do, in one run, and prints one table. See README.md.
//!
//! `opforge-bench [WORD..]` measures the cases whose names contain one of the words.

mod candle;
mod case;
mod ceilings;
mod opforge;

use case::{Outcome, Timing, Work};
use ceilings::Ceilings;

fn main() -> Outcome<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let wanted = |name: &str| words.is_empty() || words.iter().any(|word| name.contains(word.as_str()));
    let ceilings = Ceilings::measure();
    println!(
        "ceilings: copy {:.1} GB/s, read {:.1} GB/s, f32 multiply-add {:.0} GFLOP/s\n",
        ceilings.copy / 1e9,
        ceilings.read / 1e9,
        ceilings.flops / 1e9
    );
    println!("{:<50} {:>11} {:>11} {:>8} {:>8}", "", "opforge", "candle", "ratio", "ceiling");
    let mut slower = Vec::new();
    for (ours, peer) in opforge::all().into_iter().zip(candle::all()) {
        if !wanted(&ours.name) {
            continue;
        }
        let (name, work) = (ours.name.clone(), ours.work);
        let timing = case::measure(ours, peer)?;
        show(&name, work, &timing, &ceilings);
        if timing.peer.is_some_and(|peer| peer < timing.ours) {
            slower.push(name);
        }
    }
    if !slower.is_empty() {
        println!("\nslower than candle: {}", slower.join("; "));
    }
    Ok(())
}

fn show(name: &str, work: Work, timing: &Timing, ceilings: &Ceilings) {
    let ratio = timing.peer.map_or("-".into(), |peer| format!("{:.2}", peer / timing.ours));
    let of_ceiling = ceilings.floor(work).map_or("-".into(), |floor| format!("{:.0} %", 100.0 * floor / timing.ours));
    let peer = timing.peer.map_or("refuses".into(), duration);
    println!("{name:<50} {:>11} {peer:>11} {ratio:>8} {of_ceiling:>8}", duration(timing.ours));
}

fn duration(seconds: f64) -> String {
    match seconds {
        s if s < 1e-6 => format!("{:.0} ns", s * 1e9),
        s if s < 1e-3 => format!("{:.1} us", s * 1e6),
        s => format!("{:.2} ms", s * 1e3),
    }
}
