//! The standard ABI of MPI 5: what this crate uses of it.

use std::ffi::{c_char, c_int, c_void};

use libloading::Library;
use opforge_core::Result;

use crate::Fault;

/// An MPI object: a pointer, or a small number in a pointer for predefined ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
pub(super) struct Handle(*mut c_void);

// SAFETY: a handle is a name, which MPI alone follows; who may call MPI from which thread is `Mpi::enter`'s business.
unsafe impl Send for Handle {}
// SAFETY: a handle is a name, which MPI alone follows; who may call MPI from which thread is `Mpi::enter`'s business.
unsafe impl Sync for Handle {}

const fn handle(value: usize) -> Handle {
    Handle(std::ptr::without_provenance_mut(value))
}

pub(super) const COMM_NULL: Handle = handle(0x100);
pub(super) const COMM_WORLD: Handle = handle(0x101);
pub(super) const GROUP_NULL: Handle = handle(0x108);
pub(super) const ERRORS_RETURN: Handle = handle(0x142);
pub(super) const REQUEST_NULL: Handle = handle(0x180);
pub(super) const BYTE: Handle = handle(0x247);

pub(super) const SUCCESS: c_int = 0;
pub(super) const THREAD_SINGLE: c_int = 0;
pub(super) const THREAD_FUNNELED: c_int = 1024;
pub(super) const THREAD_SERIALIZED: c_int = 2048;
pub(super) const THREAD_MULTIPLE: c_int = 4096;
pub(super) const MAX_ERROR_STRING: usize = 512;
pub(super) const MAX_LIBRARY_VERSION_STRING: usize = 8192;
/// The major version of the ABI that these declarations are of.
pub(super) const ABI_VERSION: c_int = 1;

/// `MPI_IN_PLACE`.
pub(super) const fn in_place() -> *const c_void {
    std::ptr::without_provenance(1)
}

/// `MPI_Count` and `MPI_Aint` on 64-bit systems.
pub(super) type Count = i64;

/// `MPI_Status`: source, tag, error, and five numbers of the library's.
pub(super) type Status = [c_int; 8];

macro_rules! functions {
    ($($field:ident: $name:literal ($($argument:ty),*);)*) => {
        /// The library's functions. All return an error code.
        pub(super) struct Functions {
            $(pub $field: unsafe extern "C" fn($($argument),*) -> c_int,)*
        }

        impl Functions {
            /// Finds the functions of an open library.
            ///
            /// # Errors
            /// A function is missing.
            pub fn of(library: &Library) -> Result<Self> {
                Ok(Functions {
                    // SAFETY: functions of these names have these signatures in the standard ABI.
                    $($field: *unsafe { library.get(concat!($name, "\0").as_bytes()) }.map_err(|_| missing($name))?,)*
                })
            }
        }
    };
}

#[cold]
fn missing(name: &str) -> Fault {
    Fault::Unavailable {
        message: format!("the MPI library has no function {name} (accepted: one with the standard ABI of MPI 5)"),
    }
}

functions! {
    abi_get_version: "MPI_Abi_get_version" (*mut c_int, *mut c_int);
    get_library_version: "MPI_Get_library_version" (*mut c_char, *mut c_int);
    initialized: "MPI_Initialized" (*mut c_int);
    init_thread: "MPI_Init_thread" (*mut c_int, *mut *mut *mut c_char, c_int, *mut c_int);
    query_thread: "MPI_Query_thread" (*mut c_int);
    finalize: "MPI_Finalize" ();
    error_class: "MPI_Error_class" (c_int, *mut c_int);
    error_string: "MPI_Error_string" (c_int, *mut c_char, *mut c_int);
    comm_set_errhandler: "MPI_Comm_set_errhandler" (Handle, Handle);
    comm_rank: "MPI_Comm_rank" (Handle, *mut c_int);
    comm_size: "MPI_Comm_size" (Handle, *mut c_int);
    comm_idup: "MPI_Comm_idup" (Handle, *mut Handle, *mut Handle);
    comm_group: "MPI_Comm_group" (Handle, *mut Handle);
    comm_create_group: "MPI_Comm_create_group" (Handle, Handle, c_int, *mut Handle);
    group_incl: "MPI_Group_incl" (Handle, c_int, *const c_int, *mut Handle);
    group_free: "MPI_Group_free" (*mut Handle);
    test: "MPI_Test" (*mut Handle, *mut c_int, *mut Status);
    get_count: "MPI_Get_count_c" (*const Status, Handle, *mut Count);
    ibarrier: "MPI_Ibarrier" (Handle, *mut Handle);
    ibcast: "MPI_Ibcast_c" (*mut c_void, Count, Handle, c_int, Handle, *mut Handle);
    isend: "MPI_Isend_c" (*const c_void, Count, Handle, c_int, c_int, Handle, *mut Handle);
    irecv: "MPI_Irecv_c" (*mut c_void, Count, Handle, c_int, c_int, Handle, *mut Handle);
    iallgatherv: "MPI_Iallgatherv_c"
        (*const c_void, Count, Handle, *mut c_void, *const Count, *const Count, Handle, Handle, *mut Handle);
    ialltoallv: "MPI_Ialltoallv_c" (
        *const c_void, *const Count, *const Count, Handle, *mut c_void, *const Count, *const Count, Handle, Handle, *mut Handle
    );
}
