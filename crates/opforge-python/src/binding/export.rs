//! Puts the declared functions where their faces say: the module itself, its submodules, the tensor class.

use std::collections::HashMap;

use opforge::declaration::{Faces, Function};
use opforge::registry::functions;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyFrozenSet;

use super::entry::{Entry, Form, register};
use super::{Signature, doc, native};
use crate::tensor::PyTensor;

/// Which functions belong somewhere.
type Belongs = fn(&Faces) -> bool;

/// The places where functions are shown: a submodule's name (empty for the module itself) and which functions belong there.
const PLACES: [(&str, Belongs); 5] = [
    ("", |f| f.torch || f.hidden),
    ("nn", |f| f.nn),
    ("linalg", |f| f.linalg),
    ("special", |f| f.special),
    ("fft", |f| f.fft),
];

/// The functions of one place by Python name, overloads together, in order.
fn by_name(
    signatures: &[&'static Signature],
    belongs: impl Fn(&Faces) -> bool,
) -> Vec<(&'static str, Vec<&'static Signature>)> {
    let mut names: Vec<(&'static str, Vec<&'static Signature>)> = Vec::new();
    let mut places: HashMap<&'static str, usize> = HashMap::new();
    for signature in signatures.iter().filter(|s| belongs(&s.function.faces())) {
        let name = signature.function.python_name();
        let place = *places.entry(name).or_insert_with(|| {
            names.push((name, Vec::new()));
            names.len() - 1
        });
        names[place].1.push(signature);
    }
    names
}

/// The names that the package does not pass on to its users.
fn hidden(signatures: &[&'static Signature]) -> Vec<&'static str> {
    let names = by_name(signatures, |f| f.torch || f.hidden).into_iter();
    names.filter(|(_, overloads)| overloads.iter().all(|s| !s.function.faces().torch)).map(|(name, _)| name).collect()
}

fn leak(name: &'static str, form: Form, overloads: Vec<&'static Signature>) -> &'static Entry {
    Box::leak(Box::new(Entry { name, form, overloads, object: PyOnceLock::new() }))
}

/// A function as `nn.functional` shows it: with `inplace` if it has an in-place form.
fn in_module(py: Python<'_>, signature: &'static Signature) -> PyResult<&'static Signature> {
    if !gains_inplace(signature.function) {
        return Ok(signature);
    }
    Ok(Box::leak(Box::new(Signature::with_inplace(py, signature.function)?)))
}

/// Whether a function has an in-place form, and no parameter of its own that asks for it.
pub fn gains_inplace(function: &Function) -> bool {
    let faces = function.faces();
    (faces.in_place || faces.inplace) && function.params.iter().all(|p| p.name != "inplace")
}

pub fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    let signature =
        |f: &'static Function| -> PyResult<&'static Signature> { Ok(Box::leak(Box::new(Signature::new(py, f)?))) };
    let signatures = functions().into_iter().map(signature).collect::<PyResult<Vec<_>>>()?;
    for (place, belongs) in PLACES {
        let target =
            if place.is_empty() { module.clone() } else { PyModule::new(py, &format!("opforge._core.{place}"))? };
        for (name, mut overloads) in by_name(&signatures, belongs) {
            if place == "nn" {
                overloads = overloads.into_iter().map(|s| in_module(py, s)).collect::<PyResult<_>>()?;
            }
            let entry = leak(name, Form::Plain, overloads);
            let function = native::new_function(&target, name, &doc::of(name, &entry.overloads, false), entry)?;
            let _ = entry.object.set(py, function.clone().unbind());
            target.add(name, function)?;
        }
        if !place.is_empty() {
            py.import("sys")?.getattr("modules")?.set_item(target.name()?, &target)?;
            module.add(place, target)?;
        }
    }
    module.add("_hidden", PyFrozenSet::new(py, hidden(&signatures))?)?;
    let (mut entries, mut declared) = (Vec::new(), Vec::new());
    let class = py.get_type::<PyTensor>();
    for (form, belongs) in [(Form::Plain, (|f| f.method) as Belongs), (Form::InPlace, |f| f.in_place)] {
        for (name, overloads) in by_name(&signatures, belongs) {
            let entry = leak(name, form, overloads);
            let shown = if form == Form::InPlace { format!("{name}_") } else { name.to_owned() };
            let method = native::new_method(&class, &shown, &doc::of(&shown, &entry.overloads, true), entry)?;
            let _ = entry.object.set(py, method.clone().unbind());
            class.setattr(shown.as_str(), method)?;
            declared.push(shown);
            entries.push(entry);
        }
    }
    module.add("_declared_methods", PyFrozenSet::new(py, declared)?)?;
    register(py, entries);
    Ok(())
}
