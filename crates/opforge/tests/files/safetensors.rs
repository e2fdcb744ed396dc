//! `.safetensors`: round trips, and every way in which a file can be wrong.

use std::collections::HashMap;

use opforge::safetensors::{self, BufferedSafetensors, Load, MmapedSafetensors, SliceSafetensors};
use opforge::{Complex, DType, Device, Error, ErrorKind, FileAccess, Result, Tensor};
use proptest::prelude::*;

const CPU: &Device = &Device::Cpu;

/// A file with this header and this many bytes of elements.
fn file(header: &str, elements: usize) -> Vec<u8> {
    let data: Vec<u8> = (0..elements).map(|i| i as u8).collect();
    [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), &data].concat()
}

fn entry(name: &str, dtype: &str, shape: &str, start: usize, end: usize) -> String {
    format!("\"{name}\":{{\"dtype\":\"{dtype}\",\"shape\":{shape},\"data_offsets\":[{start},{end}]}}")
}

fn one(dtype: &str, shape: &str, end: usize) -> String {
    format!("{{{}}}", entry("a", dtype, shape, 0, end))
}

fn kind<T>(result: Result<T>) -> Option<ErrorKind> {
    result.err().map(|e| e.kind())
}

fn tensors() -> Result<HashMap<String, Tensor>> {
    let numbers = Tensor::new(&[[0f32, 1.0, 2.0], [3.0, 100.0, 5.0]], CPU)?;
    let mut all = HashMap::from([
        ("scalar".to_owned(), Tensor::new(1.5f32, CPU)?),
        ("empty".to_owned(), Tensor::zeros((0, 3), DType::I64, CPU)?),
        ("a name with \"quotes\" and é".to_owned(), numbers.t()?),
        ("complex".to_owned(), Tensor::new(&[Complex::new(1f32, 2.0)], CPU)?),
    ]);
    for dtype in DType::ALL.into_iter().filter(|d| !d.is_complex()) {
        all.insert(dtype.to_string(), numbers.to_dtype(dtype)?);
    }
    Ok(all)
}

#[test]
fn round_trips_by_every_reader() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("t.safetensors");
    let all = tensors()?;
    safetensors::save(&all, &path)?;
    let bytes = std::fs::read(&path)?;
    let loaded = [safetensors::load(&path, CPU)?, safetensors::load_buffer(&bytes, CPU)?];
    let (mapped, slice) = (MmapedSafetensors::new(&path)?, SliceSafetensors::new(&bytes)?);
    let buffered = BufferedSafetensors::new(bytes.clone())?;
    for (name, tensor) in &all {
        let expected = tensor.to_string();
        for loaded in &loaded {
            assert_eq!(loaded[name].to_string(), expected, "{name}");
        }
        assert_eq!(mapped.load(name, CPU)?.to_string(), expected);
        assert_eq!(slice.load(name, CPU)?.to_string(), expected);
        assert_eq!(buffered.load(name, CPU)?.to_string(), expected);
        assert_eq!(mapped.get(name)?.load(CPU)?.to_string(), expected);
    }
    assert_eq!([mapped.tensors().len(), slice.tensors().len(), buffered.tensors().len()], [all.len(); 3]);
    let nowhere = mapped.load("f32", &Device::Meta)?;
    assert!(nowhere.device().is_meta() && nowhere.dims() == [2, 3]);
    assert!(matches!(mapped.load("none", CPU).unwrap_err().root(), Error::CannotFindTensor { .. }));
    Ok(())
}

#[test]
fn a_file_may_be_saved_over_what_was_loaded_from_it() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("t.safetensors");
    Tensor::new(&vec![1f32; 5000][..], CPU)?.save_safetensors("w", &path)?;
    let first = safetensors::load(&path, CPU)?;
    let doubled = HashMap::from([("w", (&first["w"] * 2.0)?.narrow(0, 0, 3)?)]);
    safetensors::save(&doubled, &path)?;
    assert_eq!(first["w"].sum_all()?.to_scalar::<f32>()?, 5000.0);
    assert_eq!(safetensors::load(&path, CPU)?["w"].to_vec1::<f32>()?, [2.0; 3]);
    let wrong = HashMap::from([("c", Tensor::new(&[Complex::new(0f64, 1.0)], CPU)?)]);
    assert_eq!(kind(safetensors::save(&wrong, &path)), Some(ErrorKind::DType));
    assert_eq!(std::fs::read_dir(folder.path())?.count(), 1, "a failed write leaves nothing");
    let reserved = Tensor::new(1f32, CPU)?.save_safetensors("__metadata__", &path);
    assert_eq!(kind(reserved), Some(ErrorKind::Value));
    Ok(())
}

