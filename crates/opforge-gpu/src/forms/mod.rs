//! The programs of each form of lowering, a file a form.

pub(crate) mod attention;
pub(crate) mod chain;
pub(crate) mod contract;
pub(crate) mod convolution;
pub(crate) mod fill;
pub(crate) mod fourier;
pub(crate) mod index;
pub(crate) mod index_write;
pub(crate) mod math;
pub(crate) mod moved;
pub(crate) mod normalize;
pub(crate) mod normalize_sets;
pub(crate) mod pool;
pub(crate) mod random;
pub(crate) mod recurrent;
pub(crate) mod reduce;
pub(crate) mod resample;
pub(crate) mod rows;
pub(crate) mod scan;
pub(crate) mod search;
pub(crate) mod sort;
pub(crate) mod spread;
pub(crate) mod tile;
pub(crate) mod windowed;
