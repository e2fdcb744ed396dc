//! Readers of files, given valid files that were damaged at random: each gives an error of the format or tensors that the bytes can hold, without a panic
//! and without more memory than the file can need. `OPFORGE_FUZZ_CASES` is the number of cases, `PROPTEST_RNG_SEED` their seed.

use std::alloc::{GlobalAlloc, Layout, System};
use std::collections::HashMap;
use std::io::{Cursor, Write};
use std::path::Path;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use opforge::npy::NpzTensors;
use opforge::quantized::gguf_file::{self, Content, Value};
use opforge::quantized::{GgmlDType, QTensor};
use opforge::safetensors::{self, BufferedSafetensors, MmapedSafetensors, SliceSafetensors};
use opforge::{DType, Device, ErrorKind, FileAccess, Result, Tensor};
use opforge_runtime::alloc;
use proptest::prelude::*;
use proptest::sample::Index;
use tempfile::TempDir;

const CPU: &Device = &Device::Cpu;

/// No allocation of Rust's may be larger, in bytes: the files have a few thousand.
const LARGEST: usize = 4 << 20;

/// Deflate makes no more than this of a byte.
const MAX_RATIO: usize = 1032;

/// Notes the largest request.
struct Watching;

static REQUESTED: AtomicUsize = AtomicUsize::new(0);

#[global_allocator]
static ALLOCATOR: Watching = Watching;

// SAFETY: the system's allocator does the work.
unsafe impl GlobalAlloc for Watching {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        REQUESTED.fetch_max(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promise, for the same layout.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: `at` came from the system's allocator with this layout, as all of this one's memory does.
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        REQUESTED.fetch_max(size, Ordering::Relaxed);
        // SAFETY: `at` came from the system's allocator with this layout, as all of this one's memory does; the caller promises that the size is not zero.
        unsafe { System.realloc(at, layout, size) }
    }
}

