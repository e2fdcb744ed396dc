//! Files of importance matrices, as llama.cpp's `imatrix` writes them: how much each column of a weight matters.

use std::collections::HashMap;
use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use super::gguf_file::input::Input;
use crate::Result;

/// The importances of each weight's columns, by its name: sums over calls, divided by their number.
///
/// # Errors
/// [`Error::Io`](crate::Error::Io); [`Error::Format`](crate::Error::Format) for a file that ends too early.
pub fn load_imatrix<P: AsRef<Path>>(fname: P) -> Result<HashMap<String, Vec<f32>>> {
    let path = fname.as_ref();
    let mut reader = BufReader::new(File::open(path).map_err(|error| crate::Error::from(error).with_path(path))?);
    let mut input = Input::new(&mut reader, "imatrix")?;
    input.is_wide = false;
    let entries = input.count(12, "matrices")?;
    let mut found = HashMap::with_capacity(entries);
    for _ in 0..entries {
        let name = input.text()?;
        let calls = input.u32()?;
        let count = input.count(4, "numbers")?;
        let per_call = if calls == 0 { 1.0 } else { calls as f32 };
        let number = |_| Ok(f32::from_bits(input.u32()?) / per_call);
        found.insert(name, (0..count).map(number).collect::<Result<Vec<f32>>>()?);
    }
    Ok(found)
}
