//! Layouts and memory that arguments share.

use super::*;

#[test]
fn class_11_overlapping_arguments() {
    all_refused(vec![
        case(&[Value], &["add", "out"], || {
            let base = x(&[4]);
            done(base.narrow(0, 0, 3)?.add_(&base.narrow(0, 1, 3)?))
        }),
        case(&[Value], &["mul", "out"], || {
            let base = x(&[3, 3]);
            done(base.mul_(&base.t()?))
        }),
        case(&[Value], &["copy"], || {
            let base = x(&[4]);
            done(base.narrow(0, 1, 3)?.copy_from(&base.narrow(0, 0, 3)?))
        }),
        case(&[Value], &["matmul", "out"], || {
            let base = x(&[3, 3]);
            done(dispatch_into(&MatMul, &[&base, &x(&[3, 3])], &[&base]))
        }),
        case(&[Value], &["slice_set", "src"], || {
            let base = x(&[4]);
            done(base.slice_set(&base.narrow(0, 0, 1)?, 0, 2))
        }),
        case(&[Value], &["scatter_add", "src"], || {
            let base = x(&[4]);
            done(base.scatter_add_set(&ids(&[0, 1, 2, 3]), &base, 0))
        }),
    ]);
    let disjoint = x(&[4]);
    disjoint.narrow(0, 0, 2).unwrap().add_(&disjoint.narrow(0, 2, 2).unwrap()).unwrap();
    assert_eq!(disjoint.to_vec1::<f32>().unwrap(), [2.0, 2.0, 1.0, 1.0]);
}

#[test]
fn class_12_writes_through_stride_0() {
    all_refused(vec![
        case(&[Value], &["add", "out", "share memory"], || done(x(&[1]).broadcast_as(3)?.add_(&x(&[3])))),
        case(&[Value], &["copy", "out"], || done(x(&[3, 1]).broadcast_as((3, 2))?.copy_from(&x(&[3, 2])))),
        case(&[Value], &["full", "out"], || done(x(&[1]).broadcast_as(3)?.const_set(0i64.into()))),
        case(&[Value], &["add", "out"], || done(x(&[4]).as_strided((3, 2), &[1, 1], 0)?.add_(&x(&[3, 2])))),
    ]);
}

#[test]
fn class_12_writes_into_a_mapped_file() -> opforge::Result<()> {
    let path = std::env::temp_dir().join(format!("opforge-read-only-{}.safetensors", std::process::id()));
    x(&[4]).save_safetensors("x", &path)?;
    let mapped = opforge::safetensors::MmapedSafetensors::new(&path)?.load("x", &Device::Cpu)?;
    std::fs::remove_file(&path)?;
    let target = mapped.clone();
    all_refused(vec![case(&[Value], &["add", "read-only"], move || done(target.add_(&x(&[4]))))]);
    assert_eq!(mapped.to_vec1::<f32>()?, x(&[4]).to_vec1::<f32>()?);
    Ok(())
}

#[test]
fn class_13_layouts_beyond_the_storage() {
    all_refused(vec![
        case(&[Index], &["as_strided", "16 bytes"], || x(&[4]).as_strided(5, &[1], 0)),
        case(&[Index], &["as_strided"], || x(&[4]).as_strided(4, &[1], 1)),
        case(&[Index], &["as_strided"], || x(&[4]).as_strided((2, 2), &[3, 1], 0)),
        case(&[Index], &["as_strided"], || x(&[4]).as_strided(0, &[1], 5)),
        case(&[Index], &["as_strided"], || f::as_strided(&x(&[4]), &[2], &[1], Some(3))),
        case(&[Shape], &["as_strided", "stride"], || x(&[4]).as_strided((2, 2), &[1], 0)),
        case(&[Value], &["as_strided", "-1"], || f::as_strided(&x(&[4]), &[2], &[1], Some(-1))),
        case(&[Value], &["slice", "step"], || x(&[4]).slice(0, 0, 4, 0)),
        case(&[Value], &["slice", "step"], || f::slice(&x(&[4]), 0, None, None, -1)),
    ]);
}