/// A change of a file's bytes; places are parts of its length.
#[derive(Debug, Clone)]
enum Damage {
    Flip(Index, u8),
    Set(Index, u8),
    /// A number of so many bytes, lowest first.
    Write(Index, u64, usize),
    Cut(Index),
    Remove(Index, usize),
    Insert(Index, Vec<u8>),
    /// Bytes of this file, or of another one.
    Splice {
        from: Index,
        length: usize,
        to: Index,
        other: Option<Index>,
    },
    /// Another text for one of the numbers in the file's texts.
    Number(Index, &'static str),
    /// Another text for one of the words in them.
    Word(Index, &'static str),
}

const NUMBERS: &str = "0 1 2 3 7 8 -1 4294967295 4294967296 9223372036854775807 9223372036854775808 18446744073709551615 \
    18446744073709551616 1e9 0.5 [] null";

const WORDS: &str = "F32 F64 F4 U8 BOOL C64 I128 <f4 >f8 |b1 |O <U4 True False shape dtype descr data_offsets __metadata__ fortran_order \
    a { [[[[ \u{e9}";

fn word(list: &'static str) -> impl Strategy<Value = &'static str> {
    prop::sample::select(list.split_whitespace().collect::<Vec<_>>())
}

fn damage() -> impl Strategy<Value = Damage> {
    let at = any::<Index>;
    let extremes = prop_oneof![
        any::<u64>(),
        Just(0),
        Just(1),
        Just(u64::MAX),
        (0..64u32).prop_map(|bit| 1 << bit),
        (0..64u32).prop_map(|bit| (1 << bit) - 1),
    ];
    prop_oneof![
        3 => (at(), 0..8u8).prop_map(|(at, bit)| Damage::Flip(at, bit)),
        2 => (at(), any::<u8>()).prop_map(|(at, byte)| Damage::Set(at, byte)),
        3 => (at(), extremes, prop_oneof![Just(2usize), Just(4), Just(8)]).prop_map(|(at, n, size)| Damage::Write(at, n, size)),
        1 => at().prop_map(Damage::Cut),
        1 => (at(), 0..64usize).prop_map(|(at, length)| Damage::Remove(at, length)),
        1 => (at(), prop::collection::vec(any::<u8>(), 0..32)).prop_map(|(at, bytes)| Damage::Insert(at, bytes)),
        2 => (at(), 0..200usize, at(), prop::option::of(at()))
            .prop_map(|(from, length, to, other)| Damage::Splice { from, length, to, other }),
        4 => (at(), word(NUMBERS)).prop_map(|(at, text)| Damage::Number(at, text)),
        2 => (at(), word(WORDS)).prop_map(|(at, text)| Damage::Word(at, text)),
    ]
}

impl Damage {
    fn apply(&self, bytes: &mut Vec<u8>, others: &[Vec<u8>]) {
        if bytes.is_empty() {
            return;
        }
        let length = bytes.len();
        match self {
            Damage::Flip(at, bit) => bytes[at.index(length)] ^= 1 << bit,
            Damage::Set(at, byte) => bytes[at.index(length)] = *byte,
            Damage::Write(at, number, size) => {
                let at = at.index(length);
                let size = (*size).min(length - at);
                bytes[at..at + size].copy_from_slice(&number.to_le_bytes()[..size]);
            }
            Damage::Cut(at) => bytes.truncate(at.index(length)),
            Damage::Remove(at, count) => {
                let at = at.index(length);
                bytes.drain(at..(at + count).min(length));
            }
            Damage::Insert(at, new) => insert(bytes, at.index(length), new),
            Damage::Splice { from, length: count, to, other } => {
                let donor = other.map_or_else(|| bytes.clone(), |other| others[other.index(others.len())].clone());
                let from = from.index(donor.len());
                insert(bytes, to.index(length), &donor[from..(from + count).min(donor.len())]);
            }
            Damage::Number(at, text) => exchange(bytes, at, text, |byte| byte.is_ascii_digit()),
            Damage::Word(at, text) => {
                exchange(bytes, at, text, |byte| byte.is_ascii_alphanumeric() || b"_<>|".contains(&byte))
            }
        }
    }
}

fn insert(bytes: &mut Vec<u8>, at: usize, new: &[u8]) {
    bytes.splice(at..at, new.iter().copied());
}

/// Puts a text in the place of one of the runs of bytes of a kind.
fn exchange(bytes: &mut Vec<u8>, at: &Index, text: &str, is_part: impl Fn(u8) -> bool) {
    let is_start = |&i: &usize| is_part(bytes[i]) && (i == 0 || !is_part(bytes[i - 1]));
    let starts: Vec<usize> = (0..bytes.len()).filter(is_start).collect();
    if starts.is_empty() {
        return;
    }
    let start = starts[at.index(starts.len())];
    let end = (start..bytes.len()).find(|&i| !is_part(bytes[i])).unwrap_or(bytes.len());
    bytes.splice(start..end, text.bytes());
}

fn tensors() -> Vec<(String, Tensor)> {
    let numbers = Tensor::arange(0f32, 24.0, CPU).and_then(|x| x.reshape((2, 3, 4))).unwrap();
    let mut all = vec![("empty".to_owned(), Tensor::zeros((3, 0), DType::F32, CPU).unwrap())];
    for dtype in [DType::F32, DType::F64, DType::U8, DType::I64, DType::F16, DType::Bool, DType::C64] {
        all.push((format!("t.{dtype:?}"), numbers.to_dtype(dtype).unwrap()));
    }
    all
}

/// What a function writes to the path that it is given.
fn written(write: impl FnOnce(&Path) -> Result<()>) -> Vec<u8> {
    let file = tempfile::NamedTempFile::new().unwrap();
    write(file.path()).unwrap();
    std::fs::read(file.path()).unwrap()
}

static NPY: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let mut files: Vec<Vec<u8>> = tensors().iter().map(|(_, tensor)| written(|path| tensor.write_npy(path))).collect();
    for header in [
        "{'descr': '>f4', 'fortran_order': True, 'shape': (2, 3), }",
        "{'descr': '|b1', 'fortran_order': False, 'shape': (), }",
    ] {
        let length = (header.len() as u32).to_le_bytes();
        files.push([b"\x93NUMPY\x02\x00", &length[..], header.as_bytes(), &[1; 24]].concat());
    }
    files
});

static NPZ: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let mut deflated = zip::ZipWriter::new(Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Deflated);
    for (i, file) in NPY.iter().enumerate() {
        deflated.start_file(format!("a{i}.npy"), options.large_file(i % 2 == 0)).unwrap();
        deflated.write_all(file).unwrap();
    }
    deflated.add_directory("folder", options).unwrap();
    vec![written(|path| Tensor::write_npz(&tensors(), path)), deflated.finish().unwrap().into_inner()]
});

