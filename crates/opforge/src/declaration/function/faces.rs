//! Where Python shows a declared function, and under what names.

/// Where Python shows a function, and under what names. Declared as `#[python(torch, method, name = "..", results(a, b))]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Faces {
    /// Another name than the Rust function's.
    pub name: Option<&'static str>,
    /// A function of the module.
    pub torch: bool,
    /// A method of tensors; the first parameter is the receiver.
    pub method: bool,
    /// A method `name_`, whose result is written back into the receiver.
    pub in_place: bool,
    /// A function of `nn.functional`.
    pub nn: bool,
    /// With a last parameter `inplace` in `nn.functional`, as functions that have an in-place form have it anyway.
    pub inplace: bool,
    /// A function of `linalg`.
    pub linalg: bool,
    /// A function of `special`.
    pub special: bool,
    /// A function of `fft`.
    pub fft: bool,
    /// Nowhere but in the private core module.
    pub hidden: bool,
    /// The fields' names, where several tensors are returned as a named tuple.
    pub results: &'static [&'static str],
}

impl Faces {
    /// No face at all.
    pub const NOWHERE: Faces = Faces {
        name: None,
        torch: false,
        method: false,
        in_place: false,
        nn: false,
        inplace: false,
        linalg: false,
        special: false,
        fft: false,
        hidden: false,
        results: &[],
    };
}
