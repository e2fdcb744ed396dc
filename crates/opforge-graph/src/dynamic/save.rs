//! Dynamic graphs in directories, as graphs are.

use std::collections::HashMap;
use std::panic::Location;
use std::path::Path;

use opforge::{Device, Error, Meta, Result, Tensor};

use super::DynamicGraph;
use crate::pattern::{FORMAT, Pattern, Says};
use crate::save::{fits, read_directory, write_directory};

impl DynamicGraph {
    /// The graph that a text tells, with or without free sizes. What it captured is to be bound: [`DynamicGraph::bind`].
    ///
    /// # Errors
    /// As [`Graph::parse`](crate::Graph::parse). Where sizes are free, what depends on them is checked when they are known.
    #[track_caller]
    pub fn parse(text: &str) -> Result<DynamicGraph> {
        let at = Location::caller();
        let pattern = Pattern::read(text)?;
        if pattern.sizes.is_empty() {
            pattern.fill(&[], Device::Cpu, at)?;
        }
        Ok(DynamicGraph::of(pattern, HashMap::new(), Device::Cpu, at))
    }

    /// The graph with memory for what it captured, by name.
    ///
    /// # Errors
    /// For names that are missing, and tensors of other shapes or dtypes than the graph's.
    pub fn bind(self, weights: HashMap<String, Tensor>) -> Result<DynamicGraph> {
        for line in &self.pattern.lines {
            let Says::Captured { name, stored, .. } = &line.says else { continue };
            let weight = weights.get(name).ok_or_else(|| Error::CannotFindTensor { path: name.clone() })?;
            let dims =
                stored.dims.iter().map(|length| self.pattern.number(length, &[])).collect::<Option<Vec<usize>>>();
            let unknown = || Error::format(FORMAT, format!("line {}: what is captured has no free size", line.number));
            fits(&Meta::contiguous(stored.dtype, dims.ok_or_else(unknown)?), name, weight)?;
        }
        Ok(DynamicGraph { weights, ..self })
    }

    /// Writes the graph to a directory, as [`Graph::save`](crate::Graph::save) does, with further texts for files of these names.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn save_with(&self, directory: impl AsRef<Path>, further: &[(&str, &str)]) -> Result<()> {
        write_directory(directory.as_ref(), &self.to_string(), &self.weights, further)
    }

    /// As [`DynamicGraph::save_with`], without further texts.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn save(&self, directory: impl AsRef<Path>) -> Result<()> {
        self.save_with(directory, &[])
    }

    /// The graph of a directory, with its weights in memory of their own.
    ///
    /// # Errors
    /// As [`DynamicGraph::parse`] and [`DynamicGraph::bind`], with the name of the file.
    #[track_caller]
    pub fn load(directory: impl AsRef<Path>) -> Result<DynamicGraph> {
        read_directory(directory.as_ref(), DynamicGraph::parse, DynamicGraph::bind)
    }
}
