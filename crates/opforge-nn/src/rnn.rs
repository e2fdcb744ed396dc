//! Recurrent layers.

use opforge::{Error, Result, Tensor};

use crate::{Init, VarBuilder};

/// A recurrent layer: a state, and how an input changes it.
pub trait RNN {
    /// What is carried from step to step.
    type State: Clone;

    /// The state before the first step.
    ///
    /// # Errors
    /// When there is no memory for it.
    fn zero_state(&self, batch_dim: usize) -> Result<Self::State>;

    /// The state after an input `[batch, features]`.
    ///
    /// # Errors
    /// For an input of another shape or dtype.
    fn step(&self, input: &Tensor, state: &Self::State) -> Result<Self::State>;

    /// The states after each step of a sequence `[batch, steps, features]`.
    ///
    /// # Errors
    /// As [`RNN::step`].
    fn seq(&self, input: &Tensor) -> Result<Vec<Self::State>> {
        let Some(&batch) = input.dims().first() else {
            return Err(Error::shape("seq", "input", "a tensor without dimensions", "[batch, steps, features]"));
        };
        self.seq_init(input, &self.zero_state(batch)?)
    }

    /// As [`RNN::seq`], from a given state.
    ///
    /// # Errors
    /// As [`RNN::step`].
    fn seq_init(&self, input: &Tensor, state: &Self::State) -> Result<Vec<Self::State>> {
        let &[_, steps, _] = input.dims() else {
            let given = format!("{:?}", input.shape());
            return Err(Error::shape("seq_init", "input", given, "[batch, steps, features]"));
        };
        let mut states: Vec<Self::State> = Vec::with_capacity(steps);
        for step in 0..steps {
            let input = input.narrow(1, step, 1)?.squeeze(1)?;
            let next = self.step(&input, states.last().unwrap_or(state))?;
            states.push(next);
        }
        Ok(states)
    }

    /// The outputs of a sequence's states in one tensor: an [`LSTM`]'s `[batch, steps, hidden]`, a [`GRU`]'s one after the other along the last
    /// dimension, `[batch, steps * hidden]`.
    ///
    /// # Errors
    /// When there are no states.
    fn states_to_tensor(&self, states: &[Self::State]) -> Result<Tensor>;
}

/// How the parameters of a layer of one or more gates start, and what they are called.
#[derive(Debug, Clone, Copy)]
pub struct Config {
    /// The weight on the input.
    pub w_ih_init: Init,
    /// The weight on the state.
    pub w_hh_init: Init,
    /// The bias on the input, if any.
    pub b_ih_init: Option<Init>,
    /// The bias on the state, if any.
    pub b_hh_init: Option<Init>,
    /// The number at the end of the variables' names.
    pub layer_idx: usize,
    /// Whose parameters these are of a layer that reads both ways: those of the second direction are called `.._reverse`. The order of steps is the caller's.
    pub direction: Direction,
}

/// The order in which a layer reads a sequence.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Direction {
    /// From the first step.
    #[default]
    Forward,
    /// From the last step.
    Backward,
}

/// The configuration of an [`LSTM`].
pub type LSTMConfig = Config;
/// The configuration of a [`GRU`].
pub type GRUConfig = Config;

impl Default for Config {
    fn default() -> Self {
        let (weight, bias) = (Init::DEFAULT_KAIMING_UNIFORM, Some(Init::Const(0.0)));
        Config {
            w_ih_init: weight,
            w_hh_init: weight,
            b_ih_init: bias,
            b_hh_init: bias,
            layer_idx: 0,
            direction: Direction::Forward,
        }
    }
}

impl Config {
    /// Without biases.
    pub fn default_no_bias() -> Self {
        Config { b_ih_init: None, b_hh_init: None, ..Config::default() }
    }
}

/// The parameters of several gates, stacked as PyTorch stacks them.
#[derive(Debug, Clone)]
struct Gates {
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Option<Tensor>,
    b_hh: Option<Tensor>,
    hidden: usize,
    config: Config,
}

impl Gates {
    fn new(count: usize, in_dim: usize, hidden: usize, config: &Config, vb: &VarBuilder<'_>) -> Result<Self> {
        let suffix = if config.direction == Direction::Backward { "_reverse" } else { "" };
        let name = |what: &str| format!("{what}_l{}{suffix}", config.layer_idx);
        let rows = count * hidden;
        let weight = |init, what, inner: usize| vb.get_with_hints((rows, inner), &name(what), init);
        let bias = |init: Option<Init>, what| init.map(|init| vb.get_with_hints(rows, &name(what), init)).transpose();
        Ok(Gates {
            w_ih: weight(config.w_ih_init, "weight_ih", in_dim)?,
            w_hh: weight(config.w_hh_init, "weight_hh", hidden)?,
            b_ih: bias(config.b_ih_init, "bias_ih")?,
            b_hh: bias(config.b_hh_init, "bias_hh")?,
            hidden,
            config: *config,
        })
    }

    fn of_input(&self, input: &Tensor) -> Result<Tensor> {
        opforge::functional::linear(input, &self.w_ih, self.b_ih.as_ref())
    }

    fn of_state(&self, h: &Tensor) -> Result<Tensor> {
        opforge::functional::linear(h, &self.w_hh, self.b_hh.as_ref())
    }

    /// Gate `i` of the stacked values.
    fn gate(&self, all: &Tensor, i: usize) -> Result<Tensor> {
        all.narrow(1, i * self.hidden, self.hidden)
    }

