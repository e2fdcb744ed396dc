//! Which GPUs are compiled for.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use opforge_core::Result;

use super::run::run;
use super::toolchain::{children, program};

/// Ampere's: what is compiled for where no GPU is present and nvcc knows it.
const USUAL: u32 = 80;

/// The models of the GPUs that are present, for keys: finding out more takes long.
pub(super) fn models() -> Vec<String> {
    let cards = children(Path::new("/proc/driver/nvidia/gpus")).into_iter();
    let texts = cards.filter_map(|card| fs::read_to_string(card.join("information")).ok());
    texts.filter_map(|text| text.lines().find(|line| line.starts_with("Model")).map(str::to_owned)).collect()
}

/// The arguments for nvcc: machine code for the GPUs that are present, and intermediate code, from which drivers make that of other ones.
pub(super) fn arguments(nvcc: &OsStr, path: &OsStr, stage: &Path, timeout: Duration) -> Result<Vec<OsString>> {
    let ask = |program: &OsStr, arguments: &[&str]| -> Result<String> {
        let mut command = Command::new(program);
        command.args(arguments);
        Ok(run(command, stage, timeout)?.output)
    };
    let known = numbers(&ask(nvcc, &["--list-gpu-arch"])?.replace("compute_", ""));
    let present = match program("nvidia-smi", path) {
        Some(smi) => {
            numbers(&ask(smi.as_os_str(), &["--query-gpu=compute_cap", "--format=csv,noheader"])?.replace('.', ""))
        }
        None => Vec::new(),
    };
    Ok(generate(&choose(&known, &present)))
}

/// What is compiled for if nothing may be run to find out.
pub(super) fn usual() -> Vec<OsString> {
    generate(&[USUAL])
}

/// The present ones that nvcc knows, or else one that most GPUs can use.
fn choose(known: &[u32], present: &[u32]) -> Vec<u32> {
    let common: Vec<u32> = present.iter().copied().filter(|number| known.contains(number)).collect();
    match (&common[..], known) {
        // The toolkit 10 cannot list what it knows.
        ([], []) => vec![70],
        ([], _) if known.contains(&USUAL) => vec![USUAL],
        ([], known) => vec![known[0]],
        (common, _) => common.to_vec(),
    }
}

fn generate(architectures: &[u32]) -> Vec<OsString> {
    let codes = architectures.iter().enumerate().map(|(index, number)| match index {
        0 => format!("arch=compute_{number},code=[compute_{number},sm_{number}]"),
        _ => format!("arch=compute_{number},code=sm_{number}"),
    });
    codes.flat_map(|code| ["-gencode".into(), code.into()]).collect()
}

/// The lines that are numbers, in order, each once.
fn numbers(text: &str) -> Vec<u32> {
    let mut numbers: Vec<u32> = text.lines().filter_map(|line| line.trim().parse().ok()).collect();
    numbers.sort_unstable();
    numbers.dedup();
    numbers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn present_gpus_are_compiled_for() {
        let known = [75, 80, 90, 120];
        let cases: [(&[u32], &[u32], &[u32]); 6] = [
            (&known, &[], &[80]),
            (&known, &[90], &[90]),
            (&known, &[80, 120], &[80, 120]),
            (&known, &[130], &[80]),
            (&[90, 120], &[], &[90]),
            (&[], &[], &[70]),
        ];
        for (known, present, expected) in cases {
            assert_eq!(choose(known, present), expected, "{known:?} {present:?}");
        }
        let arguments =
            ["-gencode", "arch=compute_80,code=[compute_80,sm_80]", "-gencode", "arch=compute_90,code=sm_90"];
        assert_eq!(generate(&[80, 90]), arguments.map(OsString::from));
        assert_eq!(numbers("120\n 90\n90\nN/A\n"), [90, 120]);
    }
}