static SAFETENSORS: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let all: HashMap<String, Tensor> = tensors().into_iter().collect();
    let one = HashMap::from([("a".to_owned(), all["t.F32"].clone())]);
    let texts = HashMap::from([("format".to_owned(), "pt".to_owned())]);
    [(&all, texts.clone()), (&one, texts), (&one, HashMap::new())]
        .map(|(tensors, texts)| safetensors::to_bytes(tensors, texts).unwrap())
        .into()
});

static GGUF: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let rows = Tensor::arange(0f32, 512.0, CPU).and_then(|x| x.reshape((2, 256))).unwrap();
    let quantized = |dtype: &GgmlDType| (format!("t.{dtype:?}"), QTensor::quantize(&rows, *dtype).unwrap());
    let texts = Value::Array(vec![Value::String("a".to_owned()), Value::String("bc".to_owned())]);
    let values = [
        ("general.alignment", Value::U32(32)),
        ("texts", Value::Array(vec![texts.clone(), texts])),
        ("pi", Value::F64(0.5)),
    ];
    let file = |tensors: &[(String, QTensor)], values: &[(&str, Value)]| {
        let tensors: Vec<(&str, &QTensor)> = tensors.iter().map(|(name, tensor)| (name.as_str(), tensor)).collect();
        let values: Vec<(&str, &Value)> = values.iter().map(|(name, value)| (*name, value)).collect();
        let mut out = Cursor::new(Vec::new());
        gguf_file::write(&mut out, &values, &tensors).unwrap();
        out.into_inner()
    };
    let all: Vec<(String, QTensor)> = GgmlDType::ALL.iter().map(quantized).collect();
    vec![file(&all, &values), file(&all[..1], &[]), file(&[], &values)]
});

/// What a reader gave, once it is known to be right.
fn judged(read: Result<Vec<(String, Tensor)>>, most: usize) -> Result<Vec<(String, String)>, TestCaseError> {
    let requested = REQUESTED.load(Ordering::Relaxed);
    prop_assert!(requested <= LARGEST, "{requested} bytes were requested at once");
    match read {
        Ok(tensors) => {
            let size = |tensor: &Tensor| tensor.elem_count() * tensor.dtype().size_in_bytes();
            let total: usize = tensors.iter().map(|(_, tensor)| size(tensor)).sum();
            prop_assert!(total <= most, "{total} bytes of elements");
            let text = |tensor: &Tensor| format!("{:?} {:?} {tensor}", tensor.dtype(), tensor.dims());
            Ok(tensors.iter().map(|(name, tensor)| (name.clone(), text(tensor))).collect())
        }
        Err(error) => {
            let is_of_the_file = matches!(error.kind(), ErrorKind::Format | ErrorKind::DType);
            prop_assert!(is_of_the_file && !error.to_string().is_empty(), "{error:?}");
            Ok(vec![("error".to_owned(), format!("{:?}", error.kind()))])
        }
    }
}

fn check_npy(bytes: &[u8], path: &Path) -> Result<(), TestCaseError> {
    let one = |tensor: Tensor| vec![(String::new(), tensor)];
    let from_bytes = judged(Tensor::from_npy_bytes(bytes).map(one), bytes.len())?;
    for access in [FileAccess::Auto, FileAccess::Copy, FileAccess::Map] {
        prop_assert_eq!(&judged(Tensor::read_npy_with(path, access).map(one), bytes.len())?, &from_bytes);
    }
    Ok(())
}

