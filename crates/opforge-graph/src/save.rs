//! Graphs in directories: their text, and what they captured, by name, as a file of safetensors. `opforge.export` adds the structure of arguments and
//! results, as JSON.

use std::collections::HashMap;
use std::fs;
use std::io::Write;
use std::path::Path;

use opforge::{Device, Error, FileAccess, Meta, Result, Tensor, safetensors};
use tempfile::NamedTempFile;

use crate::graph::{Captured, Graph, Origin, whole};

/// The file of the graph's text.
const TEXT: &str = "graph.txt";
/// The file of what it captured, by name.
const WEIGHTS: &str = "weights.safetensors";

impl Graph {
    /// The graph with names for what it captured: of each tensor whose memory is that.
    #[must_use]
    pub fn with_names<'a>(mut self, names: impl IntoIterator<Item = (&'a str, &'a Tensor)>) -> Graph {
        for (name, tensor) in names {
            let is_it = |captured: &&mut Captured| {
                captured.name.is_none() && captured.storage().is_ok_and(|own| std::ptr::eq(&**own, &**tensor.storage()))
            };
            if let Some(captured) = self.captured_mut().find(is_it) {
                *captured = Captured { name: Some(name.to_owned()), ..Captured::new(tensor) };
            }
        }
        self
    }

    fn captured_mut(&mut self) -> impl Iterator<Item = &mut Captured> {
        self.values.iter_mut().filter_map(|value| match &mut value.origin {
            Origin::Captured(captured) => Some(captured),
            _ => None,
        })
    }

    /// What the graph captured, by the names in its text; what is not bound is left out.
    ///
    /// # Errors
    /// For memory that is not aligned.
    pub fn weights(&self) -> Result<HashMap<String, Tensor>> {
        let mut weights = HashMap::new();
        for (value, number) in self.numbers().into_iter().enumerate() {
            let Some((Origin::Captured(captured), number)) = number.map(|number| (&self.values[value].origin, number))
            else {
                continue;
            };
            if captured.tensor.is_some() {
                weights.insert(captured.label(number), captured.whole()?);
            }
        }
        Ok(weights)
    }

    /// The graph with memory for what it captured, by name: that of the tensors, where they are all of their memory; otherwise copies.
    ///
    /// # Errors
    /// For names that are missing, and tensors of other shapes or dtypes than the graph's.
    pub fn bind(mut self, weights: &HashMap<String, Tensor>) -> Result<Graph> {
        for captured in self.captured_mut().filter(|captured| captured.tensor.is_none()) {
            let name = captured.name.clone().unwrap_or_default();
            let weight = weights.get(&name).ok_or_else(|| Error::CannotFindTensor { path: name.clone() })?;
            captured.tensor = Some(captured.accepted(&name, weight)?);
        }
        Ok(self)
    }

    /// Writes the graph to a directory, which is made if it is not there: `graph.txt` and `weights.safetensors`. A write that fails leaves what was there
    /// before.
    ///
    /// # Errors
    /// [`Error::Io`]; what is captured and not bound.
    pub fn save(&self, directory: impl AsRef<Path>) -> Result<()> {
        self.save_with(directory, &[])
    }

    /// As [`Graph::save`], with further texts for files of these names.
    ///
    /// # Errors
    /// As [`Graph::save`].
    pub fn save_with(&self, directory: impl AsRef<Path>, further: &[(&str, &str)]) -> Result<()> {
        let unbound = self.values.iter().find_map(|value| match &value.origin {
            Origin::Captured(captured) => captured.storage().err(),
            _ => None,
        });
        unbound.map_or(Ok(()), Err)?;
        write_directory(directory.as_ref(), &self.to_string(), &self.weights()?, further)
    }

    /// The graph of a directory, with its weights in memory of their own.
    ///
    /// ```
    /// # use opforge::{Device, Tensor};
    /// # use opforge_graph::{Graph, trace};
    /// # let directory = std::env::temp_dir().join(format!("opforge-doc-{}", std::process::id()));
    /// let weight = Tensor::new(&[2f32, 3.0], &Device::Cpu)?;
    /// let x = Tensor::new(&[1f32, 1.0], &Device::Cpu)?;
    /// trace(&[&x], |x| Ok(vec![x[0].mul(&weight)?]))?.with_names([("weight", &weight)]).save(&directory)?;
    ///
    /// let program = Graph::load(&directory)?.compile()?;
    /// assert_eq!(program.run(&[&x])?[0].to_vec1::<f32>()?, [2.0, 3.0]);
    /// # std::fs::remove_dir_all(&directory)?;
    /// # Ok::<(), opforge::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Io`]; as [`Graph::parse`], and as [`Graph::bind`] for a file without a weight or with another one. They name the file.
    #[track_caller]
    pub fn load(directory: impl AsRef<Path>) -> Result<Graph> {
        read_directory(directory.as_ref(), Graph::parse, |graph, weights| graph.bind(&weights))
    }
}

