//! The order of modules: each names those of its own layer and of the layers below it only.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

type Layers = &'static [&'static [&'static str]];

/// This crate's, from the bottom up. Modules of one layer know each other: a tensor has a place in the graph, whose nodes hold operators, whose
/// gradients are made of tensors; an operator's function composes others, which call operators.
const OPFORGE: Layers = &[
    &["tensor", "operator", "autograd"],
    &["devices"],
    &["fusion"],
    &["dispatch"],
    &["arguments"],
    &["declaration"],
    &["family"],
    &["ops", "functional"],
    &["methods", "registry"],
    &["custom_op", "io", "module", "test_utils"],
    &["quantized", "streaming", "utils"],
];

/// Those of the kernels: here no two know each other.
const CPU: Layers = &[
    &["simd", "memory"],
    &["copy"],
    &["loops", "elementwise", "arange"],
    &["matmul", "reduce", "rows", "overlay", "random", "sort", "dense", "quantized"],
    &["norm", "scan", "index", "conv", "recurrent", "fourier", "distance"],
    &["attention", "pool", "resample", "sample"],
    &["forms", "program"],
    &["internals"],
];

#[test]
fn modules_name_those_below_them_only() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    assert_eq!(upwards(&crates.join("opforge/src"), OPFORGE), BTreeSet::new());
    assert_eq!(upwards(&crates.join("opforge-cpu/src"), CPU), BTreeSet::new());
}

/// Kernels' modules of one layer do not name each other.
#[test]
fn kernels_know_nothing_of_their_neighbours() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let apart: Vec<Vec<&str>> = CPU.iter().flat_map(|layer| layer.iter().map(|module| vec![*module])).collect();
    let apart: Vec<&[&str]> = apart.iter().map(Vec::as_slice).collect();
    assert_eq!(upwards(&crates.join("opforge-cpu/src"), &apart), BTreeSet::new());
}

/// What a crate's modules name of higher layers.
fn upwards(src: &Path, layers: &[&[&str]]) -> BTreeSet<String> {
    let layer = |module: &str| layers.iter().position(|layer| layer.contains(&module));
    let mut found = BTreeSet::new();
    for file in sources(src) {
        let module = module_of(src, &file);
        if module == "lib" {
            continue;
        }
        let own = layer(&module).unwrap_or_else(|| panic!("{module} is in no layer"));
        let text = fs::read_to_string(&file).unwrap();
        for named in names(&text) {
            if layer(&named).is_some_and(|other| other > own) {
                found.insert(format!("{} names {named}", file.strip_prefix(src).unwrap().display()));
            }
        }
    }
    found
}

#[test]
fn names_are_found_in_imports_and_paths() {
    let text = "use crate::{Tensor, ops::{self, add}, io};\nfn f() { crate::family::g(); }\n// crate::module";
    assert_eq!(names(text), ["Tensor", "ops", "io", "family"]);
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { sources(&path) } else { vec![path] }).collect()
}

fn module_of(src: &Path, file: &Path) -> String {
    let first = file.strip_prefix(src).unwrap().components().next().unwrap();
    Path::new(first.as_os_str()).file_stem().unwrap().to_str().unwrap().to_owned()
}

/// What follows `crate::` in code: one name, or those of a list in braces.
fn names(text: &str) -> Vec<String> {
    let code: String =
        text.lines().map(|line| line.split("//").next().unwrap_or_default()).collect::<Vec<_>>().join("\n");
    code.split("crate::").skip(1).flat_map(heads).collect()
}

fn heads(rest: &str) -> Vec<String> {
    let word = |text: &str| text.trim().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>();
    let Some(list) = rest.strip_prefix('{') else { return vec![word(rest)] };
    let (mut depth, mut heads, mut start) = (0, Vec::new(), 0);
    for (i, c) in list.char_indices() {
        match c {
            ',' | '}' if depth == 0 => {
                heads.push(word(&list[start..i]));
                start = i + 1;
                if c == '}' {
                    break;
                }
            }
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
    }
    heads.retain(|head| !head.is_empty());
    heads
}
