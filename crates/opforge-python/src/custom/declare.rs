//! From keyword arguments to a declared operator.

use std::time::Duration;

use opforge::operator::Role;
use opforge::{DType, Result, Tensor};
use opforge_custom::CustomOp;
use pyo3::conversion::FromPyObjectOwned;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use super::rules::{self, Several, dtype_of, in_python};
use super::{PyCustomOp, attribute};
use crate::cell::Cell;
use crate::error::OrRaise;
use crate::tensor::PyTensor;

/// Keyword arguments; each is taken once, and what is left over is refused.
pub struct Options<'py> {
    /// Whose they are.
    of: &'static str,
    given: Option<Bound<'py, PyDict>>,
}

impl<'py> Options<'py> {
    pub fn new(of: &'static str, given: Option<&Bound<'py, PyDict>>) -> PyResult<Self> {
        Ok(Options { of, given: given.map(PyDictMethods::copy).transpose()? })
    }

    /// The argument, if it was given and is not None.
    pub fn take(&self, name: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
        let Some(given) = &self.given else { return Ok(None) };
        let found = given.get_item(name)?;
        if found.is_some() {
            given.del_item(name)?;
        }
        Ok(found.filter(|object| !object.is_none()))
    }

    /// Takes the argument into a place, if it was given and is not None.
    pub fn set<T: FromPyObjectOwned<'py>>(&self, name: &str, place: &mut T) -> PyResult<()> {
        if let Some(object) = self.take(name)? {
            *place = object.extract().map_err(Into::into)?;
        }
        Ok(())
    }

    /// The argument as a number of seconds, if it was given and is not None.
    pub fn seconds(&self, name: &str) -> PyResult<Option<Duration>> {
        let Some(object) = self.take(name)? else { return Ok(None) };
        let duration = Duration::try_from_secs_f64(object.extract()?);
        duration.map(Some).map_err(|error| PyValueError::new_err(format!("{name}: {error}")))
    }

    /// Whether the argument was given as something true.
    pub fn flag(&self, name: &str) -> PyResult<bool> {
        self.take(name)?.map_or(Ok(false), |object| object.is_truthy())
    }

    /// Refuses what was not taken.
    pub fn finish(self) -> PyResult<()> {
        match self.given.filter(|left| !left.is_empty()) {
            None => Ok(()),
            Some(left) => Err(PyTypeError::new_err(format!("{}: unexpected options {}", self.of, left.keys()))),
        }
    }
}

/// Declares an operator.
///
/// `func` is "path:Name", or a function `(tensors, attributes) -> tensors` of a tuple, a dict and a tuple. Options: `name`; `schema`; `inputs` and `outputs`
/// (their numbers) and `several` (whether they come as a tuple); `shapes` and `dtypes` ([`rules`]); `accepts` (combinations of dtypes, None for any);
/// `attributes` (a dict); `positional` (names of attributes that calls give behind the tensors); `gradient`
/// (`(inputs, outputs, grads, attributes, needs) -> gradients`, or another CustomOp); `fake` (as `func`, of tensors on the device "meta");
/// `axes` and `roles`; `effects`; `reload` (whether calls look for changes of the file); and those of [`super::load::load`].
pub fn declare(func: &Bound<'_, PyAny>, options: Option<&Bound<'_, PyDict>>) -> PyResult<PyCustomOp> {
    let py = func.py();
    let options = Options::new("CustomOp", options)?;
    let several = Several::default();
    let op = apply(py, body(func, &options)?, &several, &options)?;
    let mut positional = Vec::new();
    options.set("positional", &mut positional)?;
    let reload = options.flag("reload")?;
    options.finish()?;
    Ok(PyCustomOp { op: Cell::new(op), positional, several, reload })
}

/// The operator with further declarations.
pub fn redeclare(
    py: Python<'_>,
    op: CustomOp,
    several: &Several,
    options: Option<&Bound<'_, PyDict>>,
) -> PyResult<CustomOp> {
    let options = Options::new("CustomOp", options)?;
    let op = apply(py, op, several, &options)?;
    options.finish()?;
    Ok(op)
}

fn apply(py: Python<'_>, op: CustomOp, several: &Several, options: &Options<'_>) -> PyResult<CustomOp> {
    let op = with_signature(py, op, several, options)?;
    let op = with_rules(op, several, options)?;
    with_behaviour(py, op, options)
}

fn with_signature(py: Python<'_>, mut op: CustomOp, several: &Several, options: &Options<'_>) -> PyResult<CustomOp> {
    if let Some(name) = options.take("name")? {
        op = op.named(name.extract::<String>()?);
    }
    if let Some(schema) = options.take("schema")? {
        op = op.with_schema(&schema.extract::<String>()?).or_raise(py)?;
        several.note(op.schema().is_some_and(|schema| schema.several));
    }
    if let Some(attributes) = options.take("attributes")? {
        for (name, value) in attribute::extract_all(op.name(), &attributes.cast_into::<PyDict>()?)? {
            op = op.attr(name, value).or_raise(py)?;
        }
    }
    Ok(op)
}