/// Writes a graph's text, its weights and further texts to a directory. A write that fails leaves what was there before.
pub(crate) fn write_directory(
    directory: &Path,
    text: &str,
    weights: &HashMap<String, Tensor>,
    further: &[(&str, &str)],
) -> Result<()> {
    fs::create_dir_all(directory)?;
    let texts = [(TEXT, text)].into_iter().chain(further.iter().copied());
    let texts = texts.map(|(name, text)| Ok((beside(directory, text)?, name))).collect::<Result<Vec<_>>>()?;
    safetensors::save(weights, directory.join(WEIGHTS))?;
    for (written, name) in texts {
        written.persist(directory.join(name)).map_err(|failed| failed.error)?;
    }
    Ok(())
}

/// What `read` makes of the text in a directory, and `bind` of that and of the weights; errors name the file.
pub(crate) fn read_directory<T, R>(
    directory: &Path,
    read: impl FnOnce(&str) -> Result<T>,
    bind: impl FnOnce(T, HashMap<String, Tensor>) -> Result<R>,
) -> Result<R> {
    let [text, weights] = [TEXT, WEIGHTS].map(|file| directory.join(file));
    let named = |path: &Path| {
        let path = path.display().to_string();
        move |error: Error| error.context(path)
    };
    let told = fs::read(&text).map_err(Error::from).map_err(named(&text))?;
    let told = String::from_utf8(told).map_err(|_| Error::format("graph", "not a text in UTF-8"));
    let told = told.and_then(|told| read(&told)).map_err(named(&text))?;
    let stored = safetensors::load_with(&weights, &Device::Cpu, FileAccess::Copy).map_err(named(&weights))?;
    bind(told, stored).map_err(named(&weights))
}

/// A text in a file without a name yet, which becomes one of the directory's.
fn beside(directory: &Path, text: &str) -> Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".opforge-");
    // Readable to others as far as the process allows, which temporary files are not.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let mut file = builder.tempfile_in(directory)?;
    file.write_all(text.as_bytes())?;
    Ok(file)
}

impl Captured {
    /// All of the memory as the tensor that is stored.
    fn whole(&self) -> Result<Tensor> {
        Tensor::over_storage(self.storage()?.clone(), self.stored.dtype, self.stored.layout.clone())
    }

    /// A tensor whose memory becomes this.
    fn accepted(&self, name: &str, weight: &Tensor) -> Result<Tensor> {
        fits(&self.stored, name, weight)?;
        if whole(weight) == self.stored { Ok(weight.detach()) } else { weight.detach().copy() }
    }
}

/// Refuses a weight of another dtype or shape than what is stored.
pub(crate) fn fits(stored: &Meta, name: &str, weight: &Tensor) -> Result<()> {
    if weight.dtype() != stored.dtype {
        return Err(Error::dtype("bind", name.to_owned(), weight.dtype(), stored.dtype));
    }
    if weight.shape() != stored.shape() {
        let [given, accepted] = [weight.dims(), stored.dims()].map(|dims| format!("{dims:?}"));
        return Err(Error::shape("bind", name.to_owned(), given, accepted));
    }
    Ok(())
}
