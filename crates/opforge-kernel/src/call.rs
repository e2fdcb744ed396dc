//! From the arrays of a call to its arguments, in the order of the kernel's parameters.

use std::ffi::c_void;
use std::{slice, vec};

use crate::any::{AnyView, AnyViewMut, elements};
use crate::raw::{Arrays, Info, list};
use crate::signature::{Places, Role, Signature};
use crate::{Attributes, DType, Element, Error, Result};

/// A call of a kernel whose data is a `D`: hands out the arguments.
pub struct Call<'a, D> {
    slots: vec::IntoIter<Slot<'a>>,
    attributes: Option<&'a Attributes>,
    data: Option<&'a mut D>,
}

/// Memory for a parameter.
struct Slot<'a> {
    name: &'static str,
    role: Role,
    info: Info<'a>,
    start: *mut u8,
    bytes: usize,
}

impl<'a, D> Call<'a, D> {
    /// # Errors
    /// If numbers, shapes or addresses are not such as the signature needs: what a kernel may change is seen by nobody else.
    ///
    /// # Safety
    /// `params` point to the memory of the arguments that `arrays` describes, for `'a`: inputs, outputs and workspaces as the header says.
    pub unsafe fn new(
        signature: Signature,
        (inputs, outputs): (usize, usize),
        arrays: Arrays<'a>,
        params: &'a [*mut c_void],
        attributes: Option<&'a Attributes>,
        data: Option<&'a mut D>,
    ) -> Result<Self> {
        let mut places = Places::new(signature, (inputs, outputs), params.len())?;
        let mut slots = Vec::with_capacity(params.len());
        for &(name, role) in signature.0 {
            let Some((at, again)) = places.next(role) else { continue };
            if again.is_some_and(|again| params[again] != params[at]) {
                return Err(Error::new(format_args!("{name} is changed in place, but another tensor is the output")));
            }
            slots.push(Slot::new(name, role, arrays.info(at)?, params[at])?);
        }
        check_apart(&slots)?;
        Ok(Call { slots: slots.into_iter(), attributes, data })
    }

    pub(crate) fn attributes(&self) -> Result<&'a Attributes> {
        self.attributes
            .ok_or_else(|| Error::new("there are no attributes: opforge alone passes them to kernels in Rust"))
    }

    pub(crate) fn data(&mut self) -> Result<&'a mut D> {
        self.data.take().ok_or_else(|| Error::new("there is no kernel data, or it was taken before"))
    }

    pub(crate) fn input(&mut self) -> Result<AnyView<'a>> {
        let Slot { name, info, start, bytes, .. } = self.next(Role::Input)?;
        // SAFETY: the memory is as long for `'a`, and nobody changes it.
        Ok(AnyView { name, info, bytes: unsafe { list(start, bytes) } })
    }

    /// A changed input, an output or a workspace.
    pub(crate) fn exclusive(&mut self, role: Role) -> Result<AnyViewMut<'a>> {
        assert_ne!(role, Role::Input);
        let Slot { name, info, start, bytes, .. } = self.next(role)?;
        // SAFETY: the memory is as long for `'a`, apart from that of all other slots, and each slot is taken once. It comes from an allocator outside of
        // this program, so that its bytes have some value.
        let bytes = if bytes == 0 { &mut [] } else { unsafe { slice::from_raw_parts_mut(start, bytes) } };
        Ok(AnyViewMut { name, info, bytes })
    }

    /// The elements of a workspace.
    pub(crate) fn workspace<T: Element>(&mut self) -> Result<&'a mut [T]> {
        let AnyViewMut { name, bytes, .. } = self.exclusive(Role::Workspace)?;
        elements(name, bytes)
    }

    fn next(&mut self, role: Role) -> Result<Slot<'a>> {
        let slot = self.slots.next().filter(|slot| slot.role == role);
        slot.ok_or_else(|| Error::new("arguments were taken out of order"))
    }
}

impl<'a> Slot<'a> {
    fn new(name: &'static str, role: Role, info: Info<'a>, start: *mut c_void) -> Result<Self> {
        let bytes = info.shape.iter().try_fold(info.dtype.size(), |bytes, &length| bytes.checked_mul(length));
        let bytes = bytes.filter(|&bytes| isize::try_from(bytes).is_ok() && (bytes == 0 || !start.is_null()));
        let bytes = bytes.ok_or_else(|| Error::new(format_args!("{name} has shape {:?} at {start:p}", info.shape)))?;
        if role == Role::Workspace && info.dtype != DType::U8 {
            return Err(Error::new(format_args!("workspace {name} has dtype {}; accepted: uint8", info.dtype)));
        }
        Ok(Slot { name, role, info, start: start.cast(), bytes })
    }

    fn is_apart(&self, other: &Slot<'_>) -> bool {
        let (start, other_start) = (self.start.addr(), other.start.addr());
        self.bytes == 0 || other.bytes == 0 || start + self.bytes <= other_start || other_start + other.bytes <= start
    }
}

/// Arguments share memory only where all are only read.
fn check_apart(slots: &[Slot<'_>]) -> Result<()> {
    let both_read = |a: &Slot<'_>, b: &Slot<'_>| a.role == Role::Input && b.role == Role::Input;
    for (i, slot) in slots.iter().enumerate() {
        if let Some(other) = slots[..i].iter().find(|other| !both_read(slot, other) && !slot.is_apart(other)) {
            return Err(Error::new(format_args!("{} and {} share memory", other.name, slot.name)));
        }
    }
    Ok(())
}
