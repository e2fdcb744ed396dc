//! Between references' arrays and tensors of any dtype and layout.

use opforge::declaration::{Array, Content, Sample};
use opforge::{DType, Device, Element, F8E4M3, F8E5M2, Layout, Scalar, Tensor, bf16, f16};
use opforge_core::with_element;

use super::text;

/// The dtypes that a call is made in, by what the inputs stand for.
#[derive(Debug, Clone, Copy)]
pub struct Types {
    pub real: DType,
    pub index: DType,
    pub truth: DType,
}

impl Types {
    pub fn real(real: DType) -> Self {
        Types { real, index: DType::I64, truth: DType::Bool }
    }

    pub fn of(self, content: Content) -> DType {
        match content {
            Content::Real => self.real,
            Content::Index => self.index,
            Content::Truth => self.truth,
        }
    }
}

impl std::fmt::Display for Types {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}, indices {}, truths {}", self.real, self.index, self.truth)
    }
}

/// Every choice of dtypes that a sample with these inputs can be called in, the real ones from `reals`.
pub fn all_types(inputs: &[Array], reals: impl Iterator<Item = DType>) -> Vec<Types> {
    let has = |content| inputs.iter().any(|a| a.content == content);
    let base = Types::real(DType::F32);
    let mut all: Vec<Types> = match has(Content::Real) {
        true => reals.map(Types::real).collect(),
        false => vec![base],
    };
    let usual = all.iter().find(|t| t.real == DType::F32).or(all.first()).copied().unwrap_or(base);
    if has(Content::Index) {
        all.extend(DType::ALL.into_iter().filter(|d| d.is_int()).map(|index| Types { index, ..usual }));
    }
    if has(Content::Truth) {
        all.push(Types { truth: DType::U8, ..usual });
    }
    all
}

/// Real numbers as near as a dtype holds them. Integers go away from zero, so that no divisor becomes 0; `non_negative` takes absolute values.
pub fn held(array: &Array, dtype: DType, non_negative: bool) -> Array {
    if array.content != Content::Real {
        return array.clone();
    }
    let array = if non_negative { array.map(f64::abs) } else { array.clone() };
    match dtype {
        DType::Bool => array.map(|x| f64::from(x.trunc() != 0.0)),
        d if d.is_int() && d.is_signed() => array.map(|x| x.abs().ceil().copysign(x)),
        d if d.is_int() => array.map(|x| x.abs().ceil()),
        DType::F8E4M3 => array.map(|x| F8E4M3::from_f64(x).to_f64()),
        DType::F8E5M2 => array.map(|x| F8E5M2::from_f64(x).to_f64()),
        DType::F16 => array.map(|x| f16::from_f64(x).to_f64()),
        DType::BF16 => array.map(|x| bf16::from_f64(x).to_f64()),
        DType::F32 | DType::C64 => array.map(|x| f64::from(x as f32)),
        _ => array,
    }
}

/// Operators that integers with negative numbers make fail, as documented.
const NON_NEGATIVE_INTEGERS: [&str; 1] = ["pow"];

/// The sample's inputs as the dtypes hold them.
pub fn inputs_in(name: &str, sample: &Sample, types: Types) -> Vec<Array> {
    let non_negative = types.real.is_int() && NON_NEGATIVE_INTEGERS.contains(&name);
    sample.inputs.iter().map(|a| held(a, types.of(a.content), non_negative)).collect()
}

/// An element of a complex tensor has the negated real part as its imaginary part.
fn element(x: f64, dtype: DType) -> Scalar {
    if dtype.is_complex() { Scalar::Complex(x, -x) } else { Scalar::Float(x) }
}

/// The array as a row-major tensor on a device.
pub fn tensor_on(array: &Array, dtype: DType, device: &Device) -> Tensor {
    with_element!(dtype, T => {
        let data: Vec<T> = array.data.iter().map(|&x| T::from_scalar(element(x, dtype))).collect();
        Tensor::from_vec(data, &array.shape[..], device).expect("an array has the elements of its shape")
    })
}