fn with_rules(mut op: CustomOp, several: &Several, options: &Options<'_>) -> PyResult<CustomOp> {
    several.note(options.flag("several")?);
    if let Some(inputs) = options.take("inputs")? {
        op = op.inputs(inputs.extract()?);
    }
    if let Some(outputs) = options.take("outputs")? {
        op = op.outputs(outputs.extract()?);
    }
    if let Some(shapes) = options.take("shapes")? {
        op = op.shapes(rules::shape_rule(shapes, several)?);
    }
    if let Some(dtypes) = options.take("dtypes")? {
        op = op.dtypes(rules::dtype_rule(dtypes, several)?);
    }
    for combination in sequence(options.take("accepts")?)? {
        op = op.accepts(accepted(&combination)?);
    }
    Ok(op)
}

fn with_behaviour(py: Python<'_>, mut op: CustomOp, options: &Options<'_>) -> PyResult<CustomOp> {
    if let Some(gradient) = options.take("gradient")? {
        op = with_gradient(op, gradient).or_raise(py)?;
    }
    if let Some(fake) = options.take("fake")? {
        op = op.with_fake(function(fake.unbind()));
    }
    if let Some(axes) = options.take("axes")? {
        op = op.axes(&axes.extract::<String>()?, &roles(options.take("roles")?)?).or_raise(py)?;
    }
    if options.flag("effects")? {
        op = op.with_effects();
    }
    Ok(op)
}

/// The operator of a library, or of a function.
fn body(func: &Bound<'_, PyAny>, options: &Options<'_>) -> PyResult<CustomOp> {
    if !func.is_callable() {
        return super::load::load(func, options);
    }
    let name = func.getattr("__name__").and_then(|name| name.extract::<String>());
    let op = CustomOp::from_fn(name.unwrap_or_else(|_| "custom_op".to_owned()), function(func.clone().unbind()));
    Ok(op.untraced())
}

/// A function of Python's as an operator's.
pub fn function(
    function: Py<PyAny>,
) -> impl Fn(&[Tensor], &opforge_custom::Attributes) -> Result<Vec<Tensor>> + Send + Sync + 'static {
    move |inputs, attributes| {
        in_python(|py| {
            let result = function.bind(py).call1((tuple(py, inputs)?, attribute::dict(py, attributes.iter())?))?;
            result.try_iter()?.map(|item| Ok(PyTensor::of(item?.cast()?))).collect()
        })
    }
}

fn with_gradient(op: CustomOp, gradient: Bound<'_, PyAny>) -> Result<CustomOp> {
    if let Ok(other) = gradient.cast::<PyCustomOp>() {
        return op.gradient(opforge_custom::Gradient::Op(other.get().op.get(gradient.py())));
    }
    let function = gradient.unbind();
    op.gradient_by(move |context| {
        in_python(|py| {
            let args = (
                tuple(py, context.inputs)?,
                tuple(py, context.outputs)?,
                tuple(py, context.grads)?,
                attribute::dict(py, context.attributes.iter())?,
                PyTuple::new(py, context.needs)?,
            );
            function.bind(py).call1(args)?.try_iter()?.map(|item| PyTensor::optional(&item?)).collect()
        })
    })
}

fn tuple<'py>(py: Python<'py>, tensors: &[Tensor]) -> PyResult<Bound<'py, PyTuple>> {
    PyTuple::new(py, tensors.iter().cloned().map(PyTensor::from))
}

pub fn sequence(object: Option<Bound<'_, PyAny>>) -> PyResult<Vec<Bound<'_, PyAny>>> {
    object.map_or(Ok(Vec::new()), |object| object.try_iter()?.collect())
}

/// A combination of dtypes; None is any.
fn accepted(combination: &Bound<'_, PyAny>) -> PyResult<Vec<Option<DType>>> {
    let one = |item: Bound<'_, PyAny>| if item.is_none() { Ok(None) } else { dtype_of("accepts", &item).map(Some) };
    combination.try_iter()?.map(|item| one(item?)).collect()
}

/// What parts of an operator's inputs may make of its outputs, by name.
const ROLES: [(&str, Role); 8] = [
    ("map", Role::Map),
    ("sum", Role::Sum),
    ("product", Role::Product),
    ("max", Role::Max),
    ("min", Role::Min),
    ("any", Role::Any),
    ("all", Role::All),
    ("whole", Role::Whole),
];

/// `{"k": "sum"}` as the roles of axes.
fn roles(object: Option<Bound<'_, PyAny>>) -> PyResult<Vec<(char, Role)>> {
    let Some(object) = object else { return Ok(Vec::new()) };
    let role = |(letter, role): (Bound<'_, PyAny>, Bound<'_, PyAny>)| {
        let name = role.extract::<String>()?;
        let known = ROLES.iter().find(|(known, _)| *known == name).map(|(_, role)| *role);
        let accepted = || ROLES.map(|(name, _)| name).join(", ");
        let role = known.ok_or_else(|| PyValueError::new_err(format!("roles: {name:?} (accepted: {})", accepted())))?;
        Ok((letter.extract::<char>()?, role))
    };
    object.cast_into::<PyDict>()?.iter().map(role).collect()
}
