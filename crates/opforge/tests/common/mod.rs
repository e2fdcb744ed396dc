//! The checks that every operator of the registry must pass. A check gets a [`Definition`] and reports every failing case, so that it runs on
//! operators that a test adds as well as on the built-in ones.
#![allow(dead_code)]

pub mod aliasing;
pub mod axes;
pub mod data;
pub mod empty;
pub mod gradients;
pub mod layouts;
pub mod meta;
pub mod recorded;
pub mod values;

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;

use opforge::declaration::{Definition, Sample};
use opforge::registry::operators;

/// One check of one operator.
pub type Check = fn(&Definition, &mut Report);

/// Every check and what passing it means: hands the list to a macro, which makes tests of it.
#[allow(unused_macros)]
macro_rules! each_check {
    ($make:ident) => {
        $make! {
            values_agree_with_references_in_every_dtype => crate::common::values::values;
            other_dtypes_are_refused => crate::common::values::refused_dtypes;
            nan_and_infinities_agree_with_references => crate::common::values::special_numbers;
            gradients_agree_with_differences => crate::common::gradients::gradients;
            second_derivatives_agree_with_differences => crate::common::gradients::second_derivatives;
            layouts_do_not_matter => crate::common::layouts::layouts;
            empty_inputs_give_the_inferred_result_or_an_error => crate::common::empty::empty;
            inference_and_the_meta_device_agree_with_results => crate::common::meta::meta;
            writing_in_place_is_the_same_or_refused => crate::common::aliasing::in_place;
            axis_maps_keep_their_promises => crate::common::axes::axis_maps;
        }
    };
}

/// Runs one check on every operator of the registry.
pub fn check_all(check: Check) {
    let mut report = Report::default();
    operators().into_iter().for_each(|definition| check(definition, &mut report));
    report.finish();
}

/// Collects failing cases.
#[derive(Default)]
pub struct Report {
    failures: Vec<String>,
    cases: usize,
}

impl Report {
    /// Counts a case; notes its failure under operator, sample and variant. A panic is a failure.
    pub fn case(
        &mut self,
        definition: &Definition,
        sample: &Sample,
        variant: impl std::fmt::Display,
        case: impl FnOnce() -> Result<(), String>,
    ) {
        self.cases += 1;
        if let Err(difference) = guarded(case).and_then(|result| result) {
            self.failures.push(format!("{}: {sample:?} [{variant}]: {difference}", definition.name));
        }
    }

    /// Fails with all failures, or if there was no case at all.
    pub fn finish(self) {
        assert!(self.cases > 0, "no case was tried");
        let (failed, shown) = (self.failures.len(), self.failures.join("\n"));
        assert!(failed == 0, "{failed} of {} cases failed:\n{shown}", self.cases);
    }
}

thread_local! {
    /// Where a panic happened on this thread, while one is expected.
    static QUIET: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// The value of `f`, or what it panicked with; the panic is not printed.
pub fn guarded<T>(f: impl FnOnce() -> T) -> Result<T, String> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            let quiet = QUIET.with_borrow_mut(|quiet| quiet.as_mut().map(|at| *at = info.to_string()).is_some());
            if !quiet {
                before(info);
            }
        }));
    });
    let outer = QUIET.replace(Some(String::new()));
    let result = catch_unwind(AssertUnwindSafe(f));
    let message = QUIET.replace(outer);
    result.map_err(|_| message.unwrap_or_default())
}

/// An error as text, for reports.
pub fn text(error: opforge::Error) -> String {
    format!("{:?} error: {error}", error.kind())
}
