//! WGSL: naga reads and validates it.

use naga::valid::{Capabilities, ValidationFlags, Validator};
use opforge_gpu::{Target, print};

use super::calls::found_in;
use super::sources;

const TARGET: Target =
    Target { device: "wgsl", fused: false, approximates: false, reorders: true, doubles: true, shared: 16 << 10 };

/// Why naga refuses a text.
fn fault(text: &str) -> Option<String> {
    let module = match naga::front::wgsl::parse_str(text) {
        Ok(module) => module,
        Err(error) => return Some(error.emit_to_string(text)),
    };
    let capabilities = Capabilities::FLOAT64 | Capabilities::SHADER_INT64;
    let checked = Validator::new(ValidationFlags::all(), capabilities).validate(&module);
    checked.err().map(|error| error.emit_to_string(text))
}

#[test]
fn every_kernel_is_valid_wgsl() {
    let (texts, refused) = sources(TARGET, |kernel, op| print::wgsl(kernel, op, TARGET.device));
    eprintln!("{} kernels in WGSL; functions that it lacks: {:?}", texts.len(), refused.keys().collect::<Vec<_>>());
    let texts: Vec<_> = texts.into_iter().collect();
    let faults = found_in(&texts, |(text, name)| fault(text).map(|fault| format!("{name}: {fault}")));
    assert!(faults.is_empty(), "{} of {}:\n{}", faults.len(), texts.len(), faults.join("\n"));
    assert!(texts.len() > 1500, "only {} kernels", texts.len());
}
