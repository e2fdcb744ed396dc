//! Runs an ignored test of this binary as the program of several ranks.
#![allow(dead_code)]

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Where `mpiexec` is.
pub struct Launch {
    mpiexec: PathBuf,
    /// In the environment of all that it starts.
    mark: String,
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
    static STARTED: AtomicUsize = AtomicUsize::new(0);
    let mark = format!("{}-{}", std::process::id(), STARTED.fetch_add(1, Ordering::Relaxed));
    Some(Launch { mpiexec: mpiexec?.canonicalize().ok()?, mark })
}

fn has_library(mpiexec: &Path) -> bool {
    let library = |file: PathBuf| Some(file.parent()?.parent()?.join("lib/libmpi_abi.so.1").exists());
    mpiexec.is_file() && library(mpiexec.to_owned()) == Some(true)
}

impl Launch {
    /// Runs an ignored test on so many ranks; kills everything after `patience`. Where ranks are `alone`, the death of one does not end the others.
    pub fn run(&self, ranks: usize, program: &str, alone: bool, patience: Duration) -> Output {
        let mut child = self.start(ranks, program, alone);
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

    fn start(&self, ranks: usize, program: &str, alone: bool) -> Child {
        let mut command = Command::new(&self.mpiexec);
        command.args(["-disable-auto-cleanup"].iter().filter(|_| alone)).args(["-n", &ranks.to_string()]);
        // MPICH's launcher ends all ranks when one is killed. It does not see that behind a shell, which only has an exit status; and it sends the
        // others SIGUSR1.
        let shell = "trap '' USR1; \"$0\" \"$@\"; exit $?";
        command.args(["sh", "-c", shell].iter().filter(|_| alone)).arg(std::env::current_exe().unwrap());
        command.args(["--ignored", "--exact", "--nocapture", program]);
        // The library beside this mpiexec, not one of the system.
        command.env("OPFORGE_MPI", self.mpiexec.parent().unwrap().join("../lib"));
        command.env("OPFORGE_TEST_LAUNCH", &self.mark);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// How many processes still run of those that were started. Processes may take a moment to end after their parents.
    pub fn left_running(&self) -> usize {
        let until = Instant::now() + Duration::from_secs(2);
        loop {
            let left = self.running();
            if left == 0 || Instant::now() >= until {
                return left;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// By the system's list of processes; 0 where there is none to read.
    fn running(&self) -> usize {
        let mark = format!("OPFORGE_TEST_LAUNCH={}\0", self.mark);
        let has_mark = |environment: &Vec<u8>| environment.windows(mark.len()).any(|part| part == mark.as_bytes());
        let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        processes.filter_map(|process| std::fs::read(process.path().join("environ")).ok()).filter(has_mark).count()
    }
}
