//! Texts that were changed at random: read or refused, and what is read runs or fails as any call does.

use std::collections::HashMap;
use std::sync::LazyLock;

use opforge::declaration::{Definition, Sample};
use opforge::{DType, Device, Error, Result, Tensor};
use opforge_graph::{DynamicGraph, Graph, Origin, Size, trace};
use opforge_runtime::Storage;
use proptest::prelude::*;

/// Graphs of more memory than this are read, and not run.
const MOST: usize = 1 << 24;

/// A sample's arguments.
fn arguments(definition: &Definition, sample: &Sample) -> Option<Vec<Tensor>> {
    let real = if definition.dtypes.contains(DType::F32) { DType::F32 } else { definition.dtypes.iter().next()? };
    sample.inputs.iter().map(|input| input.to_tensor(real, &Device::Cpu).ok()).collect()
}

/// A sample's call with its gradient, as text.
fn text(definition: &Definition, sample: &Sample) -> Option<String> {
    let given = arguments(definition, sample)?;
    let function = |given: &[Tensor]| {
        given.iter().filter(|x| x.dtype().is_float()).try_for_each(|x| x.set_requires_grad(true))?;
        sample.call_with_gradients(given)
    };
    trace(&given.iter().collect::<Vec<_>>(), function).ok().map(|graph| graph.to_string())
}

static TEXTS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let samples = opforge::registry::operators().into_iter();
    let texts = samples.flat_map(|d| (d.samples)().iter().filter_map(|sample| text(d, sample)).collect::<Vec<_>>());
    texts.collect()
});

/// A sample's call for any length of the first dimension, and of those that are as long, as text.
fn dynamic_text(definition: &Definition, sample: &Sample) -> Option<String> {
    let given = arguments(definition, sample)?;
    let length = *given.first()?.dims().first().filter(|length| **length > 1)?;
    let dims =
        given.iter().enumerate().flat_map(|(i, x)| x.dims().iter().enumerate().map(move |(dim, n)| (i, dim, *n)));
    let free: Vec<_> = dims.filter(|(.., n)| *n == length).map(|(i, dim, _)| (i, dim, "n")).collect();
    let call = |x: &[Tensor]| Ok(sample.call(&x.iter().collect::<Vec<_>>())?.into_iter().collect());
    let sizes = [Size { name: "n".into(), min: 2, max: 40 }];
    DynamicGraph::trace(&given.iter().collect::<Vec<_>>(), &sizes, &free, call).ok().map(|graph| graph.to_string())
}

static DYNAMIC_TEXTS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let samples = opforge::registry::operators().into_iter();
    let texts =
        samples.flat_map(|d| (d.samples)().iter().filter_map(|s| dynamic_text(d, s)).take(1).collect::<Vec<_>>());
    texts.collect()
});

/// Words, numbers and marks.
fn tokens(text: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let length = if is_word(first) { rest.find(|c| !is_word(c)).unwrap_or(rest.len()) } else { first.len_utf8() };
        let (token, after) = rest.split_at(length);
        tokens.push(token);
        rest = after;
    }
    tokens
}

const ODD: [&str; 14] =
    ["0", "1", "2", "3", "7", "33", "4294967296", "18446744073709551615", "-1", "nan", "inf", "true", "f64", "i64"];

/// The text with some tokens taken out, doubled, exchanged for others of it or of another text, or for odd ones.
fn changed(text: &str, other: &str, changes: &[(u8, usize, usize)]) -> String {
    let (mut own, others) = (tokens(text), tokens(other));
    for &(kind, at, which) in changes {
        if own.is_empty() {
            break;
        }
        let at = at % own.len();
        let is_number = |token: &&str| token.bytes().all(|b| b.is_ascii_digit());
        match kind % 6 {
            0 => drop(own.remove(at)),
            1 => own.insert(at, others[which % others.len()]),
            2 => own[at] = others[which % others.len()],
            3 => own[at] = own[which % own.len()],
            _ => {
                let numbers: Vec<usize> = (0..own.len()).filter(|&i| is_number(&own[i])).collect();
                own[numbers[at % numbers.len()]] = ODD[which % ODD.len()];
            }
        }
    }
    own.concat()
}

/// Zeros or ones with a layout of their own.
fn tensor(meta: &opforge::Meta, ones: bool) -> Result<Tensor> {
    let bytes = meta.layout.span() * meta.dtype.size_in_bytes();
    let storage = Storage::new(Device::Cpu, bytes)?;
    let flat = Tensor::over_storage(storage.clone(), DType::U8, opforge::Layout::contiguous(bytes))?;
    flat.zero_set()?;
    let tensor = Tensor::over_storage(storage, meta.dtype, meta.layout.clone())?;
    if ones && !meta.layout.may_overlap_itself() {
        tensor.copy_from(&tensor.ones_like()?)?;
    }
    Ok(tensor)
}

