//! The walk over what functions read, and may change, besides the tensors that they are given: variables, attributes, items, and what these are of.
//!
//! Each object is visited once, in an order that depends on nothing but what there is.

use std::collections::hash_map::Entry;
use std::sync::Arc;

use opforge::Tensor;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyModule, PyString, PyTuple, PyType};
use rustc_hash::{FxHashMap, FxHashSet};

use super::classes::{Class, Holder, Kind, Rules};
use super::structure::is_plain;
use crate::tensor::PyTensor;

/// Functions, objects and containers that are looked into, one inside of the other; children of holders do not count.
const DEPTH: usize = 8;
/// Items of containers, and bytes of arrays, that are looked at; longer ones hold data.
const LENGTH: usize = 1024;
/// Objects in all.
const MOST: usize = 20_000;

/// What a walk tells of. `inside`: of a container or an object that is an attribute of a holder.
pub(super) trait See<'py> {
    /// The name of an attribute, a parameter or a child of a holder; `inside` as for what it names.
    fn name(&mut self, _name: &Bound<'py, PyAny>, _inside: bool) -> PyResult<()> {
        Ok(())
    }
    /// A number, a string or None.
    fn plain(&mut self, value: &Bound<'py, PyAny>, inside: bool) -> PyResult<()>;
    /// An object stands here, of which is told later.
    fn later(&mut self) {}
    /// What an array holds, or how many attributes of an object follow.
    fn bytes(&mut self, _bytes: &[u8]) {}
    fn tensor(&mut self, tensor: &Tensor);
    /// An object, the first time.
    fn object(&mut self, value: &Bound<'py, PyAny>, kind: &Kind) -> PyResult<()>;
    /// An object that was met before, as this one in order; None of more objects than are looked at.
    fn again(&mut self, value: &Bound<'py, PyAny>, place: Option<u32>);
    /// A list, a dictionary, a set or the like, of whatever length.
    fn container(&mut self, _value: &Bound<'py, PyAny>) {}
    /// What a name stands for in a dictionary, a module, a class or an object; without a name, what a variable of a closure holds.
    fn variable(&mut self, _owner: &Bound<'py, PyAny>, _name: Option<&Bound<'py, PyAny>>, _value: &Bound<'py, PyAny>) {}
}

enum Item<'py> {
    Value(Bound<'py, PyAny>),
    /// What users' own classes of a class have under names that calls of its objects, or code with these names, use.
    Methods(Arc<Class>, Option<Bound<'py, PyTuple>>),
}

/// Something to look into: as deep as this, and whether it is inside of a holder's attribute.
type Waiting<'py> = (Item<'py>, usize, bool);

pub(super) struct Walk<'a, 'py, V> {
    py: Python<'py>,
    rules: &'a Rules,
    see: &'a mut V,
    seen: FxHashMap<usize, u32>,
    /// What was met, so that no other object has its address meanwhile.
    alive: Vec<Bound<'py, PyAny>>,
    waiting: Vec<Waiting<'py>>,
}

/// Walks over a function and objects.
///
/// # Errors
/// Those of attributes that cannot be read.
pub(super) fn walk<'py, V: See<'py>>(
    rules: &Rules,
    function: &Bound<'py, PyAny>,
    objects: &Bound<'py, PyAny>,
    see: &mut V,
) -> PyResult<()> {
    let py = function.py();
    let mut walk = Walk { py, rules, see, seen: FxHashMap::default(), alive: Vec::new(), waiting: Vec::new() };
    walk.part(function.clone(), DEPTH, false)?;
    for object in objects.try_iter()? {
        walk.part(object?, DEPTH, false)?;
    }
    walk.waiting.reverse();
    while let Some((item, depth, inside)) = walk.waiting.pop() {
        let first = walk.waiting.len();
        match item {
            Item::Value(value) => walk.visit(value, depth, inside)?,
            Item::Methods(class, names) => walk.methods(&class, names, depth, inside)?,
        }
        walk.waiting[first..].reverse();
    }
    Ok(())
}

impl<'py, V: See<'py>> Walk<'_, 'py, V> {
    /// Tells of a part if it is plain, else later.
    fn part(&mut self, value: Bound<'py, PyAny>, depth: usize, inside: bool) -> PyResult<()> {
        if is_plain(&value) {
            return self.see.plain(&value, inside);
        }
        self.see.later();
        self.waiting.push((Item::Value(value), depth, inside));
        Ok(())
    }

    fn parts(
        &mut self,
        values: impl IntoIterator<Item = Bound<'py, PyAny>>,
        depth: usize,
        inside: bool,
    ) -> PyResult<()> {
        values.into_iter().try_for_each(|value| self.part(value, depth, inside))
    }

    /// Methods of a class, if users have written some, that code with these names uses.
    fn methods_of(
        &mut self,
        class: &Bound<'py, PyType>,
        names: Option<Bound<'py, PyTuple>>,
        depth: usize,
        inside: bool,
    ) -> PyResult<()> {
        let class = self.rules.class(class)?;
        self.methods_later(class, names, depth, inside);
        Ok(())
    }

    fn methods_later(&mut self, class: Arc<Class>, names: Option<Bound<'py, PyTuple>>, depth: usize, inside: bool) {
        if !class.own.is_empty() {
            self.waiting.push((Item::Methods(class, names), depth, inside));
        }
    }

    fn visit(&mut self, value: Bound<'py, PyAny>, depth: usize, inside: bool) -> PyResult<()> {
        let class = self.rules.class(&value.get_type())?;
        if matches!(class.kind, Kind::Tensor) {
            self.see.tensor(&PyTensor::of(value.cast::<PyTensor>()?));
            return Ok(());
        }
        let count = self.alive.len() as u32;
        match self.seen.entry(value.as_ptr() as usize) {
            Entry::Occupied(met) => {
                self.see.again(&value, Some(*met.get()));
                return Ok(());
            }
            Entry::Vacant(_) if self.alive.len() > MOST => {
                self.see.again(&value, None);
                return Ok(());
            }
            Entry::Vacant(place) => _ = place.insert(count),
        }
        self.alive.push(value.clone());
        self.see.object(&value, &class.kind)?;
        if let Kind::Holder(holder) = &class.kind {
            self.methods_later(Arc::clone(&class), None, depth.saturating_sub(1), false);
            return self.holder(&value, holder, depth);
        }
        let Some(below) = depth.checked_sub(1) else { return Ok(()) };
        match &class.kind {
            Kind::Tensor | Kind::Holder(_) | Kind::Other => Ok(()),
            Kind::Function => self.function(&value, below, inside),
            Kind::Method => self.method(&value, below, inside),
            Kind::Partial => self.partial(&value, below, inside),
            Kind::Dict => self.dict(value.cast::<PyDict>()?, below, inside),
            Kind::Items => self.items(&value, below, inside),
            Kind::Array => self.array(&value),
            Kind::Object(slots) => self.users(&value, slots, below, inside),
        }
    }

    /// A module, a cell or a graph: its tensors, its children, and its other attributes.
    fn holder(&mut self, value: &Bound<'py, PyAny>, holder: &Holder, depth: usize) -> PyResult<()> {
        let py = value.py();
        let own = value.getattr(intern!(py, "__dict__"))?.cast_into::<PyDict>()?;
        let tables = holder.tensors.iter().chain(&holder.children);
        for name in tables.clone() {
            let table = match own.get_item(name)? {
                Some(table) => table,
                None => value.getattr(name)?,
            };
            let table = table.cast_into::<PyDict>()?;
            self.see.container(&table);
            for (name, item) in table.iter() {
                self.see.name(&name, true)?;
                if !item.is_none() {
                    self.part(item, depth, false)?;
                }
            }
        }
        self.see.container(&own);
        let Some(below) = depth.checked_sub(1) else { return Ok(()) };
        for (name, item) in own.iter() {
            if is_plain(&item) {
                self.see.name(&name, false)?;
                self.see.plain(&item, false)?;
            } else if !holder.skips(&name)? && !tables.clone().any(|table| table.as_ptr() == name.as_ptr()) {
                self.see.name(&name, true)?;
                match item.cast_exact::<PyDict>() {
                    // As most tables of hooks are, which are many.
                    Ok(table) if table.is_empty() => self.see.container(&item),
                    _ => self.part(item, below, true)?,
                }
            }
        }
        Ok(())
    }

    /// What a function of a users' package has: its code, its variables, and its defaults.
    fn function(&mut self, value: &Bound<'py, PyAny>, depth: usize, inside: bool) -> PyResult<()> {
        let py = value.py();
        if !self.rules.is_users(&value.getattr(intern!(py, "__module__"))?)? {
            return Ok(());
        }
        let code = value.getattr(intern!(py, "__code__"))?;
        let names = code.getattr(intern!(py, "co_names"))?.cast_into::<PyTuple>()?;
        let variables = value.getattr(intern!(py, "__globals__"))?.cast_into::<PyDict>()?;
        self.part(code, 0, inside)?;
        for name in &names {
            if let Some(found) = variables.get_item(&name)? {
                self.named(&variables, &name, found, &names, depth, inside)?;
            }
        }
        if let Ok(cells) = value.getattr(intern!(py, "__closure__"))?.cast::<PyTuple>() {
            for cell in cells {
                let Ok(content) = cell.getattr(intern!(py, "cell_contents")) else { continue };
                self.see.variable(&cell, None, &content);
                let class = content.get_type();
                self.part(content, depth, inside)?;
                self.methods_of(&class, Some(names.clone()), depth, inside)?;
            }
        }
        if let Ok(defaults) = value.getattr(intern!(py, "__defaults__"))?.cast::<PyTuple>() {
            self.parts(defaults, depth, inside)?;
        }
        if let Ok(defaults) = value.getattr(intern!(py, "__kwdefaults__"))?.cast::<PyDict>() {
            self.parts(defaults.iter().map(|(_, value)| value), depth, inside)?;
        }
        Ok(())
    }

    /// What a name stands for in a function's globals, and what it is taken to be for in a users' module or class: `K` of `settings.K`.
    fn named(
        &mut self,
        variables: &Bound<'py, PyDict>,
        name: &Bound<'py, PyAny>,
        value: Bound<'py, PyAny>,
        names: &Bound<'py, PyTuple>,
        depth: usize,
        inside: bool,
    ) -> PyResult<()> {
        let py = value.py();
        let class = value.cast::<PyType>().ok().cloned();
        let of = match (&class, value.is_instance_of::<PyModule>()) {
            (Some(_), _) => intern!(py, "__module__"),
            (None, true) => intern!(py, "__name__"),
            (None, false) => {
                self.see.variable(variables, Some(name), &value);
                let class = value.get_type();
                self.part(value, depth, inside)?;
                return self.methods_of(&class, Some(names.clone()), depth, inside);
            }
        };
        if !self.rules.is_users(&value.getattr(of)?)? {
            return Ok(());
        }
        let attributes = value.getattr(intern!(py, "__dict__"))?;
        for name in names {
            let Some(found) = item_of(&attributes, &name)? else { continue };
            if !found.is_instance_of::<PyModule>() {
                self.see.variable(&value, Some(&name), &found);
                self.part(found, depth, inside)?;
            }
        }
        class.map_or(Ok(()), |class| self.methods_of(&class, Some(names.clone()), depth, inside))
    }

    /// The functions of users' own classes under names that calls use, and under those that these name in turn.
    fn methods(
        &mut self,
        class: &Class,
        names: Option<Bound<'py, PyTuple>>,
        depth: usize,
        inside: bool,
    ) -> PyResult<()> {
        let py = self.py;
        let mut waiting: Vec<Bound<'py, PyAny>> = ["forward", "__call__", "construct", "build"]
            .map(|name| PyString::intern(py, name).into_any())
            .into_iter()
            .chain(names.iter().flatten())
            .collect();
        let spaces = class.own.iter().map(|own| own.bind(py).getattr(intern!(py, "__dict__")));
        let spaces = spaces.collect::<PyResult<Vec<_>>>()?;
        // Names of code are interned.
        let mut done = FxHashSet::default();
        while let Some(name) = waiting.pop() {
            if !done.insert(name.as_ptr() as usize) {
                continue;
            }
            for (space, own) in spaces.iter().zip(&class.own) {
                let Some(value) = item_of(space, &name)? else { continue };
                let inner = match value.getattr_opt(intern!(py, "__func__"))? {
                    Some(function) => Some(function),
                    None => value.getattr_opt(intern!(py, "fget"))?.filter(|getter| !getter.is_none()),
                };
                if inner.is_none() && value.getattr_opt(intern!(py, "__get__"))?.is_none() {
                    self.see.variable(own.bind(py), Some(&name), &value);
                }
                let function = inner.unwrap_or(value);
                if let Some(code) = function.getattr_opt(intern!(py, "__code__"))?
                    && let Ok(names) = code.getattr(intern!(py, "co_names"))?.cast::<PyTuple>()
                {
                    waiting.extend(names);
                }
                self.part(function, depth, inside)?;
                break;
            }
        }
        Ok(())
    }

    fn method(&mut self, value: &Bound<'py, PyAny>, depth: usize, inside: bool) -> PyResult<()> {
        let py = value.py();
        let (function, object) = (value.getattr(intern!(py, "__func__"))?, value.getattr(intern!(py, "__self__"))?);
        let names = match function.getattr_opt(intern!(py, "__code__"))? {
            Some(code) => code.getattr(intern!(py, "co_names"))?.cast_into::<PyTuple>().ok(),
            None => None,
        };
        let class = object.get_type();
        self.parts([function, object], depth, inside)?;
        self.methods_of(&class, names, depth, inside)
    }

    fn partial(&mut self, value: &Bound<'py, PyAny>, depth: usize, inside: bool) -> PyResult<()> {
        let py = value.py();
        self.part(value.getattr(intern!(py, "func"))?, depth, inside)?;
        self.parts(value.getattr(intern!(py, "args"))?.cast::<PyTuple>()?, depth, inside)?;
        let keywords = value.getattr(intern!(py, "keywords"))?.cast_into::<PyDict>()?;
        self.parts(keywords.iter().map(|(_, value)| value), depth, inside)
    }

    fn dict(&mut self, value: &Bound<'py, PyDict>, depth: usize, inside: bool) -> PyResult<()> {
        self.see.container(value);
        if value.len() > LENGTH {
            return Ok(());
        }
        self.parts(value.iter().flat_map(|(name, item)| [name, item]), depth, inside)
    }

    fn items(&mut self, value: &Bound<'py, PyAny>, depth: usize, inside: bool) -> PyResult<()> {
        self.see.container(value);
        if value.len()? > LENGTH {
            return Ok(());
        }
        value.try_iter()?.try_for_each(|item| self.part(item?, depth, inside))
    }

    /// What a small array, or a number of NumPy's, holds.
    fn array(&mut self, value: &Bound<'py, PyAny>) -> PyResult<()> {
        let py = value.py();
        let Some(size) = value.getattr_opt(intern!(py, "nbytes"))? else { return Ok(()) };
        let has_objects = || value.getattr(intern!(py, "dtype"))?.getattr(intern!(py, "hasobject"))?.is_truthy();
        if size.extract::<usize>()? <= LENGTH && !has_objects()? {
            self.see.container(value);
            self.see.bytes(value.call_method0(intern!(py, "tobytes"))?.extract()?);
        }
        Ok(())
    }

    /// A users' object: its attributes, those in slots too.
    fn users(&mut self, value: &Bound<'py, PyAny>, slots: &[Py<PyString>], depth: usize, inside: bool) -> PyResult<()> {
        let py = value.py();
        if let Some(own) = value.getattr_opt(intern!(py, "__dict__"))?
            && let Ok(own) = own.cast_exact::<PyDict>()
        {
            self.see.bytes(&own.len().to_ne_bytes());
            self.dict(own, depth, inside)?;
        }
        for name in slots {
            let name = name.bind(py);
            if let Some(item) = value.getattr_opt(name)? {
                self.see.variable(value, Some(name), &item);
                self.part(item, depth, inside)?;
            }
        }
        Ok(())
    }
}

/// What a dictionary, or a view of a class's, has under a name.
fn item_of<'py>(mapping: &Bound<'py, PyAny>, name: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    match mapping.cast::<PyDict>() {
        Ok(dict) => dict.get_item(name),
        Err(_) if mapping.contains(name)? => mapping.get_item(name).map(Some),
        Err(_) => Ok(None),
    }
}