/// The array as a row-major tensor.
pub fn tensor(array: &Array, dtype: DType) -> Tensor {
    tensor_on(array, dtype, &Device::Cpu)
}

/// The arrays as row-major tensors.
pub fn tensors(arrays: &[Array], types: Types) -> Vec<Tensor> {
    arrays.iter().map(|a| tensor(a, types.of(a.content))).collect()
}

/// The array as a tensor of any strides and offset, among elements that must not be read: NaN, or a large number.
pub fn placed(array: &Array, dtype: DType, stride: &[usize], offset: usize) -> Tensor {
    let layout = Layout::new((&array.shape[..]).into(), stride.into(), offset, "placed").expect("a small layout");
    with_element!(dtype, T => {
        let junk = T::from_scalar(Scalar::Float(if dtype.kind() < opforge_core::Kind::Float { 113.0 } else { f64::NAN }));
        let mut data: Vec<T> = vec![junk; layout.span().max(offset) + 3];
        for (at, &x) in layout.indices().zip(&array.data) {
            data[at] = T::from_scalar(element(x, dtype));
        }
        let len = data.len();
        let storage = Tensor::from_vec(data, len, &Device::Cpu).expect("a vector");
        storage.as_strided(&array.shape[..], stride, offset).expect("a layout within the vector")
    })
}

/// References to all.
pub fn refs(tensors: &[Tensor]) -> Vec<&Tensor> {
    tensors.iter().collect()
}

/// The elements in row-major order, errors as text.
pub fn read(tensor: &Tensor) -> Result<Vec<Scalar>, String> {
    elements(tensor).map_err(text)
}

/// The elements in row-major order.
pub fn elements(tensor: &Tensor) -> opforge::Result<Vec<Scalar>> {
    let flat = tensor.detach().flatten_all()?;
    with_element!(tensor.dtype(), T => Ok(flat.to_vec1::<T>()?.into_iter().map(T::to_scalar).collect()))
}

/// The bytes of the elements in row-major order, errors as text.
pub fn read_bytes(tensor: &Tensor) -> Result<Vec<u8>, String> {
    let read = || {
        let tensor = tensor.detach().contiguous()?;
        Device::Cpu.synchronize()?;
        let size = tensor.dtype().size_in_bytes();
        let first = tensor.storage().data()?.as_ptr().wrapping_add(tensor.layout().start_offset() * size);
        // SAFETY: the tensor is contiguous, its storage holds all its elements, and nothing that was issued is running any more.
        Ok(unsafe { std::slice::from_raw_parts(first, tensor.elem_count() * size) }.to_vec())
    };
    read().map_err(text)
}

/// The elements in row-major order as f64.
pub fn read_f64(tensor: &Tensor) -> Result<Vec<f64>, String> {
    Ok(read(tensor)?.into_iter().map(Scalar::to_f64).collect())
}

/// The distance from 1 to the next number of a dtype; 0 for exact dtypes.
pub fn epsilon(dtype: DType) -> f64 {
    match dtype {
        DType::F8E4M3 => 2f64.powi(-3),
        DType::F8E5M2 => 2f64.powi(-2),
        DType::F16 => 2f64.powi(-10),
        DType::BF16 => 2f64.powi(-7),
        DType::F32 | DType::C64 => 2f64.powi(-23),
        DType::F64 | DType::C128 => 2f64.powi(-52),
        _ => 0.0,
    }
}

/// The integer `x` modulo the dtype's range; infinities saturate and NaN gives 0.
fn wrapped(x: f64, dtype: DType) -> i128 {
    let bits = 8 * dtype.size_in_bytes();
    let modulus = 1i128 << bits;
    if !x.is_finite() {
        let (low, high) = if dtype.is_signed() { (-modulus / 2, modulus / 2 - 1) } else { (0, modulus - 1) };
        return (x as i128).clamp(low, high);
    }
    let wrapped = (x as i128).rem_euclid(modulus);
    if dtype.is_signed() && wrapped >= modulus / 2 { wrapped - modulus } else { wrapped }
}

