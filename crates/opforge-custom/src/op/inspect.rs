//! What the checker asks of a declaration.

use std::path::PathBuf;
use std::sync::Arc;

use opforge::{DType, Result};

use super::{Body, CustomOp, Gradient, ShapeRule};
use crate::attribute::Attributes;
use crate::library::Place;
use crate::runner::Runner;
use crate::source::{Options, Sanitizer, locate};

impl CustomOp {
    pub(crate) fn place(&self) -> &Place {
        &self.spec.place
    }

    /// `path:Name`.
    pub(crate) fn source(&self) -> String {
        format!("{}:{}", self.spec.place.library, self.spec.place.function)
    }

    /// What it is, for the head of a report.
    pub(crate) fn title(&self) -> String {
        let schema = self.schema().map_or_else(String::new, |schema| format!(" {schema}"));
        let attributes = self.attributes().iter().map(|(name, value)| format!(", {name}={value}"));
        format!("{}{schema}{}", self.source(), attributes.collect::<String>())
    }

    /// The library that its functions are in, if it is not a function itself.
    pub(crate) fn library(&self) -> Option<PathBuf> {
        match (&self.spec.body, &self.spec.origin) {
            (Body::Function { .. }, _) => None,
            (_, Some(origin)) => Some(origin.artifact.file.clone()),
            (_, None) => Some(PathBuf::from(&self.spec.place.library)),
        }
    }

    /// Its library compiled once more, with these checks; `None` if it was not compiled from a source.
    ///
    /// # Errors
    /// As [`locate`].
    pub(crate) fn compiled_with(&self, sanitizers: &[Sanitizer]) -> Result<Option<PathBuf>> {
        let Some(origin) = self.spec.origin.as_ref().filter(|origin| origin.is_source()) else { return Ok(None) };
        let options = Options { sanitize: sanitizers.to_vec(), ..origin.options.clone() };
        Ok(Some(locate(&origin.source.path, &options)?.file))
    }

    /// The combinations of dtypes that are accepted, of inputs and then outputs; none if all are.
    pub(crate) fn accepted(&self) -> &[Vec<Option<DType>>] {
        &self.spec.accepted
    }

    /// What input `i` is called.
    pub(crate) fn input_name(&self, i: usize) -> String {
        self.spec.input_name(i)
    }

    /// Which input an output is, if it is one.
    pub(crate) fn alias(&self, output: usize) -> Option<usize> {
        self.spec.changes.alias(output)
    }

    /// Whether an input is changed in place.
    pub(crate) fn changes(&self, input: usize) -> bool {
        self.spec.changes.input(input)
    }

    /// The operator that computes the gradient, if that is in a library.
    pub(crate) fn gradient_operator(&self) -> Option<&CustomOp> {
        match &self.spec.gradient {
            Some(Gradient::Op(op)) => op.library().map(|_| op),
            _ => None,
        }
    }

    /// Whether the outputs' shapes are asked of the library.
    pub(crate) fn asks_for_shapes(&self) -> bool {
        matches!(self.spec.shapes, ShapeRule::Library)
    }

    /// The attributes, declared ones and defaults.
    ///
    /// # Errors
    /// For attributes that are missing.
    pub(crate) fn bound_attributes(&self) -> Result<Arc<Attributes>> {
        Ok(self.declared()?.0.attributes.clone())
    }

    /// The same operator, its functions run elsewhere.
    pub(crate) fn run_by(&self, runner: Arc<dyn Runner>) -> Self {
        self.clone().changed(|spec| spec.body = Body::Kernel(runner))
    }
}
