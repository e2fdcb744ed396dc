//! What a call costs apart from its arithmetic: tiny tensors through the whole path.
//!
//! `call_path` prints nanoseconds a call; `call_path CASE COUNT` makes that many calls of one case, for counting instructions, see
//! `tests/callgrind.sh`; `call_path --list` names the cases.

use std::hint::black_box;
use std::time::Instant;

use opforge::{Device, Result, Tensor, Var};

/// A named call, to be repeated.
struct Case {
    name: &'static str,
    call: Box<dyn Fn() -> Result<()>>,
}

fn case<T>(name: &'static str, call: impl Fn() -> Result<T> + 'static) -> Case {
    Case { name, call: Box::new(move || call().map(|value| drop(black_box(value)))) }
}

fn cases() -> Result<Vec<Case>> {
    let cpu = &Device::Cpu;
    let (a, b) = (Tensor::new(&[1f32, 2.0, 3.0, 4.0], cpu)?, Tensor::new(&[5f32, 6.0, 7.0, 8.0], cpu)?);
    let variable = Var::new(&[1f32, 2.0, 3.0, 4.0], cpu)?;
    let (m, n) = (a.reshape((4, 1))?.broadcast_add(&b)?, a.broadcast_add(&b.reshape((4, 1))?)?);
    let column = a.reshape((4, 1))?;
    let [a2, a3, a4, a5, a6] = std::array::from_fn(|_| a.clone());
    let [b2, b3] = std::array::from_fn(|_| b.clone());
    Ok(vec![
        case("add", move || a.add(&b)),
        case("relu", move || a2.relu()),
        case("add_recorded", move || variable.add(&b2)),
        case("narrow", move || a3.narrow(0, 1, 2)),
        case("sum", move || a4.sum_all()),
        case("broadcast_add", move || column.broadcast_add(&b3)),
        case("matmul", move || m.matmul(&n)),
        case("add_scalar", move || a5.affine(1.0, 2.0)),
        case("to_vec", move || a6.to_vec1::<f32>()),
    ])
}

fn repeat(case: &Case, count: usize) -> Result<()> {
    (0..count).try_for_each(|_| (case.call)())
}

/// The least time a call over several rounds, in nanoseconds.
fn nanoseconds(case: &Case) -> Result<f64> {
    const CALLS: usize = 50_000;
    let mut least = f64::INFINITY;
    for _ in 0..30 {
        let start = Instant::now();
        repeat(case, CALLS)?;
        least = least.min(start.elapsed().as_nanos() as f64 / CALLS as f64);
    }
    Ok(least)
}

fn main() -> Result<()> {
    let cases = cases()?;
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match &arguments[..] {
        [] => cases.iter().try_for_each(|case| nanoseconds(case).map(|ns| println!("{:<14} {ns:7.1} ns", case.name))),
        [flag] if flag == "--list" => {
            cases.iter().for_each(|case| println!("{}", case.name));
            Ok(())
        }
        [name, count] => {
            let case = cases.iter().find(|case| case.name == name);
            let count = count.parse().map_err(|_| opforge::Error::msg(format!("not a count: {count}")))?;
            repeat(case.ok_or_else(|| opforge::Error::msg(format!("no case {name}")))?, count)
        }
        _ => Err(opforge::Error::msg("usage: call_path [--list | CASE COUNT]")),
    }
}
