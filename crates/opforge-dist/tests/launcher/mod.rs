//! Runs an ignored test of this binary as the program of several ranks.
#![allow(dead_code)]

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// Where `mpiexec` is.
pub struct Launch {
    mpiexec: PathBuf,
}

/// The `mpiexec` of PATH, or of a Python environment in this workspace, that has the library with the standard ABI beside it; `None` is printed.
pub fn launcher() -> Option<Launch> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let environments = [".venv", ".venv-mpi"].map(|name| workspace.join(name).join("bin"));
    let folders = std::env::split_paths(&path).chain(environments);
    let mut found = folders.map(|folder| folder.join("mpiexec")).filter(|file| has_library(file));
    let mpiexec = found.next();
    if mpiexec.is_none() {
        // Past the harness, which shows no output of tests that pass.
        use std::io::Write;
        let _ = writeln!(
            std::io::stderr(),
            "SKIPPED: no mpiexec with libmpi_abi beside it; `pip install mpich` brings both"
        );
    }
    Some(Launch { mpiexec: mpiexec?.canonicalize().ok()? })
}

fn has_library(mpiexec: &Path) -> bool {
    let library = |file: PathBuf| Some(file.parent()?.parent()?.join("lib/libmpi_abi.so.1").exists());
    mpiexec.is_file() && library(mpiexec.to_owned()) == Some(true)
}

impl Launch {
    /// Runs an ignored test on so many ranks; kills everything after `patience`.
    pub fn run(&self, ranks: usize, program: &str, options: &[&str], patience: Duration) -> Output {
        let mut child = self.start(ranks, program, options);
        let until = Instant::now() + patience;
        while child.try_wait().unwrap().is_none() {
            if Instant::now() >= until {
                // mpiexec ends its ranks when it ends.
                child.kill().unwrap();
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        child.wait_with_output().unwrap()
    }

    fn start(&self, ranks: usize, program: &str, options: &[&str]) -> Child {
        let mut command = Command::new(&self.mpiexec);
        command.args(options).args(["-n", &ranks.to_string()]).arg(std::env::current_exe().unwrap());
        command.args(["--ignored", "--exact", "--nocapture", program]);
        // The library beside this mpiexec, not one of the system.
        command.env("OPFORGE_MPI", self.mpiexec.parent().unwrap().join("../lib"));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }
}
