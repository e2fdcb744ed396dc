//! Operators from files and texts.

use std::sync::Arc;
use std::time::Duration;

use opforge::{Error, Result};

use super::{Body, CustomOp, Hold};
use crate::elf;
use crate::in_process::InProcess;
use crate::isolate::{Isolated, Isolation};
use crate::library::Place;
use crate::runner::Runner;
use crate::source::{Artifact, Language, Options, Source, inline, locate};

/// Where an operator came from.
#[derive(Debug, Clone)]
pub(super) struct Origin {
    pub source: Source,
    pub options: Options,
    /// The limits of functions that run in a process of their own.
    isolation: Option<Isolation>,
    pub artifact: Artifact,
}

impl CustomOp {
    /// The operator at `path:Name`: a library, or a source file that is compiled if it was not before. See [`crate::source`]. A schema that it states
    /// itself, with `OPFORGE_SCHEMA` of `opforge/kernel.h`, is declared.
    ///
    /// # Errors
    /// What [`locate`] refuses; the dynamic loader's message; a missing main function.
    ///
    /// ```no_run
    /// let add = opforge_custom::CustomOp::load("add.cc:Add")?;
    /// # Ok::<(), opforge::Error>(())
    /// ```
    pub fn load(source: &str) -> Result<Self> {
        Self::load_with(source, &Options::default())
    }

    /// As [`CustomOp::load`], compiled as the options say.
    ///
    /// # Errors
    /// As [`CustomOp::load`].
    pub fn load_with(source: &str, options: &Options) -> Result<Self> {
        Self::open_source(source.parse()?, options, None)
    }

    /// As [`CustomOp::load_with`] and [`CustomOp::isolated`]: the library is never opened in this process.
    ///
    /// # Errors
    /// As [`CustomOp::load`] and [`CustomOp::isolated`].
    pub fn load_isolated(source: &str, options: &Options, limit: Option<Duration>) -> Result<Self> {
        Self::load_isolated_with(source, options, &limit.into())
    }

    /// As [`CustomOp::load_with`] and [`CustomOp::isolated_with`]: the library is never opened in this process.
    ///
    /// # Errors
    /// As [`CustomOp::load`] and [`CustomOp::isolated_with`].
    pub fn load_isolated_with(source: &str, options: &Options, limits: &Isolation) -> Result<Self> {
        Self::open_source(source.parse()?, options, Some(*limits))
    }

    fn open_source(source: Source, options: &Options, isolation: Option<Isolation>) -> Result<Self> {
        let (origin, runner) = open(source, options, isolation)?;
        let schema = elf::text(&origin.artifact.file, &format!("{}Schema", origin.source.function));
        let loaded = Self::with_runner(origin.place(), runner);
        let loaded = loaded.changed(|spec| spec.origin = Some(Arc::new(origin)));
        match schema {
            Some(schema) => loaded.with_schema(&schema),
            None => Ok(loaded),
        }
    }

    /// The operator `function` of a source text, compiled if it was not before.
    ///
    /// # Errors
    /// As [`CustomOp::load`].
    ///
    /// ```
    /// use opforge::{Device, Tensor};
    /// use opforge_custom::source::{Language, Options};
    /// use opforge_custom::{CustomOp, ShapeRule};
    ///
    /// let text = r#"
    ///     #include "opforge/kernel.h"
    ///     int Twice(int nparam, void **params, int *ndims, int64_t **shapes, const char **dtypes, void *stream, void *extra) {
    ///         const float *x = params[0];
    ///         float *y = params[1];
    ///         for (int64_t i = 0; i < shapes[0][0]; ++i) y[i] = 2 * x[i];
    ///         return 0;
    ///     }
    /// "#;
    /// # let folder = tempfile::tempdir()?;
    /// # let options = Options { cache: Some(folder.path().into()), ..Options::default() };
    /// let twice = CustomOp::load_inline(text, "Twice", Language::C, &options)?.shapes(ShapeRule::Like(0));
    /// let x = Tensor::new(&[1f32, 2.0], &Device::Cpu)?;
    /// assert_eq!(twice.apply(&[&x])?.to_vec1::<f32>()?, [2.0, 4.0]);
    /// # Ok::<(), opforge::Error>(())
    /// ```
    pub fn load_inline(text: &str, function: &str, language: Language, options: &Options) -> Result<Self> {
        let path = inline(function, language, text, options)?;
        Self::load_with(&format!("{}:{function}", path.display()), options)
    }

    /// Whether the files that the operator was loaded from have changed since.
    pub fn is_stale(&self) -> bool {
        self.spec.origin.as_ref().is_some_and(|origin| origin.artifact.is_stale())
    }

    /// The operator loaded again, with the same declarations. The old code stays open as long as something uses it.
    ///
    /// # Errors
    /// As [`CustomOp::load`].
    pub fn reload(&self) -> Result<Self> {
        let Some(origin) = &self.spec.origin else { return Ok(self.clone()) };
        let (origin, runner) = open(origin.source.clone(), &origin.options, origin.isolation)?;
        let mut reloaded = self.clone();
        reloaded.hold = Some(Hold::new(runner.clone()));
        Ok(reloaded.changed(|spec| {
            spec.origin = Some(Arc::new(origin));
            spec.body = Body::Kernel(runner);
        }))
    }
}

impl Origin {
    /// Whether it was compiled here.
    pub fn is_source(&self) -> bool {
        Language::of(&self.source.path).is_some()
    }

    pub(super) fn isolated(self: Arc<Self>, limits: Isolation) -> Arc<Self> {
        Arc::new(Origin { isolation: Some(limits), ..Arc::unwrap_or_clone(self) })
    }

    fn place(&self) -> Place {
        Place::new(&self.source.path, &self.source.function)
    }
}

fn open(source: Source, options: &Options, isolation: Option<Isolation>) -> Result<(Origin, Arc<dyn Runner>)> {
    let artifact = locate(&source.path, options).map_err(|error| named(error, &source))?;
    let origin = Origin { source, options: options.clone(), isolation, artifact };
    let (file, place) = (&origin.artifact.file, origin.place());
    let runner: Arc<dyn Runner> = match isolation {
        None => Arc::new(InProcess::open(file, &place)?),
        Some(limits) => Arc::new(Isolated::open(file, &place, &limits)?),
    };
    Ok((origin, runner))
}

/// A fault of a file as one of the operator in it.
fn named(error: Error, source: &Source) -> Error {
    match error {
        Error::CustomOp(mut fault) => {
            fault.op.clone_from(&source.function);
            fault.function.clone_from(&source.function);
            Error::CustomOp(fault)
        }
        other => other,
    }
}
