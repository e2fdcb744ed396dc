//! Loading an operator, and declaring what is to be known of it.

use std::collections::HashSet;
use std::fmt::Display;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use opforge::operator::Role;
use opforge::{DType, Error, Result, Tensor};

use super::changes::Changes;
use super::{Body, Bounds, CustomOp, DTypeRule, Gradient, Hold, Lengths, ShapeRule, Spec};
use crate::attribute::{Attribute, Attributes};
use crate::in_process::InProcess;
use crate::isolate::{Isolated, Isolation};
use crate::library::Place;
use crate::runner::Runner;
use crate::schema::Schema;

impl CustomOp {
    /// The operator that a runner has.
    pub(crate) fn with_runner(place: Place, runner: Arc<dyn Runner>) -> Self {
        CustomOp { hold: Some(Hold::new(runner.clone())), ..Self::from_body(place, Body::Kernel(runner)) }
    }

    /// The operator `function` in a library that is opened as it is, without a look at the allow-list.
    ///
    /// # Errors
    /// The dynamic loader's message; a missing main function.
    #[doc(hidden)]
    pub fn open(file: &Path, function: &str) -> Result<Self> {
        let place = Place::new(file, function);
        let runner = Arc::new(InProcess::open(file, &place)?);
        Ok(Self::with_runner(place, runner))
    }

    /// As [`CustomOp::open`], but the library is opened in a process of its own: see [`CustomOp::isolated`].
    ///
    /// # Errors
    /// As [`CustomOp::open`] and [`CustomOp::isolated`].
    #[doc(hidden)]
    pub fn open_isolated(file: &Path, function: &str, limit: Option<Duration>) -> Result<Self> {
        let place = Place::new(file, function);
        let runner = Arc::new(Isolated::open(file, &place, &limit.into())?);
        Ok(Self::with_runner(place, runner))
    }

