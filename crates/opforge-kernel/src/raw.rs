//! `opforge/kernel.h`: what passes between the framework and a library.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::slice;

use crate::{DType, Error, Result};

pub type Getter<T> = unsafe extern "C" fn(*mut c_void, *const c_char, *mut T) -> c_int;
pub type ListGetter<T> = unsafe extern "C" fn(*mut c_void, *const c_char, *mut *const T, *mut usize) -> c_int;
pub type RowsGetter<T> =
    unsafe extern "C" fn(*mut c_void, *const c_char, *mut *const T, *mut *const usize, *mut usize) -> c_int;

/// `opforge_extra_api`
#[repr(C)]
pub struct Api {
    pub version: u32,
    pub has_attr: unsafe extern "C" fn(*mut c_void, *const c_char) -> c_int,
    pub get_bool: Getter<c_int>,
    pub get_int: Getter<i64>,
    pub get_float: Getter<f32>,
    pub get_string: ListGetter<c_char>,
    pub get_ints: ListGetter<i64>,
    pub get_floats: ListGetter<f32>,
    pub get_int_rows: RowsGetter<i64>,
    pub get_float_rows: RowsGetter<f32>,
    pub set_workspaces: unsafe extern "C" fn(*mut c_void, *const usize, usize),
    pub set_kernel_data: unsafe extern "C" fn(*mut c_void, *mut c_void, unsafe extern "C" fn(*mut c_void)),
    pub kernel_data: unsafe extern "C" fn(*mut c_void) -> *mut c_void,
    pub set_error: unsafe extern "C" fn(*mut c_void, *const c_char),
    pub add_output: unsafe extern "C" fn(*mut c_void, *const c_char, c_int, *const i64),
    pub counts: unsafe extern "C" fn(*mut c_void, *mut c_int, *mut c_int),
}

/// What stands behind the 40 bytes that are compatible with MindSpore's.
#[repr(C)]
struct Tail {
    compatible: [u8; 40],
    magic: u64,
    api: *const Api,
}

const MAGIC: u64 = 0x6f70_666f_7267_6531;

/// opforge's `extra`.
#[derive(Clone, Copy)]
pub struct Extra {
    pub at: *mut c_void,
    pub api: &'static Api,
}

impl Extra {
    /// `None` where another framework runs the kernel.
    ///
    /// # Safety
    /// `at` is null, or what a framework passed as `extra`.
    pub unsafe fn new(at: *mut c_void) -> Option<Self> {
        let tail = at.cast::<Tail>();
        // SAFETY: the header reads the same; whatever a framework passes has as many bytes.
        unsafe {
            if tail.is_null() || (*tail).magic != MAGIC {
                return None;
            }
            Some(Extra { at, api: (*tail).api.as_ref()? })
        }
    }

    /// How many inputs and outputs there are; `None` is unknown.
    pub fn counts(self) -> (Option<usize>, Option<usize>) {
        let (mut inputs, mut outputs) = (-1, -1);
        // SAFETY: both are places for a result.
        unsafe { (self.api.counts)(self.at, &mut inputs, &mut outputs) };
        (inputs.try_into().ok(), outputs.try_into().ok())
    }
}

/// The arrays that describe arguments, of one length.
#[derive(Clone, Copy)]
pub struct Arrays<'a> {
    ndims: &'a [c_int],
    shapes: &'a [*const i64],
    dtypes: &'a [*const c_char],
}

/// A tensor's dtype and shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Info<'a> {
    /// The type of the elements.
    pub dtype: DType,
    /// The lengths of the dimensions; none at rank 0.
    pub shape: &'a [usize],
}

const _: () = assert!(size_of::<usize>() == size_of::<i64>(), "kernels are for platforms of 64 bits");

impl<'a> Arrays<'a> {
    /// # Safety
    /// The pointers lead to arrays for `count` arguments, in the form of the header, that live and do not change for `'a`.
    pub unsafe fn new(
        count: usize,
        ndims: *const c_int,
        shapes: *const *const i64,
        dtypes: *const *const c_char,
    ) -> Self {
        // SAFETY: each pointer leads to `count` entries that do not change for `'a`.
        unsafe { Arrays { ndims: list(ndims, count), shapes: list(shapes, count), dtypes: list(dtypes, count) } }
    }

    pub fn len(&self) -> usize {
        self.ndims.len()
    }

    /// The lengths of an argument, negative ones too.
    pub fn lengths(&self, i: usize) -> Result<&'a [i64]> {
        let rank = usize::try_from(self.ndims[i]).map_err(|_| Error::new(format_args!("argument {i} has no rank")))?;
        // SAFETY: a shape has as many lengths as the rank says.
        Ok(unsafe { list(self.shapes[i], rank) })
    }

    pub fn dtype(&self, i: usize) -> Result<DType> {
        // SAFETY: dtypes are texts that end with a zero.
        let name = unsafe { CStr::from_ptr(self.dtypes[i]) };
        DType::from_name(name).ok_or_else(|| Error::new(format_args!("argument {i} has dtype {name:?}")))
    }

    pub fn info(&self, i: usize) -> Result<Info<'a>> {
        let lengths = self.lengths(i)?;
        if lengths.iter().any(|&length| length < 0) {
            return Err(Error::new(format_args!("argument {i} has shape {lengths:?}")));
        }
        // SAFETY: both types have 64 bits, and the lengths are not negative.
        let shape = unsafe { list(lengths.as_ptr().cast(), lengths.len()) };
        Ok(Info { dtype: self.dtype(i)?, shape })
    }
}

/// A list whose address may be anything where it is empty.
///
/// # Safety
/// As for [`slice::from_raw_parts`] where it is not empty.
pub unsafe fn list<'a, T>(first: *const T, count: usize) -> &'a [T] {
    // SAFETY: `first` begins `count` initialised elements that live and do not change for `'a`.
    if count == 0 { &[] } else { unsafe { slice::from_raw_parts(first, count) } }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::mem::offset_of;
    use std::process::Command;

    use super::*;

    /// The members of the header's struct with the places that they have here.
    macro_rules! members {
        ($($name:ident)*) => {
            [$((stringify!($name), offset_of!(Api, $name))),*]
        };
    }

    #[test]
    fn the_header_has_the_same_members_at_the_same_places() {
        let members = members! {
            version has_attr get_bool get_int get_float get_string get_ints get_floats get_int_rows get_float_rows
            set_workspaces set_kernel_data kernel_data set_error add_output counts
        };
        let mut asserts = vec![format!("_Static_assert(sizeof(opforge_extra_api) == {}, \"size\");", size_of::<Api>())];
        asserts.extend(members.map(|(name, offset)| {
            format!("_Static_assert(offsetof(opforge_extra_api, {name}) == {offset}, \"{name}\");")
        }));
        asserts.push(format!("_Static_assert(OPFORGE_EXTRA_MAGIC == {MAGIC}u, \"magic\");"));
        asserts.push(format!("_Static_assert(OPFORGE_KERNEL_ABI == {}, \"version\");", crate::opforge_kernel_abi));
        let folder = tempfile::tempdir().unwrap();
        let source = folder.path().join("layout.c");
        fs::write(&source, format!("#include \"opforge/kernel.h\"\n{}\n", asserts.join("\n"))).unwrap();
        let include = concat!(env!("CARGO_MANIFEST_DIR"), "/../opforge-custom/include");
        let compiled = Command::new("cc")
            .args(["-std=c11", "-fsyntax-only", "-Wall", "-Werror", "-I", include])
            .arg(source)
            .output();
        let compiled = compiled.unwrap();
        assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    }
}
