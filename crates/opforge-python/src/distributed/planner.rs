//! The planner: searches distributions with steps of Python's on simulated ranks.

use std::cell::RefCell;

use opforge::{DType, Error, Result, Shape, Tensor};
use opforge_dist::planner::{self, Kind, Lies, Machine, Planned, Simulation, Space, Spent, Variable};
use opforge_dist::{Costs, Link, Sbp};
use pyo3::exceptions::{PyException, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::dtype::PyDType;
use crate::error::OrRaise;
use crate::front_end;
use crate::tensor::PyTensor;

/// Seconds of calls and of boxing, bytes that all devices receive, the most bytes that tensors took, and the number of calls.
type Figures = (f64, f64, u64, usize, usize);
/// How each variable lies along each dimension of the mesh (`None`: as it comes), and what that takes.
type Way = (Vec<Vec<Option<String>>>, Figures);

/// The best way, the usual ones by name, and how many were tried.
type Ways = (Way, Vec<(&'static str, Way)>, usize);

/// A tensor of the step: its dtype and shape, and the number of the variable that says how it lies; without one, it is broadcast.
type Member<D> = (D, Vec<usize>, Option<usize>);

/// Simulated devices, and what is to be chosen.
#[pyclass(frozen, module = "opforge._core")]
pub struct _Planner {
    simulation: Simulation,
    space: Space,
    members: Vec<Member<DType>>,
}

#[pymethods]
impl _Planner {
    /// `machine` are flops and bytes of a second, and the seconds of a launch; `links` the seconds of a message and of a byte along each dimension of the mesh.
    #[new]
    fn new(
        py: Python<'_>,
        mesh: Vec<usize>,
        machine: (f64, f64, f64),
        memory: Option<usize>,
        links: Vec<(f64, f64)>,
        variables: Vec<(String, Vec<usize>, String)>,
        members: Vec<Member<Bound<'_, PyDType>>>,
    ) -> PyResult<Self> {
        let members = members.into_iter().map(|(dtype, shape, variable)| (dtype.get().0, shape, variable)).collect();
        let links: Vec<Link> = links.into_iter().map(|(latency, per_byte)| Link { latency, per_byte }).collect();
        let (flops, bytes, launch) = machine;
        let costs = Costs { links, copy: 1.0 / bytes, ..Costs::default() };
        let simulation = Simulation::new(&Machine { flops, bytes, launch, memory, costs }, &mesh).or_raise(py)?;
        let variable = |(name, shape, kind): (String, Vec<usize>, String)| {
            Ok(Variable { name, shape: Shape::from_dims(&shape), kind: kind_of(&kind)? })
        };
        let variables = variables.into_iter().map(variable).collect::<PyResult<_>>()?;
        let space = Space::new(simulation.placement(), variables);
        Ok(_Planner { simulation, space, members })
    }

    /// Calls a step with the members, nothing split.
    fn run(&self, py: Python<'_>, step: Bound<'_, PyAny>) -> PyResult<()> {
        let whole =
            vec![vec![Some(Sbp::Broadcast); self.simulation.placement().mesh().len()]; self.space.variables().len()];
        self.simulation.run(|| self.evaluate(py, &step, &whole))
    }

    /// Searches with a step that is called with the members, and how each variable is to lie.
    fn search(&self, py: Python<'_>, step: Bound<'_, PyAny>) -> PyResult<Ways> {
        let raised: RefCell<Option<PyErr>> = RefCell::new(None);
        let evaluate = |chosen: &[Lies]| -> Result<Spent> {
            if raised.borrow().as_ref().is_some_and(|error| !error.is_instance_of::<PyException>(py)) {
                return Err(Error::msg("the search was interrupted"));
            }
            self.simulation.run(|| self.evaluate(py, &step, chosen)).map_err(|error| {
                let text = error.to_string();
                raised.replace(Some(error));
                Error::msg(text)
            })?;
            Ok(self.simulation.take())
        };
        let found = planner::search(&self.simulation, &self.space, evaluate);
        let is_interrupt = |error: &PyErr| !error.is_instance_of::<PyException>(py);
        match (found, raised.into_inner()) {
            (_, Some(error)) if is_interrupt(&error) => Err(error),
            (Ok(found), _) => {
                Ok((way(&found.best), found.usual.iter().map(|(name, it)| (*name, way(it))).collect(), found.tried))
            }
            (Err(Error::Msg(_)), Some(error)) => Err(error),
            (Err(error), _) => Err(error).or_raise(py),
        }
    }
}

impl _Planner {
    fn evaluate(&self, py: Python<'_>, step: &Bound<'_, PyAny>, chosen: &[Lies]) -> PyResult<()> {
        let member = |(dtype, shape, variable): &Member<DType>| -> PyResult<Py<PyAny>> {
            let made = || -> Result<Tensor> {
                match variable {
                    Some(variable) => self.simulation.tensor(&self.space, *variable, *dtype, &chosen[*variable]),
                    None => self.simulation.whole(*dtype, &Shape::from_dims(shape)),
                }
            };
            PyTensor::wrap(py, front_end::attempt(made).or_raise(py)?)
        };
        let members = self.members.iter().map(member).collect::<PyResult<Vec<_>>>()?;
        step.call1((PyList::new(py, members)?, texts(chosen))).map(drop)
    }
}

fn kind_of(name: &str) -> PyResult<Kind> {
    match name {
        "input" => Ok(Kind::Input),
        "weight" => Ok(Kind::Weight),
        "activation" => Ok(Kind::Activation),
        _ => Err(PyValueError::new_err(format!("plan: kind={name}, expected input, weight or activation"))),
    }
}

fn texts(all: &[Lies]) -> Vec<Vec<Option<String>>> {
    all.iter().map(|lies| lies.iter().map(|sbp| sbp.map(|sbp| sbp.to_string())).collect()).collect()
}

fn way(planned: &Planned) -> Way {
    let Spent { compute, boxing, moved, memory, calls } = planned.spent;
    (texts(&planned.lies), (compute, boxing, moved, memory, calls))
}
