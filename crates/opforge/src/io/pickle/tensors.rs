//! The tensors of a checkpoint by name.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use opforge_core::Strides;

use super::object::{Object, Stored};
use super::{Checkpoint, FORMAT};
use crate::{DType, Device, Error, FileAccess, Layout, Result, Shape, Tensor};

/// What a checkpoint says of a tensor.
#[derive(Debug, Clone)]
pub struct TensorInfo {
    /// Its name.
    pub name: String,
    /// Its dtype.
    pub dtype: DType,
    /// Its layout within its storage.
    pub layout: Layout,
    /// Where its storage is: an entry of the archive, or in a file that is none the storage's name. Tensors of one storage share the text,
    /// as files may have many and a long name.
    pub path: Arc<str>,
    /// The number of elements of its storage.
    pub storage_size: usize,
    stored: Stored,
}

/// The tensors of a `.pt` or `.pth` file, each loaded when it is asked for: those of a mapping of names, such as a module's `state_dict`.
pub struct PthTensors {
    checkpoint: Mutex<Checkpoint>,
    /// In the file's order.
    names: Vec<String>,
    infos: HashMap<String, TensorInfo>,
}

/// What a checkpoint says of its tensors, in the file's order: see [`PthTensors::new`]. Where asked for, it is printed too.
///
/// # Errors
/// As [`PthTensors::new`].
pub fn read_pth_tensor_info<P: AsRef<Path>>(file: P, verbose: bool, key: Option<&str>) -> Result<Vec<TensorInfo>> {
    let PthTensors { names, mut infos, .. } = PthTensors::new(file, key)?;
    let infos: Vec<TensorInfo> = names.iter().filter_map(|name| infos.remove(name)).collect();
    if verbose {
        infos.iter().for_each(|info| println!("{}: {} {:?}", info.name, info.dtype, info.layout));
    }
    Ok(infos)
}

impl PthTensors {
    /// Reads the names, of the mapping that is the file's object or, with a key, is found there under it. Entries that are no tensors are left out.
    ///
    /// # Errors
    /// [`Error::Io`]; [`Error::Format`], see [`Checkpoint::open`], for another object than a mapping, and for a key that it lacks.
    ///
    /// ```
    /// # use opforge::{Device, Tensor, pickle};
    /// # fn main() -> opforge::Result<()> {
    /// let path = std::env::temp_dir().join(format!("doc-{}.pt", std::process::id()));
    /// pickle::save(&[("w", &Tensor::new(&[1f32, 2.0], &Device::Cpu)?)], &path)?;
    /// let tensors = pickle::PthTensors::new(&path, None)?;
    /// assert_eq!(tensors.get("w")?.map(|w| w.to_vec1::<f32>()).transpose()?, Some(vec![1.0, 2.0]));
    /// # std::fs::remove_file(path)?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn new<P: AsRef<Path>>(path: P, key: Option<&str>) -> Result<PthTensors> {
        let checkpoint = Checkpoint::open(path, FileAccess::Auto)?;
        let pickle = checkpoint.pickle();
        let map = match key {
            None => Some(pickle.root()),
            Some(key) => pickle.get(pickle.root(), key),
        };
        let lacking = || Error::format(FORMAT, format!("no mapping under {key:?}"));
        let map = pickle.object(map.ok_or_else(lacking)?);
        let Object::Map { entries, .. } = map else {
            return Err(Error::format(FORMAT, format!("{}, expected a mapping of names to tensors", map.kind())));
        };
        let (mut names, mut infos) = (Vec::with_capacity(entries.len()), HashMap::with_capacity(entries.len()));
        let mut paths = HashMap::new();
        for &(name, value) in entries {
            if let (Object::Text(name), Object::Tensor(stored)) = (pickle.object(name), pickle.object(value)) {
                let storage = checkpoint.storage(stored)?;
                let path = paths.entry(stored.storage).or_insert_with(|| checkpoint.path_of(storage)).clone();
                let (shape, stride) = (Shape::from(stored.shape.clone()), Strides::from_vec(stored.stride.clone()));
                let layout = Layout::new(shape, stride, stored.offset, FORMAT)?;
                let info = TensorInfo {
                    name: name.clone(),
                    dtype: stored.dtype,
                    layout,
                    path,
                    storage_size: storage.len,
                    stored: stored.clone(),
                };
                if infos.insert(name.clone(), info).is_none() {
                    names.push(name.clone());
                }
            }
        }
        Ok(PthTensors { checkpoint: Mutex::new(checkpoint), names, infos })
    }

    /// The names, in the file's order.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// What the file says of its tensors, by name.
    pub fn tensor_infos(&self) -> &HashMap<String, TensorInfo> {
        &self.infos
    }

    /// A tensor, or `None` where there is none of that name.
    ///
    /// # Errors
    /// [`Error::Format`] for elements that the file lacks.
    pub fn get(&self, name: &str) -> Result<Option<Tensor>> {
        let Some(info) = self.infos.get(name) else { return Ok(None) };
        let mut checkpoint = self.checkpoint.lock().unwrap_or_else(PoisonError::into_inner);
        checkpoint.tensor(&info.stored, &Device::Cpu).map(Some)
    }
}

/// All tensors of a `.pt` or `.pth` file with their names.
///
/// # Errors
/// As [`PthTensors::new`] and [`PthTensors::get`].
pub fn read_all<P: AsRef<Path>>(path: P) -> Result<Vec<(String, Tensor)>> {
    read_all_with_key(path, None)
}

/// All tensors of the mapping that is found under a key.
///
/// # Errors
/// As [`read_all`].
pub fn read_all_with_key<P: AsRef<Path>>(path: P, key: Option<&str>) -> Result<Vec<(String, Tensor)>> {
    let tensors = PthTensors::new(path, key)?;
    let load = |name: &String| Ok(tensors.get(name)?.map(|tensor| (name.clone(), tensor)));
    tensors.names.iter().filter_map(|name| load(name).transpose()).collect()
}
