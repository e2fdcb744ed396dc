//! How a call of the bridge ended.

use std::ffi::{CStr, c_char};
use std::mem::MaybeUninit;

/// `opforge_outcome`
#[repr(C)]
pub(super) struct RawOutcome {
    status: i32,
    code: i32,
    text: [c_char; 1008],
}

impl RawOutcome {
    /// What a call of the bridge writes.
    ///
    /// # Safety
    /// `call` calls the bridge with the pointer that it gets.
    #[inline]
    pub unsafe fn of(call: impl FnOnce(*mut Self)) -> Outcome {
        let mut made = MaybeUninit::<Self>::uninit();
        let raw = made.as_mut_ptr();
        call(raw);
        // SAFETY: the bridge always writes the status, the first byte of the text, and the code where the status says so.
        unsafe {
            if (*raw).status == 0 && (*raw).code == 0 {
                return Outcome::Success;
            }
            let text = CStr::from_ptr((&raw const (*raw).text).cast()).to_string_lossy().into_owned();
            if (*raw).status == 0 { Outcome::Code { code: (*raw).code, text } } else { Outcome::Exception(text) }
        }
    }
}

/// How a call of a library's function ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It returned 0.
    Success,
    /// It returned another number; the text, if any, is the library's.
    Code { code: i32, text: String },
    /// It threw; the text is the exception's.
    Exception(String),
}

impl Outcome {
    /// What to tell the user of a call that did not succeed.
    pub fn message(&self) -> String {
        match self {
            Outcome::Success => "succeeded".to_owned(),
            Outcome::Code { code, text } if text.is_empty() => format!("returned error code {code}"),
            Outcome::Code { code, text } => format!("returned error code {code}: {text}"),
            Outcome::Exception(text) => format!("threw a C++ exception: {text}"),
        }
    }
}
