//! Groups: the calls of an engine on tensors.

use std::sync::Arc;
use std::time::Duration;

use opforge::{DType, Error, Result, Shape, Tensor};
use opforge_dist::{Buffer, Call, Collective, Engine, Meeting, Mpi, Place, Reduction, Sockets};
use pyo3::prelude::*;

use super::memory::{self, Lent};
use super::progress;
use super::request::PyCollectiveRequest;
use super::signals::{Signals, interruptible};
use super::world::{self, World};
use crate::error::{OrRaise, raise};
use crate::front_end;
use crate::tensor::PyTensor;

/// A group of processes. Its calls return before they are done. They read copies of tensors and give results as new ones; or, asked to be `in_place`,
/// use the memory of tensors where its layout allows that, and give no result: then nothing else may use these tensors until the call is done.
#[pyclass(name = "_ProcessGroup", module = "opforge._core", frozen)]
pub struct PyProcessGroup {
    world: Arc<World>,
    /// The engine of a group of some ranks; none for that of all.
    part: Option<Arc<dyn Engine>>,
}

/// What a call is about, and the dtype and shape that ranks compare.
struct Plan<'a> {
    collective: Collective,
    dtype: DType,
    dims: &'a [usize],
}

impl PyProcessGroup {
    /// The group of all processes of a world, which is that of global tensors from now on.
    fn of(world: World) -> Self {
        world.enter();
        PyProcessGroup { world: Arc::new(world), part: None }
    }

    fn engine(&self) -> &dyn Engine {
        self.part.as_deref().unwrap_or(&*self.world.guard)
    }

    fn start(
        &self,
        py: Python<'_>,
        plan: Plan<'_>,
        send: Option<Lent>,
        recv: Option<Lent>,
    ) -> PyResult<PyCollectiveRequest> {
        let name = plan.collective.name();
        let place = Place::Text(front_end::place(py).unwrap_or_else(|| "Python".into()));
        let begin = || -> Result<_> {
            let (send, _) = lend(send)?;
            let (recv, result) = lend(recv)?;
            let Plan { collective, dtype, dims } = plan;
            world::settle();
            let call = Call { collective, dtype, shape: Shape::from_dims(dims), send, recv, place };
            Ok((self.world.keep(self.engine().start(call)?), result))
        };
        let (slot, result) = front_end::called(begin).or_raise(py)?;
        Ok(PyCollectiveRequest::new(self.world.clone(), slot, name, result))
    }
}

fn seconds(py: Python<'_>, limit: f64) -> PyResult<Duration> {
    let accepted = "a positive number of seconds";
    Duration::try_from_secs_f64(limit)
        .map_err(|_| raise(py, &Error::value("init_process_group", "timeout", limit, accepted)))
}

/// A call's buffer, and the tensor whose memory it is.
fn lend(memory: Option<Lent>) -> Result<(Buffer, Option<Tensor>)> {
    let Some(memory) = memory else { return Ok((Buffer::empty(), None)) };
    memory.lend().map(|(buffer, tensor)| (buffer, Some(tensor)))
}

/// Memory that is read and written.
struct Both {
    memory: Lent,
    tensor: Tensor,
    /// Whether the memory is the tensor's own.
    is_own: bool,
}

fn own_or_copy(py: Python<'_>, op: &'static str, tensor: &Bound<'_, PyTensor>, in_place: bool) -> PyResult<Both> {
    let own = if in_place { Lent::itself(&PyTensor::of(tensor)) } else { None };
    match own {
        Some(memory) => {
            let tensor = PyTensor::of(tensor);
            front_end::called(|| memory::check(op, "tensor", &tensor, false)).or_raise(py)?;
            Ok(Both { memory, tensor, is_own: true })
        }
        None => copy(py, op, tensor).map(|(memory, tensor)| Both { memory, tensor, is_own: false }),
    }
}

/// A copy of what is sent.
fn copy(py: Python<'_>, op: &'static str, tensor: &Bound<'_, PyTensor>) -> PyResult<(Lent, Tensor)> {
    let tensor = PyTensor::of(tensor);
    let copy = || {
        memory::check(op, "tensor", &tensor, false)?;
        Lent::copy_of(&tensor)
    };
    Ok((front_end::called(copy).or_raise(py)?, tensor))
}

fn room(py: Python<'_>, counts: &[usize], dtype: DType) -> PyResult<Lent> {
    let count = counts.iter().fold(0usize, |sum, &count| sum.saturating_add(count));
    front_end::called(|| Lent::zeros(&[count], dtype)).or_raise(py)
}

fn reduction(py: Python<'_>, op: &'static str, name: &str, dtype: DType) -> PyResult<Reduction> {
    let checked = || {
        let reduction: Reduction = name.parse()?;
        memory::check_reduction(op, reduction, dtype).map(|()| reduction)
    };
    checked().or_raise(py)
}

