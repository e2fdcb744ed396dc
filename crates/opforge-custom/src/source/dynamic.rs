//! What a library says of other libraries, as the loader reads it: by its program headers, which need not agree with its sections.

use std::ops::Range;

use object::elf::Dyn64;
use object::elf::{DT_AUXILIARY, DT_FILTER, DT_NEEDED, DT_RPATH, DT_RUNPATH, DT_SONAME, DT_STRSZ, DT_STRTAB};
use object::read::StringTable;
use object::read::elf::{Dyn, ElfFile64, ProgramHeader};
use object::{Endianness, Object};

/// What the loader reads in a library.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Dynamic {
    /// The name that it is known by once it is open, whatever its file is called.
    pub soname: Option<String>,
    /// The libraries that it needs, by file name.
    pub needed: Vec<String>,
    /// Those that it needs by path.
    pub paths: Vec<String>,
    /// Where they are looked for, in this order.
    pub folders: Vec<Folder>,
    /// Whether it holds code for NVIDIA GPUs.
    pub has_gpu_code: bool,
}

/// A folder where libraries are looked for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Folder {
    /// Relative to the library's own.
    Origin(String),
    Named(String),
}

impl Dynamic {
    /// Of a file that is no ELF library of 64 bits: nothing. Whether it can be opened is the loader's to say.
    pub fn of(library: &[u8]) -> Self {
        let mut dynamic = Dynamic::default();
        let Ok(elf) = ElfFile64::<Endianness>::parse(library) else { return dynamic };
        dynamic.has_gpu_code = elf.section_by_name(".nv_fatbin").is_some();
        for (tag, text) in entries(&elf).unwrap_or_default() {
            match tag {
                DT_SONAME => dynamic.soname = Some(text),
                DT_RPATH | DT_RUNPATH => dynamic.folders.extend(text.split(':').map(Folder::of)),
                _ if text.contains('/') => dynamic.paths.push(text),
                _ => dynamic.needed.push(text),
            }
        }
        dynamic
    }
}

impl Folder {
    fn of(text: &str) -> Self {
        let rest = text.strip_prefix("$ORIGIN").or_else(|| text.strip_prefix("${ORIGIN}"));
        match rest.filter(|rest| rest.is_empty() || rest.starts_with('/')) {
            Some(rest) => Folder::Origin(rest.trim_start_matches('/').to_owned()),
            None => Folder::Named(text.to_owned()),
        }
    }
}

/// The places in a library's bytes of the strings that are `name`, among those that its dynamic segment names. One that begins within another string is
/// none of them.
pub(super) fn places(library: &[u8], name: &str) -> Vec<Range<usize>> {
    let table =
        ElfFile64::<Endianness>::parse(library).ok().and_then(|elf| segment(&elf).map(|segment| segment.strings));
    let Some(strings) = table else { return Vec::new() };
    let start = strings.as_ptr().addr() - library.as_ptr().addr();
    let mut end = start;
    let each = strings.split_inclusive(|&byte| byte == 0).map(|string| {
        end += string.len();
        (string, end - string.len())
    });
    let found = each.filter(|(string, _)| string.strip_suffix(b"\0") == Some(name.as_bytes()));
    found.map(|(_, at)| at..at + name.len()).collect()
}

/// A dynamic segment and the table of its strings.
struct Segment<'a> {
    entries: &'a [Dyn64<Endianness>],
    strings: &'a [u8],
}

fn segment<'a>(elf: &ElfFile64<'a, Endianness>) -> Option<Segment<'a>> {
    let (endian, bytes, segments) = (elf.endian(), elf.data(), elf.elf_program_headers());
    let entries = segments.iter().find_map(|segment| segment.dynamic(endian, bytes).ok()?)?;
    let value = |tag| entries.iter().find(|entry| entry.tag32(endian) == Some(tag)).map(|entry| entry.d_val(endian));
    let (start, size) = (value(DT_STRTAB)?, value(DT_STRSZ)?);
    let strings = segments.iter().find_map(|segment| segment.data_range(endian, bytes, start, size).ok()?)?;
    Some(Segment { entries, strings })
}

/// The entries of the dynamic segment that name libraries and folders, with their tags.
fn entries(elf: &ElfFile64<'_, Endianness>) -> Option<Vec<(u32, String)>> {
    const NAMES: [u32; 6] = [DT_SONAME, DT_NEEDED, DT_RPATH, DT_RUNPATH, DT_FILTER, DT_AUXILIARY];
    let (endian, Segment { entries, strings }) = (elf.endian(), segment(elf)?);
    let strings = StringTable::new(strings, 0, strings.len() as u64);
    let texts = entries.iter().filter_map(|entry| {
        let tag = entry.tag32(endian).filter(|tag| NAMES.contains(tag))?;
        Some((tag, std::str::from_utf8(entry.string(endian, strings).ok()?).ok()?.to_owned()))
    });
    Some(texts.collect())
}
