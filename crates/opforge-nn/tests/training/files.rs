//! Saving and loading variables.

use std::path::PathBuf;

use opforge::{DType, Device, ErrorKind, Result, Tensor};
use opforge_nn::{Init, VarBuilder, VarMap};

const CPU: &Device = &Device::Cpu;

/// A file in the tests' own folder.
fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name)
}

fn model(dtypes: &[DType], init: Init) -> Result<VarMap> {
    let vars = VarMap::new();
    for &dtype in dtypes {
        vars.get((3, 2), &format!("{dtype}.weight"), init, dtype, CPU)?;
    }
    Ok(vars)
}

#[test]
fn what_is_saved_is_loaded() -> Result<()> {
    let floats = [DType::F16, DType::BF16, DType::F32, DType::F64];
    let saved = model(&floats, Init::Randn { mean: 0.0, stdev: 1.0 })?;
    saved.save(path("floats.safetensors"))?;
    let mut loaded = model(&floats, Init::Const(0.0))?;
    let weight = loaded.data().lock().unwrap()["f32.weight"].as_tensor().clone();
    loaded.load(path("floats.safetensors"))?;
    let bits = |vars: &VarMap| -> Result<Vec<Vec<f64>>> {
        vars.all_vars().iter().map(|v| v.to_dtype(DType::F64)?.flatten_all()?.to_vec1()).collect()
    };
    assert_eq!(bits(&saved)?, bits(&loaded)?);
    assert_ne!(weight.to_vec2::<f32>()?, [[0.0; 2]; 3], "earlier clones see what was loaded");
    let vb = VarBuilder::from_mmaped_safetensors(&[path("floats.safetensors")], DType::F64, CPU)?;
    assert_eq!(vb.pp("f64").get((3, 2), "weight")?.flatten_all()?.to_vec1::<f64>()?, bits(&saved)?[3]);
    Ok(())
}

#[test]
fn a_file_that_does_not_fit_changes_nothing() -> Result<()> {
    model(&[DType::F32], Init::Const(1.0))?.save(path("small.safetensors"))?;
    let mut larger = model(&[DType::F32, DType::F64], Init::Const(2.0))?;
    let error = larger.load(path("small.safetensors")).unwrap_err();
    assert!(error.to_string().contains("f64.weight"), "{error}");
    let mut wider = VarMap::new();
    wider.get((3, 3), "f32.weight", Init::Const(2.0), DType::F32, CPU)?;
    assert_eq!(wider.load(path("small.safetensors")).unwrap_err().kind(), ErrorKind::Shape);
    for vars in [larger, wider] {
        for var in vars.all_vars() {
            assert_eq!(var.to_dtype(DType::F32)?.max_all()?.to_scalar::<f32>()?, 2.0);
        }
    }
    Ok(())
}

#[test]
fn malformed_files_are_refused() -> Result<()> {
    let vars = model(&[DType::F32], Init::Const(1.0))?;
    vars.save(path("whole.safetensors"))?;
    let whole = std::fs::read(path("whole.safetensors"))?;
    for cut in [0, 4, 8, 20, whole.len() - 1] {
        let error =
            VarBuilder::from_buffered_safetensors(whole[..cut].to_vec(), DType::F32, CPU).err().expect("an error");
        assert_eq!(error.kind(), ErrorKind::Format, "{cut} bytes: {error}");
    }
    let error = vars.clone().load(path("absent.safetensors")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io);
    assert!(error.to_string().contains("absent.safetensors"), "{error}");
    Ok(())
}

#[test]
fn set_by_name() -> Result<()> {
    let mut vars = model(&[DType::F32], Init::Const(1.0))?;
    vars.set([("f32.weight", Tensor::zeros((3, 2), DType::F32, CPU)?)].into_iter())?;
    assert_eq!(vars.all_vars()[0].to_vec2::<f32>()?, [[0.0; 2]; 3]);
    let error = vars.set_one("f32.weight", Tensor::zeros(2, DType::F32, CPU)?).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Shape);
    assert!(vars.set_one("other", Tensor::zeros(2, DType::F32, CPU)?).is_err());
    Ok(())
}