#[test]
fn small_files_are_copied_and_mapped_on_request() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("t.safetensors");
    let save = || Tensor::new(&[1f32, 2.0], CPU)?.save_safetensors("w", &path);
    save()?;
    let tensor = safetensors::load(&path, CPU)?.remove("w").expect("what was saved");
    // Of a mapped file this would end the process.
    std::fs::File::create(&path)?.set_len(0)?;
    assert_eq!(tensor.to_vec1::<f32>()?, [1.0, 2.0]);
    tensor.const_set(3f32.into())?;
    save()?;
    let mapped = safetensors::load_with(&path, CPU, FileAccess::Map)?;
    mapped["w"].const_set(3f32.into())?;
    assert_eq!(safetensors::load(&path, CPU)?["w"].to_vec1::<f32>()?, [1.0, 2.0]);
    // These give a tensor as often as it is asked for, so that none may change it.
    let several = safetensors::MmapedSafetensors::new(&path)?;
    assert_eq!(kind(several.load("w", CPU)?.const_set(3f32.into())), Some(ErrorKind::Value));
    let missing = safetensors::load(folder.path().join("none"), CPU).unwrap_err();
    assert!(missing.kind() == ErrorKind::Io && missing.to_string().contains("none"), "{missing}");
    Ok(())
}

#[test]
fn several_files_as_one() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let paths = ["a", "b"].map(|name| folder.path().join(name));
    let save = |path, names: &[(&str, f32)]| {
        let tensors: Result<HashMap<_, _>> = names.iter().map(|&(n, v)| Ok((n, Tensor::new(v, CPU)?))).collect();
        safetensors::save(&tensors?, path)
    };
    save(&paths[0], &[("x", 1.0), ("both", 2.0)])?;
    save(&paths[1], &[("y", 3.0), ("both", 4.0)])?;
    let files = MmapedSafetensors::multi(&paths)?;
    let value = |name| files.load(name, CPU)?.to_scalar::<f32>();
    assert_eq!([value("x")?, value("y")?, value("both")?], [1.0, 3.0, 4.0]);
    Ok(())
}

#[test]
fn unaligned_elements_are_copied() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("t.safetensors");
    for padding in 0..8 {
        let header = one("U32", "[2]", 8) + &" ".repeat(padding);
        std::fs::write(&path, file(&header, 8))?;
        let expected = [0x0302_0100, 0x0706_0504];
        assert_eq!(safetensors::load(&path, CPU)?["a"].to_vec1::<u32>()?, expected, "padding {padding}");
    }
    std::fs::write(&path, file(&one("BOOL", "[3]", 3), 3))?;
    assert_eq!(safetensors::load(&path, CPU)?["a"].to_vec1::<bool>()?, [false, true, true]);
    Ok(())
}