#[pymethods]
impl PyProcessGroup {
    /// The group of all processes that MPI's launcher started, by `"mpi"`; or of this one alone, by `"threads"`. `limit` is how long ranks wait for others.
    #[new]
    fn new(py: Python<'_>, engine: &str, limit: f64) -> PyResult<Self> {
        let limit = seconds(py, limit)?;
        let make = || match engine {
            "mpi" => World::of_mpi(limit),
            "threads" => World::alone(limit),
            other => Err(Error::value("init_process_group", "engine", other, "mpi, threads")),
        };
        Mpi::look_in(py.import("sys")?.getattr("prefix")?.extract()?);
        py.detach(make).or_raise(py).map(Self::of)
    }

    /// The group of `size` processes that are connected by sockets, within `patience` seconds. Rank 0 listens where `find` says, and tells the port to `tell`;
    /// others ask `find` where rank 0 is until they have reached it: `"node0:29500"`, or None as long as that is not known.
    #[staticmethod]
    fn connected(
        py: Python<'_>,
        rank: usize,
        size: usize,
        limit: f64,
        patience: f64,
        find: Py<PyAny>,
        tell: Py<PyAny>,
    ) -> PyResult<Self> {
        let (limit, patience) = (seconds(py, limit)?, seconds(py, patience)?);
        let find = || Python::attach(|py| find.call0(py)?.extract::<Option<String>>(py)).map_err(Error::wrap);
        let signals = Signals::default();
        let engine = py.detach(|| {
            let meeting = Meeting { rank, ranks: size, limit: patience, go_on: &|| signals.check() };
            if rank > 0 {
                return meeting.join(&find);
            }
            let listener = Sockets::listen(&find()?.unwrap_or_default())?;
            let port = listener.local_addr()?.port();
            Python::attach(|py| tell.call1(py, (port,))).map_err(Error::wrap)?;
            meeting.host(listener)
        });
        signals.raise()?;
        Ok(Self::of(World::of(engine.or_raise(py)?, limit)))
    }

    /// Whether an MPI library is found; the interpreter's environment is looked into too.
    #[staticmethod]
    fn is_mpi_found(py: Python<'_>) -> PyResult<bool> {
        Mpi::look_in(py.import("sys")?.getattr("prefix")?.extract()?);
        Ok(py.detach(Mpi::is_found))
    }

    /// A group of some of this group's ranks, which all call it and no others.
    fn subgroup(&self, py: Python<'_>, ranks: Vec<usize>) -> PyResult<Self> {
        py.detach(world::settle);
        let engine = self.part.clone().unwrap_or_else(|| self.world.guard.clone());
        let part = match engine.takes_any_thread() {
            true => interruptible(py, move || engine.subgroup(&ranks))?,
            false => py.detach(|| engine.subgroup(&ranks)).or_raise(py)?,
        };
        Ok(PyProcessGroup { world: self.world.clone(), part: Some(part) })
    }

    /// This process's number within the group.
    fn rank(&self) -> usize {
        self.engine().rank()
    }

    /// How many processes the group has.
    fn size(&self) -> usize {
        self.engine().size()
    }

