//! Tiles of matrices (Intel's Advanced Matrix Extensions): whether this process may use them, and their shape on a thread.
//!
//! Source: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 1, chapter 18; Linux, `Documentation/arch/x86/xstate.rst`.

use std::arch::asm;
use std::arch::x86_64::{__cpuid_count, __get_cpuid_max};
use std::sync::OnceLock;

/// Whether the processor has tiles and products of bf16 in them.
pub(super) fn is_there() -> bool {
    const BF16: u32 = 1 << 22;
    const TILE: u32 = 1 << 24;
    static FOUND: OnceLock<bool> = OnceLock::new();
    *FOUND.get_or_init(|| {
        let has_leaf = __get_cpuid_max(0).0 >= 7;
        has_leaf && __cpuid_count(7, 0).edx & (BF16 | TILE) == BF16 | TILE
    })
}

/// Whether the system lets this process use tiles, which it is asked once. From then on signals need a larger stack, so none but who needs tiles asks.
pub(crate) fn is_permitted() -> bool {
    static ANSWER: OnceLock<bool> = OnceLock::new();
    *ANSWER.get_or_init(|| cfg!(target_os = "linux") && is_there() && request() == 0)
}

/// Asks Linux for the state of tiles (`ARCH_REQ_XCOMP_PERM`); 0, or the negative number of an error.
fn request() -> i64 {
    const ARCH_PRCTL: i64 = 158;
    const REQUEST: u64 = 0x1023;
    const TILE_DATA: u64 = 18;
    let result;
    // SAFETY: the call reads no memory of the process, and changes what its threads may do only.
    unsafe {
        asm!("syscall", inlateout("rax") ARCH_PRCTL => result, in("rdi") REQUEST, in("rsi") TILE_DATA, out("rcx") _, out("r11") _);
    }
    result
}

/// Rows of a tile; a row has 64 bytes.
const ROWS: u8 = 16;
const ROW: u16 = 64;

/// What `LDTILECFG` reads.
#[repr(C, align(64))]
struct Shapes {
    palette: u8,
    start_row: u8,
    reserved: [u8; 14],
    row_bytes: [u16; 16],
    rows: [u8; 16],
}

/// Makes the eight tiles of this thread whole ones, and 0.
///
/// # Safety
/// The process [may](is_permitted) use tiles.
pub(crate) unsafe fn configure() {
    static WHOLE: Shapes = Shapes {
        palette: 1,
        start_row: 0,
        reserved: [0; 14],
        row_bytes: [ROW, ROW, ROW, ROW, ROW, ROW, ROW, ROW, 0, 0, 0, 0, 0, 0, 0, 0],
        rows: [ROWS, ROWS, ROWS, ROWS, ROWS, ROWS, ROWS, ROWS, 0, 0, 0, 0, 0, 0, 0, 0],
    };
    // SAFETY: the shapes are 64 bytes that the instruction takes; tiles hold nothing that the compiler put there.
    unsafe { asm!("ldtilecfg [{}]", in(reg) &WHOLE, options(nostack, readonly)) }
}

/// Gives up the tiles of this thread, which would be saved whenever another runs.
///
/// # Safety
/// The process [may](is_permitted) use tiles.
pub(crate) unsafe fn release() {
    // SAFETY: tiles hold nothing that the compiler put there.
    unsafe { asm!("tilerelease", options(nostack, nomem)) }
}