#[test]
fn malformed_files_are_refused() {
    let pair = |a: (usize, usize), b: (usize, usize)| {
        let shape = |(start, end): (usize, usize)| format!("[{}]", end - start);
        let (first, second) = (entry("a", "U8", &shape(a), a.0, a.1), entry("b", "U8", &shape(b), b.0, b.1));
        format!("{{{first},{second}}}")
    };
    let huge = usize::MAX;
    let quarter = huge / 8;
    let nine: Vec<String> =
        (0..8).map(|i| entry(&i.to_string(), "U8", &format!("[{quarter}]"), i * quarter, (i + 1) * quarter)).collect();
    let cases: Vec<(&str, Vec<u8>)> = vec![
        ("nothing", vec![]),
        ("no length", vec![1, 2, 3]),
        ("header longer than the file", [&9u64.to_le_bytes()[..], b"{}"].concat()),
        ("huge header", [&u64::MAX.to_le_bytes()[..], b"{}"].concat()),
        ("no header", file("", 0)),
        ("not an object", file("[]", 0)),
        ("not JSON", file("{'a'}", 0)),
        ("not text", [&2u64.to_le_bytes()[..], &[0xff, 0xfe]].concat()),
        ("deep", file(&"{\"a\":".repeat(100_000), 0)),
        ("overlap", file(&pair((0, 4), (3, 7)), 7)),
        ("hole", file(&pair((0, 4), (5, 9)), 9)),
        ("hole at the beginning", file(&pair((1, 4), (4, 8)), 8)),
        ("bytes left over", file(&pair((0, 4), (4, 8)), 9)),
        ("beyond the end", file(&pair((0, 4), (4, 8)), 7)),
        ("backwards", file(&format!("{{{}}}", entry("a", "U8", "[4]", 4, 0)), 4)),
        ("size and shape differ", file(&one("F32", "[2]", 4), 4)),
        ("sizes overflow", file(&one("F32", &format!("[{huge},{huge}]"), 8), 8)),
        ("sizes overflow beside 0", file(&one("F32", &format!("[{huge},{huge},0]"), 0), 0)),
        ("sums of sizes overflow", file(&format!("{{{}}}", nine.join(",")), 8)),
        ("negative length", file(&one("U8", "[-1]", 1), 1)),
        ("broken length", file(&one("U8", "[1.5]", 1), 1)),
        ("unknown dtype", file(&one("Q8", "[1]", 1), 1)),
        ("twice", file(&format!("{{{0},{0}}}", entry("a", "U8", "[0]", 0, 0)), 0)),
        ("metadata that is no text", file("{\"__metadata__\":{\"a\":1}}", 0)),
        ("missing entry", file("{\"a\":{\"dtype\":\"U8\",\"shape\":[0]}}", 0)),
    ];
    for (name, bytes) in cases {
        assert_eq!(kind(safetensors::load_buffer(&bytes, CPU)), Some(ErrorKind::Format), "{name}");
        assert_eq!(kind(SliceSafetensors::new(&bytes).map(drop)), Some(ErrorKind::Format), "{name}");
    }
    let known = safetensors::load_buffer(&file(&one("F8_E8M0", "[1]", 1), 1), CPU);
    assert_eq!(kind(known), Some(ErrorKind::DType), "a dtype of the format that tensors lack");
    let deep_rank = format!("[{}]", vec!["1"; 40].join(","));
    assert_eq!(kind(safetensors::load_buffer(&file(&one("U8", &deep_rank, 1), 1), CPU)), Some(ErrorKind::Format));
}

#[test]
fn metadata_is_allowed() -> Result<()> {
    let header = format!("{{\"__metadata__\":{{\"format\":\"pt\"}},{}}}", entry("a", "U8", "[1]", 0, 1));
    assert_eq!(safetensors::load_buffer(&file(&header, 1), CPU)?["a"].to_vec1::<u8>()?, [0]);
    assert!(safetensors::load_buffer(&file("{}", 0), CPU)?.is_empty());
    Ok(())
}

proptest! {
    /// Whatever the bytes, there are tensors no larger than the file, or an error.
    #[test]
    fn changed_files_never_panic(at in 0usize..200, to: u8, cut in 0usize..300, a in 0usize..10, b in 0usize..10) {
        let header = format!("{{{},{}}}", entry("a", "U8", "[4]", a, 4), entry("b", "F32", "[2,1]", 4, b + 4));
        let mut bytes = file(&header, 12);
        let at = at % bytes.len();
        bytes[at] = to;
        bytes.truncate(cut);
        if let Ok(tensors) = safetensors::load_buffer(&bytes, CPU) {
            let size = |t: &Tensor| t.elem_count() * t.dtype().size_in_bytes();
            prop_assert!(tensors.values().map(size).sum::<usize>() <= bytes.len());
        }
    }

    #[test]
    fn any_header_is_parsed_or_refused(text in "\\PC{0,80}") {
        let _ = safetensors::load_buffer(&file(&text, 16), CPU);
    }
}

#[test]
fn texts_about_the_whole_are_kept() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("t.safetensors");
    let texts = HashMap::from([("format".to_owned(), "pt".to_owned()), ("quotes".to_owned(), "\"é\"".to_owned())]);
    safetensors::save_with_metadata(&tensors()?, texts.clone(), &path)?;
    let mapped = MmapedSafetensors::new(&path)?;
    assert_eq!(mapped.metadata(0)?, &texts);
    assert_eq!(kind(mapped.metadata(1)), Some(ErrorKind::Index));
    let bytes = safetensors::to_bytes(&tensors()?, texts.clone())?;
    let slice = SliceSafetensors::new(&bytes)?;
    assert_eq!(slice.metadata(), &texts);
    assert_eq!(slice.names(), mapped.names());
    assert_eq!(slice.names().len(), tensors()?.len());
    Ok(())
}
