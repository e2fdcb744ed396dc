//! A front end that gives up waiting for a compiler. It is the process's only one, hence a test program of its own.

use std::fs;
use std::time::Duration;

use opforge_core::Error;
use opforge_custom::source::{Options, Settings, locate_with};
use opforge_runtime::vm::{FrontEnd, set_front_end};

#[test]
fn an_interrupt_ends_the_compiler() {
    let folder = tempfile::tempdir().unwrap();
    let (source, script) = (folder.path().join("k.cc"), folder.path().join("cxx"));
    fs::write(&source, "").unwrap();
    fs::write(&script, "sleep 1000").unwrap();
    set_front_end(FrontEnd {
        wait: |step| {
            assert!(!step(Duration::from_millis(50)));
            Err(Error::msg("interrupted"))
        },
        apart: |f| f(),
        caller: || None,
    });
    let options = Options { cache: Some(folder.path().join("cache")), ..Options::default() };
    let system = Settings::from_env().unwrap();
    let settings = Settings { cxx: Some(format!("sh '{}'", script.display()).into()), allow: Vec::new(), ..system };
    let error = locate_with(&source, &options, &settings).unwrap_err();
    assert_eq!(error.to_string(), "interrupted");
    let left = fs::read_dir(folder.path().join("cache/stage")).unwrap().count();
    assert_eq!(left, 0);
}
