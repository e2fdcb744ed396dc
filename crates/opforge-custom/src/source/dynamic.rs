//! What a library says of other libraries.

use object::elf::{DT_NEEDED, DT_RPATH, DT_RUNPATH};
use object::read::elf::{Dyn, ElfFile64};
use object::{Endianness, Object};

/// What the loader reads in a library.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Dynamic {
    /// The libraries that it needs, by file name.
    pub needed: Vec<String>,
    /// The folders, relative to its own, where they are looked for.
    pub origins: Vec<String>,
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
                DT_NEEDED if !text.contains('/') => dynamic.needed.push(text),
                DT_RPATH | DT_RUNPATH => dynamic.origins.extend(text.split(':').filter_map(relative)),
                _ => {}
            }
        }
        dynamic
    }
}

/// The entries of the dynamic section that are texts, with their tags.
fn entries(elf: &ElfFile64<'_, Endianness>) -> Option<Vec<(u32, String)>> {
    let (endian, bytes, sections) = (elf.endian(), elf.data(), elf.elf_section_table());
    let (entries, strings) = sections.dynamic(endian, bytes).ok()??;
    let strings = sections.strings(endian, bytes, strings).ok()?;
    let texts = entries.iter().filter_map(|entry| {
        let tag = entry.tag32(endian).filter(|tag| [DT_NEEDED, DT_RPATH, DT_RUNPATH].contains(tag))?;
        Some((tag, std::str::from_utf8(entry.string(endian, strings).ok()?).ok()?.to_owned()))
    });
    Some(texts.collect())
}

/// The part of a search path after the library's own folder, if it begins with that.
fn relative(path: &str) -> Option<String> {
    let rest = path.strip_prefix("$ORIGIN").or_else(|| path.strip_prefix("${ORIGIN}"))?;
    (rest.is_empty() || rest.starts_with('/')).then(|| rest.trim_start_matches('/').to_owned())
}
