//! CUDA C: NVRTC compiles it for two generations of GPUs.

use std::collections::HashMap;

use opforge_cuda::Compiler;
use opforge_gpu::{Target, print};

use super::sources;

const TARGET: Target =
    Target { device: "cuda", fused: true, approximates: true, reorders: false, doubles: true, shared: 48 << 10 };

/// Kernels of a compilation: each in a namespace of its own.
const TOGETHER: usize = 64;

/// Texts in turn, so that every so many are tried: all of them with `OPFORGE_NVRTC=all`.
const EVERY: usize = 16;

#[test]
fn every_kernel_compiles_as_cuda() {
    let (texts, refused) = sources(TARGET, |kernel, op| print::cuda(kernel, op, TARGET.device));
    eprintln!("{} kernels in CUDA C; functions that it lacks: {:?}", texts.len(), refused.keys().collect::<Vec<_>>());
    assert!(texts.len() > 1500, "only {} kernels", texts.len());
    let compiler = match Compiler::get() {
        Ok(compiler) => compiler,
        Err(missing) => return eprintln!("skipped: {missing}"),
    };
    let whole = std::env::var("OPFORGE_NVRTC").is_ok_and(|text| text == "all");
    let mut texts: Vec<(String, String)> = texts.into_iter().collect();
    texts.sort();
    let every = if whole { 1 } else { EVERY };
    let is_chosen = |(i, (_, name)): &(usize, &(String, String))| i % every == 0 || name.starts_with("cube");
    let chosen: Vec<_> = texts.iter().enumerate().filter(is_chosen).map(|(_, source)| source).collect();
    assert!(chosen.iter().any(|(_, name)| name.starts_with("cube")), "an operator from elsewhere has no kernel");
    let (mut faults, mut compiled) = (HashMap::new(), 0);
    for part in chosen.chunks(TOGETHER) {
        let kernels = part.iter().enumerate().map(|(i, (text, name))| {
            // Names of kernels are C's, which know no namespaces.
            let text =
                text.replace("void __launch_bounds__(256) kernel(", &format!("void __launch_bounds__(256) kernel{i}("));
            format!("// {name}\nnamespace n{i} {{\n{text}}}\n")
        });
        let source = format!("{}\n{}", print::cuda_prelude(), kernels.collect::<String>());
        for architecture in ["sm_80", "sm_90"] {
            match compiler.compile("test", &source, architecture) {
                Ok(code) => assert!(code.len() > 1000, "{} bytes are no program", code.len()),
                Err(error) => {
                    faults.insert(part[0].1.clone(), error.to_string());
                }
            }
        }
        compiled += part.len();
    }
    eprintln!("{compiled} kernels were compiled for sm_80 and sm_90");
    assert!(faults.is_empty(), "{faults:#?}");
}
