//! Kernels in Rust under a framework that is not opforge, and knows the main and initialisation functions alone.

mod common;

use std::ffi::{c_char, c_int, c_void};
use std::ptr;

use libloading::{Library, Symbol};

type Main = unsafe extern "C" fn(
    c_int,
    *mut *mut c_void,
    *mut c_int,
    *mut *mut i64,
    *mut *const c_char,
    *mut c_void,
    *mut c_void,
) -> c_int;

/// Runs a function of one input and one output of rank 1.
fn run(library: &Library, name: &str, extra: *mut c_void, x: &[f32]) -> (c_int, Vec<f32>) {
    let mut y = vec![0f32; x.len()];
    let (mut length, mut ndims) = (x.len() as i64, [1, 1]);
    let mut params = [x.as_ptr().cast_mut().cast(), y.as_mut_ptr().cast()];
    let (mut shapes, mut dtypes) = ([&raw mut length; 2], [c"float32".as_ptr(); 2]);
    let (ndims, shapes, dtypes) = (ndims.as_mut_ptr(), shapes.as_mut_ptr(), dtypes.as_mut_ptr());
    // SAFETY: kernels have this type, and the arrays are for two arguments.
    let code = unsafe {
        let main: Symbol<'_, Main> = library.get(name.as_bytes()).unwrap();
        main(2, params.as_mut_ptr(), ndims, shapes, dtypes, ptr::null_mut(), extra)
    };
    (code, y)
}

#[test]
fn kernels_run_that_take_nothing_but_views() {
    // SAFETY: the library's initialisers do nothing.
    let library = unsafe { Library::new(common::library()) }.unwrap();
    let mut other = [0x55u8; 128];
    for extra in [ptr::null_mut(), other.as_mut_ptr().cast()] {
        assert_eq!(run(&library, "negate", extra, &[1.0, -2.0]), (0, vec![-1.0, 2.0]));
        // Attributes, data and a second input are missing.
        assert_eq!(run(&library, "scale", extra, &[1.0]), (2, vec![0.0]));
        assert_eq!(run(&library, "noted", extra, &[1.0]), (2, vec![0.0]));
        assert_eq!(run(&library, "add", extra, &[1.0]), (2, vec![0.0]));
        assert_eq!(run(&library, "column_sums", extra, &[1.0]), (2, vec![0.0]));
    }
}

#[test]
fn initialisation_says_no() {
    type Init = unsafe extern "C" fn(*mut c_int, *mut *mut i64, *mut *const c_char, *mut c_void) -> c_int;
    // SAFETY: the library's initialisers do nothing, and initialisation functions have this type; they must not look at arrays of unknown length.
    let code = unsafe {
        let library = Library::new(common::library()).unwrap();
        let init: Symbol<'_, Init> = library.get(b"column_sumsInit").unwrap();
        init(ptr::null_mut(), ptr::null_mut(), ptr::null_mut(), ptr::null_mut())
    };
    assert_eq!(code, 2);
}