    /// The engine's name.
    fn name(&self) -> &'static str {
        self.engine().name()
    }

    /// MPI's version and file; what there is without MPI.
    fn describe(&self) -> String {
        let ranks = self.world.guard.size();
        let without = || if ranks == 1 { "one process".to_owned() } else { format!("{ranks} processes over TCP") };
        self.world.mpi.map_or_else(without, Mpi::describe)
    }

    /// Refuses tensors that a call cannot read, or cannot write where it is their result.
    #[staticmethod]
    fn check(py: Python<'_>, op: &str, tensors: Vec<Bound<'_, PyTensor>>, is_result: bool) -> PyResult<()> {
        let check = |tensor: Bound<'_, PyTensor>| {
            memory::check("distributed", "tensor", &PyTensor::of(&tensor), is_result)
                .map_err(|e| e.context(op.to_owned()))
        };
        tensors.into_iter().try_for_each(check).or_raise(py)
    }

    #[pyo3(signature = (tensor, op, in_place = false))]
    fn all_reduce(
        &self,
        py: Python<'_>,
        tensor: &Bound<'_, PyTensor>,
        op: &str,
        in_place: bool,
    ) -> PyResult<PyCollectiveRequest> {
        let op = reduction(py, "all_reduce", op, PyTensor::of(tensor).dtype())?;
        let Both { memory, tensor, is_own } = own_or_copy(py, "all_reduce", tensor, in_place)?;
        let plan = Plan { collective: Collective::AllReduce(op), dtype: tensor.dtype(), dims: tensor.dims() };
        let request = self.start(py, plan, None, Some(memory))?;
        Ok(if is_own { request.changing(&tensor) } else { request })
    }

    #[pyo3(signature = (tensor, root, in_place = false))]
    fn broadcast(
        &self,
        py: Python<'_>,
        tensor: &Bound<'_, PyTensor>,
        root: usize,
        in_place: bool,
    ) -> PyResult<PyCollectiveRequest> {
        let Both { memory, tensor, is_own } = own_or_copy(py, "broadcast", tensor, in_place)?;
        let plan =
            Plan { collective: Collective::Broadcast { root }, dtype: tensor.dtype(), dims: &[tensor.elem_count()] };
        let request = self.start(py, plan, None, Some(memory))?;
        Ok(match is_own {
            true if self.rank() == root => request.without_result(),
            true => request.changing(&tensor),
            false => request,
        })
    }

    /// All ranks' elements, as a vector; `counts` are numbers of elements by rank.
    fn all_gather(
        &self,
        py: Python<'_>,
        tensor: &Bound<'_, PyTensor>,
        counts: Vec<usize>,
    ) -> PyResult<PyCollectiveRequest> {
        let (copy, tensor) = copy(py, "all_gather", tensor)?;
        let recv = room(py, &counts, tensor.dtype())?;
        let total = [counts.iter().fold(0usize, |sum, &count| sum.saturating_add(count))];
        let is_even = counts.iter().all(|&count| count == tensor.elem_count());
        let dims = if is_even { tensor.dims() } else { &total };
        let plan = Plan { collective: Collective::AllGather { counts }, dtype: tensor.dtype(), dims };
        self.start(py, plan, Some(copy), Some(recv))
    }

    /// This rank's part of the reduction, as a vector; `counts` are numbers of elements by rank.
    fn reduce_scatter(
        &self,
        py: Python<'_>,
        tensor: &Bound<'_, PyTensor>,
        op: &str,
        counts: Vec<usize>,
    ) -> PyResult<PyCollectiveRequest> {
        let op = reduction(py, "reduce_scatter", op, PyTensor::of(tensor).dtype())?;
        let (copy, tensor) = copy(py, "reduce_scatter", tensor)?;
        let mine = counts.get(self.rank()).copied().unwrap_or_default();
        let recv = room(py, &[mine], tensor.dtype())?;
        let collective = Collective::ReduceScatter { op, counts };
        self.start(py, Plan { collective, dtype: tensor.dtype(), dims: tensor.dims() }, Some(copy), Some(recv))
    }

    /// What comes from all ranks, as a vector. `shape` is what ranks compare; counts are compared by pairs.
    fn all_to_all(
        &self,
        py: Python<'_>,
        tensor: &Bound<'_, PyTensor>,
        send: Vec<usize>,
        recv: Vec<usize>,
        shape: Vec<usize>,
    ) -> PyResult<PyCollectiveRequest> {
        let (copy, tensor) = copy(py, "all_to_all", tensor)?;
        let result = room(py, &recv, tensor.dtype())?;
        let plan = Plan { collective: Collective::AllToAll { send, recv }, dtype: tensor.dtype(), dims: &shape };
        self.start(py, plan, Some(copy), Some(result))
    }

    fn send(&self, py: Python<'_>, tensor: &Bound<'_, PyTensor>, to: usize, tag: u16) -> PyResult<PyCollectiveRequest> {
        let (copy, tensor) = copy(py, "send", tensor)?;
        let plan = Plan { collective: Collective::Send { to, tag }, dtype: tensor.dtype(), dims: tensor.dims() };
        self.start(py, plan, Some(copy), None)
    }

    /// As many elements as `like` has, as a vector.
    fn receive(
        &self,
        py: Python<'_>,
        like: &Bound<'_, PyTensor>,
        source: usize,
        tag: u16,
    ) -> PyResult<PyCollectiveRequest> {
        let like = PyTensor::of(like);
        let recv = room(py, &[like.elem_count()], like.dtype())?;
        let collective = Collective::Receive { from: source, tag };
        self.start(py, Plan { collective, dtype: like.dtype(), dims: like.dims() }, None, Some(recv))
    }

    fn barrier(&self, py: Python<'_>) -> PyResult<PyCollectiveRequest> {
        self.start(py, Plan { collective: Collective::Barrier, dtype: DType::U8, dims: &[] }, None, None)
    }

    /// Tells the other ranks of the world that this one stops after an error.
    fn abort(&self, py: Python<'_>, message: String) {
        py.detach(|| self.world.guard.abort(&Error::msg(message)));
    }

    /// Waits for all calls of the world that are under way, and leaves together with all its ranks.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let signals = Signals::default();
        let closed = py.detach(|| self.world.close(&|| signals.check()));
        signals.raise()?;
        closed.or_raise(py)
    }

    /// Ends the thread that lets calls go on, for good: before the interpreter ends, whose libraries it uses.
    #[staticmethod]
    fn stop(py: Python<'_>) {
        py.detach(progress::stop);
    }

    /// Ends MPI, for good.
    fn finish(&self, py: Python<'_>) -> PyResult<()> {
        let Some(mpi) = self.world.mpi else { return Ok(()) };
        py.detach(|| mpi.finish(self.world.limit)).or_raise(py)
    }
}
