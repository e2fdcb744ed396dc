//! Element formats, as the module `struct` and PEP 3118 spell them.

use std::ffi::CStr;

use opforge::DType;

/// The format of a dtype's elements; bfloat16 and float8 have none.
pub fn of_dtype(dtype: DType) -> Option<&'static CStr> {
    Some(match dtype {
        DType::Bool => c"?",
        DType::U8 => c"B",
        DType::U16 => c"H",
        DType::U32 => c"I",
        DType::U64 => c"Q",
        DType::I8 => c"b",
        DType::I16 => c"h",
        DType::I32 => c"i",
        DType::I64 => c"q",
        DType::F16 => c"e",
        DType::F32 => c"f",
        DType::F64 => c"d",
        DType::C64 => c"Zf",
        DType::C128 => c"Zd",
        DType::F8E4M3 | DType::F8E5M2 | DType::BF16 => return None,
    })
}

/// Whether the bytes of each element are in the other order than this machine's.
pub fn is_swapped(format: &str, itemsize: usize) -> bool {
    let foreign = if cfg!(target_endian = "little") { ['>', '!'] } else { ['<', '<'] };
    itemsize > 1 && format.starts_with(foreign)
}

/// The dtype of a format of this machine's byte order. Integer formats differ in size between systems: the size of an element decides.
pub fn to_dtype(format: &str, itemsize: usize) -> Option<DType> {
    let of_size = |dtypes: &[DType]| dtypes.iter().copied().find(|dtype| dtype.size_in_bytes() == itemsize);
    match format.trim_start_matches(['@', '=', '<', '>', '!', '^']) {
        "?" => of_size(&[DType::Bool]),
        "b" | "h" | "i" | "l" | "q" | "n" => of_size(&[DType::I8, DType::I16, DType::I32, DType::I64]),
        "B" | "H" | "I" | "L" | "Q" | "N" => of_size(&[DType::U8, DType::U16, DType::U32, DType::U64]),
        "e" | "f" | "d" => of_size(&[DType::F16, DType::F32, DType::F64]),
        "Zf" | "Zd" | "F" | "D" => of_size(&[DType::C64, DType::C128]),
        _ => None,
    }
}