fn whole(x: Scalar) -> i128 {
    match x {
        Scalar::UInt(u) => u.into(),
        other => other.to_i64().into(),
    }
}

/// Checks the outputs against the reference, whose results integers truncate and wrap. `given` is the inputs' real dtype, which limits the
/// accuracy along with the output's.
pub fn check_outputs(outputs: &[Tensor], sample: &Sample, inputs: &[Array], given: DType) -> Result<(), String> {
    let expected = sample.expected(inputs);
    if outputs.len() != expected.len() {
        return Err(format!("{} outputs, expected {}", outputs.len(), expected.len()));
    }
    for (i, (output, expected)) in outputs.iter().zip(&expected).enumerate() {
        check_output(output, expected, given, scale_of(inputs)).map_err(|e| format!("output {i}: {e}"))?;
        if given.is_complex() && output.dtype().is_complex() {
            check_imaginary(output, i, sample, inputs, given).map_err(|e| format!("output {i}, imaginary: {e}"))?;
        }
    }
    Ok(())
}

/// Operators on complex numbers are linear, up to a constant, in the real inputs: the reference serves the imaginary parts too.
fn check_imaginary(output: &Tensor, i: usize, sample: &Sample, inputs: &[Array], given: DType) -> Result<(), String> {
    let with = |f: fn(f64) -> f64| -> Array {
        let part = |a: &Array| if a.content == Content::Real { a.map(f) } else { a.clone() };
        sample.expected(&inputs.iter().map(part).collect::<Vec<_>>()).swap_remove(i)
    };
    let (negated, constant) = (with(|x| -x), with(|_| 0.0));
    let data = negated.data.iter().zip(&constant.data).map(|(x, c)| x - c).collect();
    let imaginary: Vec<f64> = read(output)?.into_iter().map(|x| x.to_complex().1).collect();
    compare(&imaginary, &Array { data, ..negated }, tolerance_of(output.dtype(), given), 1.0)
}

fn tolerance_of(output: DType, given: DType) -> f64 {
    8.0 * epsilon(output).max(epsilon(given))
}

/// The largest of the finite real inputs, but at most 1: what errors are relative to where results cancel.
pub fn scale_of(inputs: &[Array]) -> f64 {
    let reals = inputs.iter().filter(|a| a.content == Content::Real).flat_map(|a| &a.data);
    reals.filter(|x| x.is_finite()).fold(0f64, |m, x| m.max(x.abs())).min(1.0)
}

/// Checks shape and elements of one output.
pub fn check_output(output: &Tensor, expected: &Array, given: DType, scale: f64) -> Result<(), String> {
    if output.dims() != &expected.shape[..] {
        return Err(format!("shape {:?}, expected {:?}", output.dims(), expected.shape));
    }
    let dtype = output.dtype();
    let got = read(output)?;
    if dtype.is_differentiable() {
        let real: Vec<f64> = got.into_iter().map(Scalar::to_f64).collect();
        return compare(&real, expected, tolerance_of(dtype, given), scale);
    }
    for (k, (&got, &x)) in got.iter().zip(&expected.data).enumerate() {
        let want = if dtype == DType::Bool { i128::from(x != 0.0) } else { wrapped(x, dtype) };
        if whole(got) != want {
            return Err(format!("element {k} is {got} in {dtype}, expected {want}"));
        }
    }
    Ok(())
}

/// Compares floats: NaN with NaN, infinities exactly, others relative to themselves and to the scale.
fn compare(got: &[f64], expected: &Array, tolerance: f64, scale: f64) -> Result<(), String> {
    for (k, (&got, &want)) in got.iter().zip(&expected.data).enumerate() {
        let near = (got - want).abs() <= tolerance * (want.abs() + scale);
        if !(near || got == want || got.is_nan() && want.is_nan()) {
            return Err(format!("element {k} is {got:e}, expected {want:e}"));
        }
    }
    Ok(())
}
