//! What a library says of other libraries, as the loader reads it: by its program headers, which need not agree with its sections.

use object::elf::{DT_AUXILIARY, DT_FILTER, DT_NEEDED, DT_RPATH, DT_RUNPATH, DT_STRSZ, DT_STRTAB};
use object::read::StringTable;
use object::read::elf::{Dyn, ElfFile64, ProgramHeader};
use object::{Endianness, Object};

/// What the loader reads in a library.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Dynamic {
    /// The libraries that it needs, by file name.
    pub needed: Vec<String>,
    /// Those that it needs by path.
    pub paths: Vec<String>,
    /// The folders, relative to its own, where they are looked for.
    pub origins: Vec<String>,
    /// The other folders where they are looked for.
    pub folders: Vec<String>,
    /// Whether it holds code for NVIDIA GPUs.
    pub has_gpu_code: bool,
}

impl Dynamic {
    /// Of a file that is no ELF library of 64 bits: nothing. Whether it can be opened is the loader's to say.
    pub fn of(library: &[u8]) -> Self {
        let mut dynamic = Dynamic::default();
        let Ok(elf) = ElfFile64::<Endianness>::parse(library) else { return dynamic };
        dynamic.has_gpu_code = elf.section_by_name(".nv_fatbin").is_some();
        for (tag, text) in entries(&elf).unwrap_or_default() {
            match tag {
                DT_RPATH | DT_RUNPATH => text.split(':').for_each(|folder| dynamic.search(folder)),
                _ if text.contains('/') => dynamic.paths.push(text),
                _ => dynamic.needed.push(text),
            }
        }
        dynamic
    }

    fn search(&mut self, folder: &str) {
        match relative(folder) {
            Some(origin) => self.origins.push(origin),
            None => self.folders.push(folder.to_owned()),
        }
    }
}

/// The entries of the dynamic segment that name libraries and folders, with their tags.
fn entries(elf: &ElfFile64<'_, Endianness>) -> Option<Vec<(u32, String)>> {
    const NAMES: [u32; 5] = [DT_NEEDED, DT_RPATH, DT_RUNPATH, DT_FILTER, DT_AUXILIARY];
    let (endian, bytes, segments) = (elf.endian(), elf.data(), elf.elf_program_headers());
    let entries = segments.iter().find_map(|segment| segment.dynamic(endian, bytes).ok()?)?;
    let value = |tag| entries.iter().find(|entry| entry.tag32(endian) == Some(tag)).map(|entry| entry.d_val(endian));
    let (start, size) = (value(DT_STRTAB)?, value(DT_STRSZ)?);
    let strings = segments.iter().find_map(|segment| segment.data_range(endian, bytes, start, size).ok()?)?;
    let strings = StringTable::new(strings, 0, strings.len() as u64);
    let texts = entries.iter().filter_map(|entry| {
        let tag = entry.tag32(endian).filter(|tag| NAMES.contains(tag))?;
        Some((tag, std::str::from_utf8(entry.string(endian, strings).ok()?).ok()?.to_owned()))
    });
    Some(texts.collect())
}

/// The part of a search path after the library's own folder, if it begins with that.
fn relative(path: &str) -> Option<String> {
    let rest = path.strip_prefix("$ORIGIN").or_else(|| path.strip_prefix("${ORIGIN}"))?;
    (rest.is_empty() || rest.starts_with('/')).then(|| rest.trim_start_matches('/').to_owned())
}
