//! Names that a library must not export as kernels.

use proc_macro2::Span;
use syn::{Error, Result};

/// What the framework looks for behind a kernel's name.
const SUFFIXES: [&str; 5] = ["Init", "Infer", "InferShape", "InferType", "LastError"];

/// Functions of C's mathematical library; each is there with the suffixes `f` and `l` too.
const MATHEMATICS: &str = "\
    acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh drem erf erfc exp exp10 exp2 expm1 fabs \
    fdim floor fma fmax fmaximum fmin fminimum fmod frexp gamma hypot ilogb j0 j1 jn ldexp lgamma llrint llround \
    log log10 log1p log2 logb lrint lround modf nan nearbyint nextafter nexttoward pow pow10 remainder remquo \
    rint round roundeven scalb scalbln scalbn significand sin sincos sinh sqrt tan tanh tgamma trunc y0 y1 yn \
";

/// Functions of C and of the system that the standard library or a C library in the same file may call.
const SYSTEM: &str = "\
    abort abs accept accept4 access alarm aligned_alloc atexit atof atoi atol atoll bcmp bind bsearch calloc \
    chdir chmod chown chroot clearerr clock clock_gettime clock_nanosleep close closedir connect copy_file_range \
    ctime daemon difftime dirfd div dl_iterate_phdr dlclose dlopen dlsym dup dup2 environ err error execv execve \
    execvp exit fchmod fchown fclose fcntl fdatasync fdopen fdopendir feof ferror fflush fgetc fgets fileno \
    flock fopen fork fprintf fputc fputs fread free freeaddrinfo freopen fscanf fseek fstat fstat64 fsync ftell \
    ftruncate ftruncate64 futimens fwrite gai_strerror getaddrinfo getauxval getc getchar getcwd getenv \
    gethostname getline getpeername getpid getppid getpwuid_r getrandom gets getsockname getsockopt gettid \
    getuid gmtime gnu_get_libc_version index ioctl isalnum isalpha isatty isdigit isspace kill labs lchown ldiv \
    link linkat listen llabs lldiv localtime longjmp lseek lseek64 lstat lstat64 malloc memchr memcmp memcpy \
    memmove memrchr memset mkdir mkfifo mktime mmap mmap64 mprotect mremap munmap nanosleep nice open open64 \
    openat openat64 opendir pause perror pidfd_getpid pidfd_spawnp pipe pipe2 poll pread pread64 preadv printf \
    putc putchar puts pwrite pwrite64 pwritev qsort raise rand random read readdir readdir64 readlink readv \
    realloc realpath reboot recv recvfrom recvmsg remove rename rewind rindex rmdir scanf sched_getaffinity \
    sched_yield select send sendfile64 sendmsg sendto setenv setgid setgroups setjmp setpgid setsid setsockopt \
    setuid shutdown sigaction sigaddset sigaltstack sigemptyset signal sigprocmask sleep snprintf socket \
    socketpair splice sprintf srand srandom sscanf stat stat64 statx stderr stdin stdout strcasecmp strcat \
    strchr strcmp strcpy strcspn strdup strerror strerror_r strlen strncat strncmp strncpy strndup strnlen \
    strpbrk strrchr strspn strstr strtod strtof strtok strtol strtoll strtoul strtoull symlink sync syscall \
    sysconf system time times tmpfile tolower toupper truncate umask uname ungetc unlink unlinkat unsetenv \
    usleep utimensat vfprintf vprintf vsnprintf vsprintf wait waitid waitpid write writev \
";

/// Beginnings of names that belong to others.
const PREFIXES: [&str; 5] = ["_", "opforge_", "posix_", "pthread_", "rust_"];

/// A kernel may have this name as its symbol.
pub fn check(symbol: &str, at: Span) -> Result<()> {
    let is_identifier = symbol.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && symbol.starts_with(|c: char| !c.is_ascii_digit());
    let refuse = |reason: &str| {
        let advice = "choose another: #[kernel(name = \"..\")]";
        Err(Error::new(at, format!("a kernel cannot have the name `{symbol}`, {reason}; {advice}")))
    };
    if !is_identifier {
        return refuse("which is no name in C");
    }
    if let Some(suffix) = SUFFIXES.iter().find(|suffix| symbol.ends_with(**suffix)) {
        return refuse(&format!("for one that ends with `{suffix}` belongs to another kernel"));
    }
    if is_taken(symbol) {
        return refuse("which belongs to a function that the library itself may call");
    }
    Ok(())
}

/// Whether a symbol of this name would take the place of a function that the library's own code calls: the linker knows no difference.
fn is_taken(symbol: &str) -> bool {
    let is_mathematics = |name: &str| MATHEMATICS.split_whitespace().any(|taken| taken == name);
    is_mathematics(symbol)
        || symbol.strip_suffix(['f', 'l']).is_some_and(is_mathematics)
        || SYSTEM.split_whitespace().any(|taken| taken == symbol)
        || PREFIXES.iter().any(|prefix| symbol.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_others_are_refused() {
        for name in [
            "exp",
            "expf",
            "roundl",
            "malloc",
            "write",
            "_start",
            "pthread_x",
            "AddInit",
            "AddInferShape",
            "2x",
            "a-b",
            "",
        ] {
            assert!(check(name, Span::call_site()).is_err(), "{name}");
        }
        for name in ["add", "Exp", "scale", "relu", "CustomAdd", "my_exp", "self_", "half"] {
            assert!(check(name, Span::call_site()).is_ok(), "{name}");
        }
    }
}