fn check_npz(bytes: &[u8], path: &Path) -> Result<(), TestCaseError> {
    judged(Tensor::read_npz(path), bytes.len() * MAX_RATIO)?;
    if let Ok(arrays) = NpzTensors::new(path) {
        for name in arrays.names().into_iter().take(20) {
            let described = arrays.get_shape_and_dtype(name);
            let read = arrays.get(name);
            if let (Ok(Some(tensor)), Ok((shape, dtype))) = (&read, described) {
                prop_assert_eq!((tensor.shape(), tensor.dtype()), (&shape, dtype));
            }
            judged(
                read.map(|tensor| tensor.map(|tensor| (name.clone(), tensor)).into_iter().collect()),
                bytes.len() * MAX_RATIO,
            )?;
        }
    }
    Ok(())
}

fn check_safetensors(bytes: &[u8], path: &Path) -> Result<(), TestCaseError> {
    let sorted = |found: HashMap<String, Tensor>| {
        let mut found: Vec<(String, Tensor)> = found.into_iter().collect();
        found.sort_by(|a, b| a.0.cmp(&b.0));
        found
    };
    let from_bytes = judged(safetensors::load_buffer(bytes, CPU).map(sorted), bytes.len())?;
    for access in [FileAccess::Auto, FileAccess::Copy, FileAccess::Map] {
        prop_assert_eq!(&judged(safetensors::load_with(path, CPU, access).map(sorted), bytes.len())?, &from_bytes);
    }
    let slice = judged(SliceSafetensors::new(bytes).map(|_| Vec::new()), bytes.len())?;
    let mapped = judged(MmapedSafetensors::new(path).map(|_| Vec::new()), bytes.len())?;
    let buffered = judged(BufferedSafetensors::new(bytes.to_vec()).map(|_| Vec::new()), bytes.len())?;
    prop_assert!(slice == mapped && mapped == buffered);
    Ok(())
}

fn check_gguf(bytes: &[u8], path: &Path) -> Result<(), TestCaseError> {
    let read = || {
        let mut file = std::fs::File::open(path)?;
        let content = Content::read(&mut file)?;
        let mut names: Vec<&String> = content.tensor_infos.keys().collect();
        names.sort();
        let tensor = |name: &String| Ok((name.clone(), content.tensor(&mut file, name, CPU)?.dequantize(CPU)?));
        names.into_iter().map(tensor).collect()
    };
    // Blocks of 84 bytes become a thousand, and tensors may share them.
    judged(read(), bytes.len() * 256).map(drop)
}

fn config() -> ProptestConfig {
    let cases =
        std::env::var("OPFORGE_FUZZ_CASES").map_or(256, |text| text.parse().expect("OPFORGE_FUZZ_CASES is a number"));
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

/// Damages files and reads them.
fn fuzz(files: &'static [Vec<u8>], check: fn(&[u8], &Path) -> Result<(), TestCaseError>) {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("damaged");
    let changes = prop::collection::vec(damage(), 0..6);
    let in_use = alloc::stats().in_use;
    proptest!(config(), |(file: Index, changes in changes)| {
        let mut bytes = files[file.index(files.len())].clone();
        changes.iter().for_each(|change| change.apply(&mut bytes, files));
        std::fs::write(&path, &bytes).unwrap();
        alloc::reset_peak();
        check(&bytes, &path)?;
        let peak = alloc::stats().peak;
        prop_assert!(peak <= in_use + 8 * MAX_RATIO * bytes.len().max(4096), "{peak} bytes of tensors");
    });
}

#[test]
fn damaged_npy_files() {
    fuzz(&NPY, check_npy);
}

#[test]
fn damaged_npz_files() {
    fuzz(&NPZ, check_npz);
}

#[test]
fn damaged_safetensors_files() {
    fuzz(&SAFETENSORS, check_safetensors);
}

#[test]
fn damaged_gguf_files() {
    fuzz(&GGUF, check_gguf);
}
