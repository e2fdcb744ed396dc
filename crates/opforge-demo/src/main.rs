//! What opforge does, on real data, in a minute: `make demo`.
//!
//! Every part prints `demo <part>: ok (<figures>)`; if one misses its target, the command fails.

mod digits;
mod journey;
mod models;
mod plot;
mod timeline;

use std::path::Path;
use std::process::ExitCode;

use opforge::{Error, Result};

/// Where the parts leave their files.
const OUT: &str = "demo-out";

/// A part's figures for its line, or what it missed.
type Part = Result<String>;

/// An error that says which target was missed, unless it holds.
fn target(holds: bool, missed: impl FnOnce() -> String) -> Result<()> {
    if holds { Ok(()) } else { Err(Error::msg(missed())) }
}

fn report(name: &str, part: Part) -> bool {
    match &part {
        Ok(figures) => println!("demo {name}: ok ({figures})\n"),
        Err(error) => println!("demo {name}: FAILED ({error})\n"),
    }
    part.is_ok()
}

fn run() -> Result<bool> {
    let out = Path::new(OUT);
    std::fs::create_dir_all(out).map_err(|e| Error::from(e).context(format!("making the folder {OUT}")))?;
    let mut ok = true;
    match digits::train() {
        Ok(trained) => {
            ok &= report("digits", trained.check());
            ok &= report("weights", trained.save_and_reload(&out.join("digits.safetensors")));
            ok &= report("plot", plot::draw(&trained.curves, &out.join("training.svg")));
        }
        Err(error) => ok &= report("digits", Err(error)),
    }
    ok &= report("journey", journey::follow());
    ok &= report("models", models::run(out));
    ok &= report("timeline", timeline::record(&out.join("timeline.json")));
    Ok(ok)
}

fn main() -> ExitCode {
    match run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("demo: {error}");
            ExitCode::FAILURE
        }
    }
}
