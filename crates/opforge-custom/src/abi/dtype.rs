//! What dtypes are called in the binary interface.

use std::ffi::CStr;

use opforge_core::DType;

/// The most outputs whose types a function of C++'s form can infer.
pub(crate) const TYPE_CAPACITY: usize = 64;

/// Each dtype with its name and its number in MindSpore's enumeration `TypeId`.
const NAMES: [(DType, &CStr, i32); 17] = [
    (DType::Bool, c"bool", 30),
    (DType::I8, c"int8", 32),
    (DType::I16, c"int16", 33),
    (DType::I32, c"int32", 34),
    (DType::I64, c"int64", 35),
    (DType::U8, c"uint8", 37),
    (DType::U16, c"uint16", 38),
    (DType::U32, c"uint32", 39),
    (DType::U64, c"uint64", 40),
    (DType::F16, c"float16", 42),
    (DType::F32, c"float32", 43),
    (DType::F64, c"float64", 44),
    (DType::BF16, c"bfloat16", 45),
    (DType::F8E4M3, c"float8_e4m3fn", 46),
    (DType::F8E5M2, c"float8_e5m2", 47),
    (DType::C64, c"complex64", 51),
    (DType::C128, c"complex128", 52),
];

/// Names and numbers that older documents use.
const ALIASES: [(DType, &CStr, i32); 4] =
    [(DType::I32, c"int", 31), (DType::U32, c"uint", 36), (DType::F32, c"float", 41), (DType::F64, c"double", 49)];

fn entry(dtype: DType) -> &'static (DType, &'static CStr, i32) {
    // Every dtype is in the table.
    NAMES.iter().find(|(own, ..)| *own == dtype).unwrap_or(&NAMES[0])
}

/// A dtype's name, as kernels see it.
pub(crate) fn dtype_name(dtype: DType) -> &'static CStr {
    entry(dtype).1
}

/// The dtype of a name that a kernel states.
pub(crate) fn dtype_of(name: &[u8]) -> Option<DType> {
    NAMES.iter().chain(&ALIASES).find(|(_, own, _)| own.to_bytes() == name).map(|(dtype, ..)| *dtype)
}

/// A dtype's number in MindSpore's enumeration.
pub(crate) fn type_id(dtype: DType) -> i32 {
    entry(dtype).2
}

/// The dtype of a number in MindSpore's enumeration.
pub(crate) fn dtype_of_type_id(id: i32) -> Option<DType> {
    NAMES.iter().chain(&ALIASES).find(|(.., own)| *own == id).map(|(dtype, ..)| *dtype)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_dtype_has_a_name_and_a_number_of_its_own() {
        for dtype in DType::ALL {
            assert_eq!(dtype_name(dtype).to_str(), Ok(dtype.long_name()));
            assert_eq!(dtype_of(dtype_name(dtype).to_bytes()), Some(dtype));
            assert_eq!(dtype_of_type_id(type_id(dtype)), Some(dtype));
        }
    }
}
