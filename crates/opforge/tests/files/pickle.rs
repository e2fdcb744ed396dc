//! PyTorch's checkpoints: what is written is read, and what is malformed is an error.

use opforge::pickle::{Checkpoint, Encoded, Map, Object, PthTensors, read_all, read_all_with_key, save, to_bytes};
use opforge::{DType, Device, Error, FileAccess, Result, Tensor};
use proptest::prelude::*;

const CPU: Device = Device::Cpu;

fn path(name: &str) -> (tempfile::TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join(name);
    (folder, path)
}

fn numbers(dtype: DType) -> Result<Tensor> {
    Tensor::new(&[[0f32, 1.0, 0.0], [1.0, 1.0, 0.0]], &CPU)?.to_dtype(dtype)
}

#[test]
fn every_dtype_and_layout_comes_back() -> Result<()> {
    for dtype in DType::ALL {
        let (_folder, path) = path("weights.pt");
        let x = numbers(dtype)?;
        let tensors =
            [("whole", x.clone()), ("turned", x.t()?), ("part", x.narrow(1, 1, 2)?), ("none", x.narrow(0, 1, 0)?)];
        save(&tensors, &path)?;
        for access in [FileAccess::Copy, FileAccess::Map] {
            let mut checkpoint = Checkpoint::open(&path, access)?;
            for (name, tensor) in &tensors {
                let place = checkpoint.pickle().get(checkpoint.pickle().root(), name).expect("an entry");
                let Object::Tensor(stored) = checkpoint.pickle().object(place).clone() else { panic!("a tensor") };
                let read = checkpoint.tensor(&stored, &CPU)?;
                assert_eq!((read.dtype(), read.dims()), (tensor.dtype(), tensor.dims()), "{name}");
                let wide = |t: &Tensor| f64s(t);
                assert_eq!(wide(&read)?, wide(tensor)?, "{dtype} {name}");
            }
        }
    }
    Ok(())
}

/// The elements' parts.
fn f64s(t: &Tensor) -> Result<Vec<f64>> {
    let t = if t.dtype().is_complex() { opforge::functional::view_as_real(&t.contiguous()?)? } else { t.clone() };
    t.contiguous()?.to_dtype(DType::F64)?.flatten_all()?.to_vec1()
}

#[test]
fn tensors_of_one_storage_share_memory_and_no_more_is_written_than_they_reach() -> Result<()> {
    let (_folder, path) = path("views.pth");
    let large = Tensor::zeros(1 << 20, DType::F32, &CPU)?;
    save(&[("a", large.narrow(0, 5000, 10)?), ("b", large.narrow(0, 5005, 10)?)], &path)?;
    assert!(std::fs::metadata(&path)?.len() < 2000);
    let tensors = PthTensors::new(&path, None)?;
    let (a, b) = (tensors.get("a")?.expect("a"), tensors.get("b")?.expect("b"));
    assert!(std::sync::Arc::ptr_eq(a.storage(), b.storage()));
    assert_eq!(tensors.names(), ["a", "b"]);
    assert_eq!(tensors.tensor_infos()["b"].layout.start_offset(), 5);
    assert!(tensors.get("c")?.is_none());
    Ok(())
}

#[test]
fn containers_nest() -> Result<()> {
    let mut encoded = Encoded::default();
    let weight = encoded.tensor(&numbers(DType::F32)?, true, true)?;
    let weight = encoded.add(weight);
    let name = encoded.add(Object::Text("weight".to_owned()));
    let module = encoded.add(Object::Map { map: Map::Ordered, entries: vec![(name, weight)], attributes: None });
    let (state, step) = (encoded.add(Object::Text("model".to_owned())), encoded.add(Object::Text("step".to_owned())));
    let seven = encoded.add(Object::Int(7));
    let root =
        encoded.add(Object::Map { map: Map::Dict, entries: vec![(state, module), (step, seven)], attributes: None });
    let (_folder, path) = path("checkpoint.pt");
    std::fs::write(&path, to_bytes(encoded, root)?)?;
    assert_eq!(read_all_with_key(&path, Some("model"))?[0].1.dims(), [2, 3]);
    assert!(read_all(&path)?.is_empty());
    assert!(matches!(read_all_with_key(&path, Some("step")), Err(error) if error.to_string().contains("mapping")));
    assert!(read_all_with_key(&path, Some("other")).is_err());
    Ok(())
}

/// A pickle of protocol 0 to 2 alone.
fn refused(pickle: &[u8]) -> String {
    match Checkpoint::from_bytes(pickle.to_vec()) {
        Err(error) => error.to_string(),
        Ok(read) => panic!("{:?}", read.pickle()),
    }
}

