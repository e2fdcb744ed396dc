use super::*;

#[test]
fn shapes_and_dtypes_that_do_not_go_together_are_refused() {
    let m = |dtype: DType, dims: &[usize]| Meta::contiguous(dtype, dims);
    let call = |dtype: DType, weight: &[usize]| {
        let inputs = [m(dtype, &[3, 2, 8]), m(dtype, weight), m(dtype, &[8]), m(dtype, &[2, 2]), m(dtype, &[2, 2])];
        let outputs = [m(dtype, &[3, 2, 2]), m(dtype, &[3, 2, 2]), m(dtype, &[3, 2, 8])];
        let (inputs, outputs): (Vec<&Meta>, Vec<&Meta>) = (inputs.iter().collect(), outputs.iter().collect());
        forward("lstm", CellKind::Lstm, false, &inputs, &outputs).map(|_| ()).map_err(|e| e.kind())
    };
    assert_eq!(call(DType::F32, &[8, 2]), Ok(()));
    assert_eq!(call(DType::F32, &[8, 3]), Err(opforge_core::ErrorKind::Shape));
    assert_eq!(call(DType::I64, &[8, 2]), Err(opforge_core::ErrorKind::DType));
}