fn run(graph: Graph, ones: bool) -> Result<()> {
    let mut weights = HashMap::new();
    for value in graph.values() {
        if let Origin::Captured(captured) = &value.origin {
            weights.insert(captured.name().unwrap_or_default().to_owned(), tensor(captured.stored(), ones)?);
        }
    }
    let arguments = graph.inputs().iter().map(|x| tensor(&x.meta, ones)).collect::<Result<Vec<_>>>()?;
    let program = graph.bind(&weights)?.compile()?;
    for result in program.run(&arguments.iter().collect::<Vec<_>>())? {
        if result.elem_count() > 0 {
            result.flatten_all()?.get(0)?.to_dtype(DType::F64)?.to_scalar::<f64>()?;
        }
    }
    Ok(())
}

/// Reads a text; what can be read is written again as it was, and runs.
fn read(text: &str, ones: bool) {
    let graph = match Graph::parse(text) {
        Ok(graph) => graph,
        Err(error) => {
            assert!(matches!(error, Error::Format { .. }) && error.to_string().contains("line "), "{error}");
            return;
        }
    };
    let again = Graph::parse(&graph.to_string()).unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert_eq!(again.to_string(), graph.to_string());
    if graph.values().iter().map(|value| value.bytes).fold(0, usize::saturating_add) < MOST {
        // A call may fail, of course.
        let _ = run(graph, ones);
    }
}

/// Reads a text with free sizes; what can be read is a graph for some of them, or an error that names the line.
fn read_dynamic(text: &str, ones: bool) {
    let graph = match DynamicGraph::parse(text) {
        Ok(graph) => graph,
        Err(error) => {
            assert!(matches!(error, Error::Format { .. }) && error.to_string().contains("line "), "{error}");
            return;
        }
    };
    assert_eq!(DynamicGraph::parse(&graph.to_string()).unwrap().to_string(), graph.to_string());
    for n in [0, 3, 7, 1 << 50] {
        match graph.unbound(&vec![n; graph.sizes().len()]) {
            Ok(graph) if graph.values().iter().map(|value| value.bytes).fold(0, usize::saturating_add) < MOST => {
                let _ = run(graph, ones);
            }
            Ok(_) => {}
            Err(error) => assert!(error.to_string().contains("line "), "{error}\n{text}"),
        }
    }
}

/// They were written without their braces, as only what a text may say without them can be.
#[test]
fn numbers_that_are_no_lengths_keep_their_braces() {
    for number in ["{-1}", "{9223372036854775807*n+9223372036854775807}", "{(-4)/2}", "{(1)/2}"] {
        let text = DYNAMIC_TEXTS.iter().find(|text| text.contains("{n}")).unwrap();
        read_dynamic(&text.replacen("{n}", number, 1), false);
        read_dynamic(&text.replace("{n}", number), false);
    }
}

const CASES: u32 = if cfg!(debug_assertions) { 3000 } else { 30_000 };

proptest! {
    #![proptest_config(ProptestConfig::with_cases(CASES))]

    #[test]
    fn changed_tokens(
        which: (usize, usize), ones: bool,
        changes in prop::collection::vec((any::<u8>(), any::<usize>(), any::<usize>()), 1..4),
    ) {
        let text = &TEXTS[which.0 % TEXTS.len()];
        read(&changed(text, &TEXTS[which.1 % TEXTS.len()], &changes), ones);
    }

    #[test]
    fn changed_expressions(
        which: (usize, usize), ones: bool,
        changes in prop::collection::vec((any::<u8>(), any::<usize>(), any::<usize>()), 1..4),
    ) {
        let text = &DYNAMIC_TEXTS[which.0 % DYNAMIC_TEXTS.len()];
        read_dynamic(&changed(text, &DYNAMIC_TEXTS[which.1 % DYNAMIC_TEXTS.len()], &changes), ones);
    }

    #[test]
    fn changed_bytes(which: usize, changes in prop::collection::vec((any::<usize>(), any::<u8>(), 0u8..3), 1..4)) {
        let mut bytes = TEXTS[which % TEXTS.len()].clone().into_bytes();
        for (at, byte, kind) in changes {
            let at = at % bytes.len();
            match kind {
                0 => drop(bytes.remove(at)),
                1 => bytes.insert(at, byte % 128),
                _ => bytes[at] = byte % 128,
            }
        }
        read(&String::from_utf8(bytes).unwrap_or_default(), false);
    }
}
