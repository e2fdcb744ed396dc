//! A front end that gives up waiting for an isolated function. It is the process's only one, hence a test program of its own.

mod common;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use common::{library, vector};
use opforge::Error;
use opforge_custom::CustomOp;
use opforge_runtime::vm::{FrontEnd, set_front_end};

static PATIENT: AtomicBool = AtomicBool::new(true);

#[test]
fn an_interrupt_ends_a_function_and_the_next_call_works() {
    set_front_end(FrontEnd {
        wait: |step| {
            while !step(Duration::from_millis(10)) {
                if !PATIENT.load(Ordering::Relaxed) {
                    return Err(Error::msg("interrupted"));
                }
            }
            Ok(())
        },
        apart: |f| f(),
        caller: || None,
    });
    let op = CustomOp::open_isolated(&library("misbehave.cc"), "Misbehave", None).unwrap();
    let x = vector(&[1.0, 2.0]);
    for place in ["Init", "InferShape"] {
        assert_eq!(op.apply(&[&x]).unwrap().to_vec1::<f32>().unwrap(), [1.0, 2.0]);
        let attributes = [("how".to_owned(), "loop".into()), ("where".to_owned(), place.into())];
        PATIENT.store(false, Ordering::Relaxed);
        let called = op.apply_with(&[&x], &attributes);
        PATIENT.store(true, Ordering::Relaxed);
        assert_eq!(called.unwrap_err().to_string(), "interrupted");
    }
    assert_eq!(op.apply(&[&x]).unwrap().to_vec1::<f32>().unwrap(), [1.0, 2.0]);
}
