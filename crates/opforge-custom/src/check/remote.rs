//! Inference in a lab, for an operator that infers as it always does.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use opforge::{Error, Result};

use super::lab::{Lab, Trouble};
use crate::abi::Inferred;
use crate::isolate::Isolation;
use crate::library::Place;
use crate::runner::{Forms, Infers, Prepared, Query, Runner, Setup};

/// Infers in a lab, and keeps what went wrong there.
pub(super) struct Remote {
    lab: Arc<Lab>,
    forms: Forms,
    trouble: Mutex<Option<Trouble>>,
}

impl Remote {
    pub fn new(lab: Arc<Lab>) -> Result<Self, Trouble> {
        let forms = lab.found()?.forms();
        Ok(Remote { lab, forms, trouble: Mutex::new(None) })
    }

    /// What went wrong last, asked for once.
    pub fn take_trouble(&self) -> Option<Trouble> {
        self.trouble().take()
    }

    fn trouble(&self) -> MutexGuard<'_, Option<Trouble>> {
        self.trouble.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The lab prepares and runs operators itself.
fn not_here(place: &Place) -> Error {
    place.fault("is under check, and cannot be called")
}

impl Runner for Remote {
    fn infers(&self) -> Infers {
        self.forms.infers()
    }

    fn infer(&self, query: &Query<'_>) -> Result<Vec<Inferred>> {
        self.forms.infer(query, |form| {
            self.lab.infer(form, query.attributes, query.inputs().collect()).map_err(|trouble| {
                *self.trouble() = Some(trouble);
                query.place.fault("cannot infer")
            })
        })
    }

    fn prepare(&self, setup: &Setup<'_>) -> Result<Box<dyn Prepared>> {
        Err(not_here(setup.place))
    }

    fn isolate(&self, place: &Place, _limits: &Isolation) -> Result<Arc<dyn Runner>> {
        Err(not_here(place))
    }
}
