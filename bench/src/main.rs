//! Measures opforge beside candle and beside what the machine can do, in one run, and prints one table. See README.md.
//!
//! `opforge-bench [--json] [WORD..]` measures the cases whose names contain one of the words.

mod candle;
mod case;
mod ceilings;
mod opforge;

use case::{Outcome, Timing};
use ceilings::Ceilings;

fn main() -> Outcome<()> {
    let (flags, words): (Vec<String>, Vec<String>) = std::env::args().skip(1).partition(|word| word == "--json");
    let wanted = |name: &str| words.is_empty() || words.iter().any(|word| name.contains(word.as_str()));
    let ceilings = Ceilings::measure();
    let (json, mut rows) = (!flags.is_empty(), Vec::new());
    if !json {
        heading(&ceilings);
    }
    for (ours, peer) in opforge::all().into_iter().zip(candle::all()) {
        if !wanted(&ours.name) {
            continue;
        }
        let (name, floor) = (ours.name.clone(), ceilings.floor(ours.work));
        let timing = case::measure(ours, peer)?;
        if !json {
            show(&name, floor, &timing);
        }
        rows.push((name, floor, timing));
    }
    match json {
        true => println!("{}", as_json(&ceilings, &rows)),
        false => name_slower(&rows),
    }
    Ok(())
}

/// A case's name, the least time that it can take, and the times that it takes.
type Row = (String, Option<f64>, Timing);

fn heading(ceilings: &Ceilings) {
    println!(
        "ceilings: copy {:.1} GB/s, read {:.1} GB/s, f32 multiply-add {:.0} GFLOP/s\n",
        ceilings.copy / 1e9,
        ceilings.read / 1e9,
        ceilings.flops / 1e9
    );
    println!("{:<50} {:>11} {:>11} {:>8} {:>8}", "", "opforge", "candle", "ratio", "ceiling");
}

fn name_slower(rows: &[Row]) {
    let slower = |(_, _, timing): &&Row| timing.peer.is_some_and(|peer| peer < timing.ours);
    let names: Vec<&str> = rows.iter().filter(slower).map(|(name, ..)| name.as_str()).collect();
    if !names.is_empty() {
        println!("\nslower than candle: {}", names.join("; "));
    }
}

/// What `python/main.py` reads; times in seconds.
fn as_json(ceilings: &Ceilings, rows: &[Row]) -> serde_json::Value {
    let cases: Vec<_> = rows
        .iter()
        .map(|(name, floor, timing)| {
            serde_json::json!({ "name": name, "floor": floor, "opforge": timing.ours, "candle": timing.peer })
        })
        .collect();
    let speeds = serde_json::json!({ "copy": ceilings.copy, "read": ceilings.read, "flops": ceilings.flops });
    serde_json::json!({ "ceilings": speeds, "cases": cases })
}

fn show(name: &str, floor: Option<f64>, timing: &Timing) {
    let ratio = timing.peer.map_or("-".into(), |peer| format!("{:.2}", peer / timing.ours));
    let of_ceiling = floor.map_or("-".into(), |floor| format!("{:.0} %", 100.0 * floor / timing.ours));
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