    fn zeros(&self, batch: usize) -> Result<Tensor> {
        Tensor::zeros((batch, self.hidden), self.w_hh.dtype(), self.w_hh.device())
    }
}

/// The state of an [`LSTM`].
#[derive(Debug, Clone)]
pub struct LSTMState {
    /// The output, `[batch, hidden]`.
    pub h: Tensor,
    /// The cell, `[batch, hidden]`.
    pub c: Tensor,
}

impl LSTMState {
    /// A state of these.
    pub fn new(h: Tensor, c: Tensor) -> Self {
        LSTMState { h, c }
    }

    /// The output.
    pub fn h(&self) -> &Tensor {
        &self.h
    }

    /// The cell.
    pub fn c(&self) -> &Tensor {
        &self.c
    }
}

/// Long short-term memory (Hochreiter and Schmidhuber, 1997): with the gates `i, f, g, o`, `c = sigmoid(f) c + sigmoid(i) tanh(g)` and
/// `h = sigmoid(o) tanh(c)`.
#[derive(Debug, Clone)]
pub struct LSTM(Gates);

/// An LSTM of the variables `weight_ih_l0`, `weight_hh_l0` and, unless configured away, `bias_ih_l0` and `bias_hh_l0`.
///
/// # Errors
/// When the builder has no variables of these names and shapes.
pub fn lstm(in_dim: usize, hidden_dim: usize, config: LSTMConfig, vb: VarBuilder<'_>) -> Result<LSTM> {
    Gates::new(4, in_dim, hidden_dim, &config, &vb).map(LSTM)
}

impl LSTM {
    /// As [`lstm`].
    ///
    /// # Errors
    /// As [`lstm`].
    pub fn new(in_dim: usize, hidden_dim: usize, config: LSTMConfig, vb: VarBuilder<'_>) -> Result<Self> {
        lstm(in_dim, hidden_dim, config, vb)
    }

    /// How it was made.
    pub fn config(&self) -> &LSTMConfig {
        &self.0.config
    }
}

impl RNN for LSTM {
    type State = LSTMState;

    fn zero_state(&self, batch_dim: usize) -> Result<LSTMState> {
        Ok(LSTMState { h: self.0.zeros(batch_dim)?, c: self.0.zeros(batch_dim)? })
    }

    fn step(&self, input: &Tensor, state: &LSTMState) -> Result<LSTMState> {
        let all = self.0.of_input(input)?.add(&self.0.of_state(&state.h)?)?;
        let gate = |i: usize| self.0.gate(&all, i);
        let kept = gate(1)?.sigmoid()?.mul(&state.c)?;
        let c = kept.add(&gate(0)?.sigmoid()?.mul(&gate(2)?.tanh()?)?)?;
        let h = gate(3)?.sigmoid()?.mul(&c.tanh()?)?;
        Ok(LSTMState { h, c })
    }

    fn states_to_tensor(&self, states: &[LSTMState]) -> Result<Tensor> {
        Tensor::stack(&states.iter().map(|state| &state.h).collect::<Vec<_>>(), 1)
    }
}

/// The state of a [`GRU`].
#[derive(Debug, Clone)]
pub struct GRUState {
    /// The output, `[batch, hidden]`.
    pub h: Tensor,
}

impl GRUState {
    /// The output.
    pub fn h(&self) -> &Tensor {
        &self.h
    }
}

/// Gated recurrent unit (Cho et al., 2014): with the gates `r, z, n`, of input and state each, `r = sigmoid(r)`, `z = sigmoid(z)`,
/// `n = tanh(n of input + r (n of state))` and `h = (1 - z) n + z h`.
#[derive(Debug, Clone)]
pub struct GRU(Gates);

/// A GRU of the variables `weight_ih_l0`, `weight_hh_l0` and, unless configured away, `bias_ih_l0` and `bias_hh_l0`.
///
/// # Errors
/// When the builder has no variables of these names and shapes.
pub fn gru(in_dim: usize, hidden_dim: usize, config: GRUConfig, vb: VarBuilder<'_>) -> Result<GRU> {
    Gates::new(3, in_dim, hidden_dim, &config, &vb).map(GRU)
}

impl GRU {
    /// As [`gru`].
    ///
    /// # Errors
    /// As [`gru`].
    pub fn new(in_dim: usize, hidden_dim: usize, config: GRUConfig, vb: VarBuilder<'_>) -> Result<Self> {
        gru(in_dim, hidden_dim, config, vb)
    }

    /// How it was made.
    pub fn config(&self) -> &GRUConfig {
        &self.0.config
    }
}

impl RNN for GRU {
    type State = GRUState;

    fn zero_state(&self, batch_dim: usize) -> Result<GRUState> {
        Ok(GRUState { h: self.0.zeros(batch_dim)? })
    }

    fn step(&self, input: &Tensor, state: &GRUState) -> Result<GRUState> {
        let (x, h) = (self.0.of_input(input)?, self.0.of_state(&state.h)?);
        let both = |i: usize| self.0.gate(&x, i)?.add(&self.0.gate(&h, i)?);
        let (r, z) = (both(0)?.sigmoid()?, both(1)?.sigmoid()?);
        let n = self.0.gate(&x, 2)?.add(&r.mul(&self.0.gate(&h, 2)?)?)?.tanh()?;
        let h = n.add(&z.mul(&state.h.sub(&n)?)?)?;
        Ok(GRUState { h })
    }

    fn states_to_tensor(&self, states: &[GRUState]) -> Result<Tensor> {
        Tensor::cat(&states.iter().map(|state| &state.h).collect::<Vec<_>>(), 1)
    }
}
