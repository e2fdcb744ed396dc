//! Checkpoints in a zip archive: `NAME/data.pkl`, `NAME/byteorder`, and a storage in each `NAME/data/KEY`.

use std::collections::HashMap;
use std::io::Read;

use zip::CompressionMethod;
use zip::ZipArchive;
use zip::result::ZipError;

use super::object::Pickle;
use super::storages::{Place, Storages};
use super::{FORMAT, machine};
use crate::io::access::{ReadSeek, Source};
use crate::{Error, Result};

/// Deflate makes no more than this of a byte; an archive that claims more lies.
const MAX_RATIO: u64 = 1032;

type Archive<'a> = ZipArchive<Box<dyn ReadSeek + 'a>>;

fn zip_error(error: ZipError) -> Error {
    match error {
        ZipError::Io(error) if error.raw_os_error().is_some() => error.into(),
        other => Error::format(FORMAT, other),
    }
}

pub(super) fn read(source: Source<'_>) -> Result<(Pickle, Storages)> {
    let mut archive = ZipArchive::new(source.reader()?).map_err(zip_error)?;
    let names =
        archive.file_names().map(|name| Ok(name?.into_owned())).collect::<std::result::Result<Vec<String>, ZipError>>();
    let names = names.map_err(zip_error)?;
    if names.iter().any(|name| name.ends_with("/constants.pkl") || name.contains("/code/")) {
        return Err(Error::format(FORMAT, "a program of TorchScript, which is not executed"));
    }
    let folder = names.iter().find_map(|name| name.strip_suffix("data.pkl"));
    let folder = folder.ok_or_else(|| Error::format(FORMAT, "an archive without data.pkl"))?;
    let order = match names.contains(&format!("{folder}byteorder")) {
        true => String::from_utf8_lossy(&unpacked(&mut archive, &format!("{folder}byteorder"))?).into_owned(),
        false => "little".to_owned(),
    };
    let swapped = match order.trim() {
        "little" => cfg!(target_endian = "big"),
        "big" => cfg!(target_endian = "little"),
        other => return Err(Error::format(FORMAT, format!("byte order {other:?}"))),
    };
    let data = format!("{folder}data/");
    let mut places = HashMap::new();
    for name in &names {
        if let Some(key) = name.strip_prefix(&data) {
            places.insert(key.to_owned(), place(&mut archive, name, source.len())?);
        }
    }
    let bytes = unpacked(&mut archive, &format!("{folder}data.pkl"))?;
    let (pickle, _) = machine::read(&bytes)?;
    Ok((pickle, Storages::new(places, swapped).in_folder(data)))
}

/// Where an entry's bytes are: in the file, unless they are compressed.
fn place(archive: &mut Archive<'_>, name: &str, file: usize) -> Result<Place> {
    let entry = archive.by_name(name).map_err(zip_error)?;
    if entry.compression() != CompressionMethod::Stored {
        drop(entry);
        return Ok(Place::Memory(unpacked(archive, name)?));
    }
    let range =
        entry.data_start().and_then(|start| Some((usize::try_from(start).ok()?, usize::try_from(entry.size()).ok()?)));
    let range = range.and_then(|(start, len)| Some(start..start.checked_add(len)?)).filter(|range| range.end <= file);
    range.map(Place::File).ok_or_else(|| Error::format(FORMAT, format!("{name} beyond the end of the file")))
}

/// An entry's bytes.
fn unpacked(archive: &mut Archive<'_>, name: &str) -> Result<Vec<u8>> {
    let mut entry = archive.by_name(name).map_err(zip_error)?;
    let (size, possible) = (entry.size(), entry.compressed_size().saturating_mul(MAX_RATIO));
    if size > possible {
        return Err(Error::format(FORMAT, format!("{name} of {size} bytes is announced, {possible} are possible")));
    }
    let mut bytes = Vec::new();
    entry.read_to_end(&mut bytes).map_err(|error| Error::format(FORMAT, format!("{name}: {error}")))?;
    Ok(bytes)
}
