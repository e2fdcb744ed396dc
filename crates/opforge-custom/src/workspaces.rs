//! The memory that kernels ask for besides their arguments'.

use std::ffi::c_void;

use opforge_core::Result;
use opforge_runtime::alloc::Workspace;
use smallvec::SmallVec;

use crate::library::Place;

/// Where workspaces lie in one block of memory.
pub(crate) struct Workspaces {
    starts: SmallVec<[usize; 4]>,
    total: usize,
}

impl Workspaces {
    /// What each size is rounded up to: kernels written for MindSpore, whose pool does the same, sometimes ask for too little.
    pub const GRAIN: usize = 512;
    /// What no workspace can sensibly be beyond, in bytes; a negative size is beyond it too.
    const LIMIT: usize = 1 << 46;

    /// Places workspaces of these sizes, in bytes.
    ///
    /// # Errors
    /// For a size that can only be a mistake.
    pub fn new(place: &Place, sizes: &[usize]) -> Result<Self> {
        let (mut starts, mut total) = (SmallVec::new(), 0usize);
        for (i, &size) in sizes.iter().enumerate() {
            let end =
                size.checked_next_multiple_of(Self::GRAIN).and_then(|size| size.max(Self::GRAIN).checked_add(total));
            let end = end.filter(|&end| end <= Self::LIMIT).ok_or_else(|| {
                let given = format!("{} bytes", size.cast_signed());
                place.fault(format_args!("{}Init asked for {given} as workspace {i}", place.function))
            })?;
            starts.push(total);
            total = end;
        }
        Ok(Workspaces { starts, total })
    }

    /// Their sizes as they are given, in bytes.
    pub fn sizes(&self) -> impl Iterator<Item = usize> + '_ {
        let ends = self.starts.iter().copied().skip(1).chain([self.total]);
        self.starts.iter().zip(ends).map(|(start, end)| end - start)
    }

    /// Memory for all of them, if there are any.
    #[inline]
    pub fn allocate(&self) -> Result<Option<Workspace>> {
        if self.total == 0 { Ok(None) } else { Workspace::new(self.total).map(Some) }
    }

    /// The bytes of all.
    pub fn bytes(&self) -> usize {
        self.total
    }

    /// Their addresses in a block of memory that begins here.
    #[inline]
    pub fn addresses(&self, first: *mut u8) -> impl Iterator<Item = *mut c_void> + '_ {
        self.starts.iter().map(move |&start| first.wrapping_add(start).cast())
    }
}
