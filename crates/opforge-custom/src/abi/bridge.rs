//! `native/bridge.h`.

use std::ffi::{c_char, c_int, c_void};

use super::outcome::RawOutcome;

/// `opforge_attribute`
#[repr(C)]
#[derive(Debug)]
pub(crate) struct RawAttribute {
    pub name: *const c_char,
    pub kind: u32,
    pub values: *const c_void,
    pub count: usize,
    pub offsets: *const usize,
}

/// A function of a library, of a type that its name tells.
pub(crate) type Address = *const c_void;

/// `opforge_sink`
pub(crate) type Sink = unsafe extern "C" fn(*mut c_void, *const c_char, c_int, *const i64);

unsafe extern "C" {
    pub(super) fn opforge_extra_new(variant: u32, attributes: *const RawAttribute, count: usize) -> *mut c_void;
    #[cfg(two_string_abis)]
    pub(super) fn opforge_extra_new_old(variant: u32, attributes: *const RawAttribute, count: usize) -> *mut c_void;
    pub(super) fn opforge_extra_set_counts(extra: *mut c_void, inputs: c_int, outputs: c_int);
    pub(super) fn opforge_extra_delete(extra: *mut c_void) -> bool;
    pub(super) fn opforge_extra_workspaces(extra: *mut c_void, sizes: *mut *const usize) -> usize;
    pub(super) fn opforge_call_main(
        function: Address,
        last_error: Address,
        nparam: c_int,
        params: *mut *mut c_void,
        ndims: *mut c_int,
        shapes: *mut *mut i64,
        dtypes: *mut *const c_char,
        stream: *mut c_void,
        extra: *mut c_void,
        outcome: *mut RawOutcome,
    );
    pub(super) fn opforge_call_init(
        function: Address,
        last_error: Address,
        ndims: *mut c_int,
        shapes: *mut *mut i64,
        dtypes: *mut *const c_char,
        extra: *mut c_void,
        outcome: *mut RawOutcome,
    );
    pub(super) fn opforge_call_infer(
        function: Address,
        last_error: Address,
        ninput: c_int,
        ndims: *const c_int,
        shapes: *const *mut i64,
        dtypes: *const *const c_char,
        extra: *mut c_void,
        sink: Sink,
        context: *mut c_void,
        outcome: *mut RawOutcome,
    );
    pub(super) fn opforge_call_infer_shape(
        function: Address,
        several: bool,
        ndims: *mut c_int,
        shapes: *mut *mut i64,
        extra: *mut c_void,
        sink: Sink,
        context: *mut c_void,
        outcome: *mut RawOutcome,
    );
    pub(super) fn opforge_call_infer_type(
        function: Address,
        several: bool,
        inputs: *const i32,
        count: usize,
        extra: *mut c_void,
        types: *mut i32,
        capacity: usize,
        outcome: *mut RawOutcome,
    ) -> usize;
}