    /// An operator that is a function of tensors. It runs on the calling thread and records nothing itself: declare its
    /// [gradient](CustomOp::gradient).
    ///
    /// ```
    /// use opforge::{Device, Tensor};
    /// use opforge_custom::CustomOp;
    /// # fn main() -> opforge::Result<()> {
    /// let twice = CustomOp::from_fn("twice", |x, _| Ok(vec![(&x[0] + &x[0])?]));
    /// assert_eq!(twice.apply(&[&Tensor::new(&[1f32, 2.0], &Device::Cpu)?])?.to_vec1::<f32>()?, [2.0, 4.0]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn from_fn(
        name: impl Into<String>,
        function: impl Fn(&[Tensor], &Attributes) -> Result<Vec<Tensor>> + Send + Sync + 'static,
    ) -> Self {
        let op = name.into();
        let place = Place { library: "a function".to_owned(), function: op.clone(), op };
        Self::from_body(place, Body::Function { run: Arc::new(function), fake: None, traced: true })
    }

    /// Has an operator that is a function be a call in graphs, which runs the function each time, as far as fakes or rules tell its outputs: else a graph
    /// has the calls that the function makes when it is traced, and what it computes otherwise would be missing.
    pub fn untraced(self) -> Self {
        self.changed(|spec| {
            if let Body::Function { traced, .. } = &mut spec.body {
                *traced = false;
            }
        })
    }

    /// Declares what an operator that is a function gives for tensors on [`opforge::Device::Meta`], which have shapes and dtypes only.
    pub fn with_fake(
        self,
        function: impl Fn(&[Tensor], &Attributes) -> Result<Vec<Tensor>> + Send + Sync + 'static,
    ) -> Self {
        self.changed(|spec| {
            if let Body::Function { fake, .. } = &mut spec.body {
                *fake = Some(Arc::new(function));
            }
        })
    }

    fn from_body(place: Place, body: Body) -> Self {
        let spec = Spec {
            name: interned(&place.op),
            place,
            body,
            schema: None,
            changes: Changes::default(),
            inputs: None,
            outputs: None,
            shapes: ShapeRule::default(),
            dtypes: DTypeRule::default(),
            accepted: Vec::new(),
            attributes: Vec::new(),
            gradient: None,
            axes: None,
            effects: false,
            origin: None,
        };
        CustomOp { spec: Arc::new(spec), bounds: Arc::default(), hold: None, further_holds: Vec::new() }
    }

    /// The same operator, declared otherwise. What it has been called with before is prepared anew.
    pub(super) fn changed(mut self, change: impl FnOnce(&mut Spec)) -> Self {
        change(Arc::make_mut(&mut self.spec));
        self.bounds = Arc::new(Bounds::default());
        self
    }

    fn invalid(&self, argument: &'static str, given: impl Display, accepted: impl Display) -> Error {
        Error::value(self.name(), argument, given, accepted)
    }

    /// Gives the operator a name of its own; else it has its function's.
    pub fn named(self, name: impl Into<String>) -> Self {
        let name = name.into();
        self.changed(|spec| {
            spec.name = interned(&name);
            spec.place.op = name;
        })
    }

    /// Fixes an attribute.
    ///
    /// # Errors
    /// For a name that the schema does not have, or a value that is not of the schema's type.
    pub fn attr(self, name: impl Into<String>, value: impl Into<Attribute>) -> Result<Self> {
        let (name, mut value) = (name.into(), value.into());
        if let Some(schema) = &self.spec.schema {
            value = super::bind::checked(&self.spec, schema, &name, value)?;
        }
        Ok(self.changed(|spec| {
            spec.attributes.retain(|(own, _)| *own != name);
            spec.attributes.push((name, value));
        }))
    }

    /// Runs the library's functions in a process of their own, where they cannot harm this one: a crash, an abort, an exit, a write beside the
    /// outputs or into an input, and a function that takes longer than `limit` (`None`: 60 seconds) are errors, and the next call works. So is more
    /// memory than [`CustomOp::isolated_with`] allows.
    ///
    /// That process can send no signals to others, nor get at their memory ([`CustomOp::isolation_gaps`] says where the system cannot prevent it). It
    /// remains a process of this user's, which may write files, use the network and start processes that can do as little: isolation is for kernels
    /// with mistakes, not for those of enemies.
    ///
    /// The process lives as long as the operator and runs one call at a time. Tensors are copied there and back, so it takes about as much
    /// memory as the largest call. A library that must not be opened here at all is opened isolated from the start.
    ///
    /// # Errors
    /// For an operator that is a function; when no process can be started, or the library cannot be opened there; for a limit of no time.
    pub fn isolated(self, limit: Option<Duration>) -> Result<Self> {
        self.isolated_with(&limit.into())
    }

    /// As [`CustomOp::isolated`], with limits of time and memory.
    ///
    /// # Errors
    /// As [`CustomOp::isolated`], and for less memory than a process needs.
    ///
    /// ```no_run
    /// use opforge_custom::{CustomOp, Isolation};
    ///
    /// let add = CustomOp::load("add.cc:Add")?.isolated_with(&Isolation { memory: Some(1 << 30), ..Isolation::default() })?;
    /// # Ok::<(), opforge::Error>(())
    /// ```
    pub fn isolated_with(self, limits: &Isolation) -> Result<Self> {
        let Body::Kernel(runner) = &self.spec.body else {
            return Err(self.invalid("isolated", "a function of tensors", "an operator in a library"));
        };
        let isolated = runner.isolate(&self.spec.place, limits)?;
        let mut op = self;
        op.hold = Some(Hold::new(isolated.clone()));
        Ok(op.changed(|spec| {
            spec.body = Body::Kernel(isolated);
            spec.origin = spec.origin.take().map(|origin| origin.isolated(*limits));
        }))
    }

    /// For an isolated operator: what its process could do to other processes, and why this system cannot prevent it; `None` where it
    /// prevents all.
    pub fn isolation_gaps(&self) -> Option<String> {
        match &self.spec.body {
            Body::Kernel(runner) => runner.gaps(),
            Body::Function { .. } => None,
        }
    }

    /// Declares parameters and results, in the notation of [`Schema`]. Attributes that were fixed before are checked against it.
    ///
    /// # Errors
    /// For what is no schema, or contradicts what was declared before.
    pub fn with_schema(self, schema: &str) -> Result<Self> {
        let schema: Schema = schema.parse()?;
        if schema.tensors().any(|(_, changed)| changed) && self.has_gradient() {
            return Err(self.invalid("schema", schema, "no changes in place: the operator has a gradient"));
        }
        let fixed = self.spec.attributes.clone();
        let declared = self.changed(|spec| {
            spec.changes = Changes::of(&schema);
            spec.schema = Some(schema);
            spec.attributes.clear();
        });
        fixed.into_iter().try_fold(declared, |op, (name, value)| op.attr(name, value))
    }

    /// Declares how many inputs there are; else the schema or the accepted combinations tell, or it is any number.
    pub fn inputs(self, count: usize) -> Self {
        self.changed(|spec| spec.inputs = Some(count))
    }

    /// Declares how many outputs there are; else the schema or the shapes tell, or it is one.
    pub fn outputs(self, count: usize) -> Self {
        self.changed(|spec| spec.outputs = Some(count))
    }

    /// Declares the outputs' shapes.
    pub fn shapes(self, rule: ShapeRule) -> Self {
        self.changed(|spec| spec.shapes = rule)
    }

    /// Declares the outputs' shapes by a function of the inputs': [`ShapeRule::Function`].
    pub fn shapes_by(
        self,
        rule: impl Fn(&[Lengths], &Attributes) -> Result<Vec<Lengths>> + Send + Sync + 'static,
    ) -> Self {
        self.shapes(ShapeRule::Function(Arc::new(rule)))
    }

    /// Declares the outputs' dtypes.
    pub fn dtypes(self, rule: DTypeRule) -> Self {
        self.changed(|spec| spec.dtypes = rule)
    }

    /// Declares one more combination of dtypes that is accepted: of the inputs, then of the outputs. `None` stands for any dtype.
    pub fn accepts(self, combination: Vec<Option<DType>>) -> Self {
        self.changed(|spec| spec.accepted.push(combination))
    }

    /// Declares the gradient.
    ///
    /// # Errors
    /// For an operator that changes tensors in place: what its backward would read is no longer there.
    pub fn gradient(mut self, mut gradient: Gradient) -> Result<Self> {
        if self.spec.changes.any() {
            let given = "of an operator that changes its inputs";
            return Err(self.invalid("gradient", given, "one that makes new outputs"));
        }
        if let Gradient::Op(op) = &mut gradient {
            self.further_holds.extend(op.hold.take());
            self.further_holds.append(&mut op.further_holds);
        }
        Ok(self.changed(|spec| spec.gradient = Some(gradient)))
    }

    /// Declares the gradient as a function: [`Gradient::Function`].
    ///
    /// # Errors
    /// As [`CustomOp::gradient`].
    pub fn gradient_by(
        self,
        function: impl Fn(&super::GradientContext<'_>) -> Result<Vec<Option<Tensor>>> + Send + Sync + 'static,
    ) -> Result<Self> {
        self.gradient(Gradient::Function(Arc::new(function)))
    }

    /// Declares how axes flow from inputs to outputs, so that the operator can be split: `"mk,kn->mn"` with the role of each letter that is not
    /// independent, `&[('k', Role::Sum)]`. A `.` is a dimension that takes no part.
    ///
    /// # Errors
    /// For a text without an arrow, or with something else than letters; roles whose parts must know where they lie in the whole.
    pub fn axes(self, text: &str, roles: &[(char, Role)]) -> Result<Self> {
        let is_valid = |(left, right): (&str, &str)| {
            [left, right].iter().all(|side| side.chars().all(|c| c.is_alphabetic() || c == ',' || c == '.'))
        };
        if !text.split_once("->").is_some_and(is_valid) {
            return Err(self.invalid("axes", format!("{text:?}"), "letters for dimensions, such as \"mk,kn->mn\""));
        }
        if let Some((letter, role)) = roles.iter().find(|(_, role)| role.needs_place()) {
            let given = format!("{letter:?} as {role:?}");
            return Err(self.invalid("axes", given, "roles whose parts need not know where they lie"));
        }
        let axes = (text.to_owned(), roles.to_vec());
        Ok(self.changed(|spec| spec.axes = Some(axes)))
    }

    /// Declares that the operator does more than computing its outputs: calls must neither be left out nor merged.
    pub fn with_effects(self) -> Self {
        self.changed(|spec| spec.effects = true)
    }
}

/// The name as a text that lives as long as the program; equal names are kept once.
fn interned(name: &str) -> &'static str {
    static NAMES: Mutex<Option<HashSet<&'static str>>> = Mutex::new(None);
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    let names = names.get_or_insert_default();
    match names.get(name) {
        Some(known) => known,
        None => {
            let kept: &'static str = Box::leak(name.into());
            names.insert(kept);
            kept
        }
    }
}