#[test]
fn nothing_is_executed() {
    let error = refused(b"\x80\x02cos\nsystem\nX\x04\x00\x00\x00true\x85R.");
    assert!(error.contains("os.system") && error.contains("not executed"), "{error}");
    assert!(refused(b"\x80\x02cbuiltins\neval\n(X\x01\x00\x00\x001tR.").contains("builtins.eval"));
    assert!(refused(b"\x80\x02ccollections\nOrderedDict\n)R(K\x01t\x85b.").contains("expected a mapping"));
    assert!(refused(b"(i__main__\nC\n.").contains("not carried out"));
    assert!(refused(b"\x80\x02K\x01K\x02b.").contains("not kept"));
    assert!(refused(b"\x80\x09.").contains("protocol"));
}

#[test]
fn malformed_pickles_are_errors() {
    for bytes in [
        &b""[..],
        b".",
        b"\x80\x02",
        b"\x80\x02t.",
        b"\x80\x02h\x00.",
        b"\x80\x02X\xff\xff\xff\x7fa.",
        b"\x80\x02]K\x01s.",
        b"\x80\x02}(K\x01u.",
    ] {
        assert!(!refused(bytes).is_empty());
    }
}

#[test]
fn a_tensor_beyond_its_storage_is_an_error() -> Result<()> {
    let mut encoded = Encoded::default();
    let Object::Tensor(stored) = encoded.tensor(&numbers(DType::F32)?, false, false)? else { panic!("a tensor") };
    for (shape, stride, offset) in [
        (vec![7], vec![1], 0),
        (vec![2], vec![usize::MAX / 2], 0),
        (vec![1], vec![1], 6),
        (vec![usize::MAX, 4], vec![0, 1], 0),
    ] {
        let mut checkpoint = Checkpoint::from_bytes({
            let mut again = Encoded::default();
            let tensor = again.tensor(&numbers(DType::F32)?, false, false)?;
            let root = again.add(tensor);
            to_bytes(again, root)?
        })?;
        let wrong = opforge::pickle::Stored { shape, stride, offset, ..stored.clone() };
        let Object::Tensor(right) = checkpoint.pickle().object(checkpoint.pickle().root()).clone() else { panic!() };
        let wrong = opforge::pickle::Stored { storage: right.storage, ..wrong };
        assert!(matches!(checkpoint.tensor(&wrong, &CPU), Err(error) if error.to_string().contains("beyond")));
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    /// Bytes exchanged, left out or put in anywhere give tensors or an error.
    #[test]
    fn changed_files_do_no_harm(at in 0usize..2000, byte in any::<u8>(), how in 0..3) {
        let x = numbers(DType::F32).unwrap();
        let mut encoded = Encoded::default();
        let tensor = encoded.tensor(&x, false, false).unwrap();
        let root = encoded.add(tensor);
        let mut bytes = to_bytes(encoded, root).unwrap();
        let at = at % bytes.len();
        match how {
            0 => bytes[at] ^= byte,
            1 => bytes.truncate(at),
            _ => bytes.insert(at, byte),
        }
        if let Ok(mut checkpoint) = Checkpoint::from_bytes(bytes)
            && let Object::Tensor(stored) = checkpoint.pickle().object(checkpoint.pickle().root()).clone()
        {
            let _: std::result::Result<Tensor, Error> = checkpoint.tensor(&stored, &CPU);
        }
    }
}

#[test]
fn arrays_of_numpy_are_objects_of_numbers() -> Result<()> {
    // numpy.dtype('>i2') and a scalar of it, as numpy writes them.
    let dtype = b"cnumpy\ndtype\nX\x02\x00\x00\x00i2\x89\x88\x87R(K\x03X\x01\x00\x00\x00>NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb";
    let scalar = [&b"\x80\x02cnumpy.core.multiarray\nscalar\n"[..], dtype, b"C\x02\x00\x07\x86R."].concat();
    let read = Checkpoint::from_bytes(scalar)?;
    let wanted = Object::Array { dtype: ">i2".to_owned(), shape: None, fortran_order: false, bytes: vec![0, 7] };
    assert_eq!(read.pickle().object(read.pickle().root()), &wanted);
    assert!(refused(b"\x80\x02cnumpy\ndtype\nX\x02\x00\x00\x00O8\x89\x88\x87R.").contains("accepted: numbers"));
    assert!(refused(b"\x80\x02cnumpy.core.multiarray\n_reconstruct\n)R(K\x01)tb.").contains("five parts"));
    Ok(())
}
