"""stable-baselines3: policies, what they learn from a rollout, trained agents."""

import gymnasium
import models
import numpy
import stable_baselines3
import torch
from gymnasium import spaces
from stable_baselines3.common.distributions import (
    BernoulliDistribution,
    CategoricalDistribution,
    DiagGaussianDistribution,
    SquashedDiagGaussianDistribution,
)

PACKAGE = "stable-baselines3"


class _Walk(gymnasium.Env):
    """A walk on a line that starts where it always does."""

    observation_space = spaces.Box(-10, 10, (2,), numpy.float32)

    def __init__(self, continuous=False):
        self.action_space = spaces.Box(-1, 1, (1,), numpy.float32) if continuous else spaces.Discrete(2)

    def reset(self, seed=None, options=None):
        self.place, self.time = 0.5, 0
        return self._seen(), {}

    def step(self, action):
        move = float(numpy.asarray(action).reshape(-1)[0])
        self.place += (0.1 if move > 0.5 else -0.1) if isinstance(self.action_space, spaces.Discrete) else 0.1 * move
        self.time += 1
        return self._seen(), -abs(self.place), False, self.time >= 8, {}

    def _seen(self):
        return numpy.array([self.place, self.time / 8], numpy.float32)


def _policy(agent, continuous=False, **options):
    """What a policy makes of observations, and gradients of it."""

    def run():
        policy = models.filled(
            getattr(stable_baselines3, agent)("MlpPolicy", _Walk(continuous), device="cpu", policy_kwargs={"net_arch": [8, 8]}, **options).policy
        )
        seen = models.normal(5, 2)
        actions = policy._predict(seen, deterministic=True)
        if hasattr(policy, "evaluate_actions"):
            values, density, entropy = policy.evaluate_actions(seen, actions)
            (values.sum() + density.sum() + entropy.sum()).backward()
            return models.arrays([actions, values, density, entropy]) | models.arrays(
                {name: p.grad for name, p in policy.named_parameters() if p.grad is not None}, "gradient"
            )
        return models.arrays([actions])

    return run


def _learned(agent, continuous=False, **options):
    """An agent that has learned from what it did, which depends on random numbers: it only has to have learned."""

    def run():
        made = getattr(stable_baselines3, agent)("MlpPolicy", _Walk(continuous), seed=0, device="cpu", policy_kwargs={"net_arch": [8]}, **options)
        before = [parameter.detach().clone() for parameter in made.policy.parameters()]
        made.learn(32)
        changed = [not torch.equal(a, b) for a, b in zip(before, made.policy.parameters(), strict=True)]
        return models.arrays([torch.tensor(any(changed)), torch.tensor([bool(p.isfinite().all()) for p in made.policy.parameters()])])

    return run


def _updated():
    """A step of PPO from a given rollout."""
    agent = stable_baselines3.PPO("MlpPolicy", _Walk(), n_steps=8, batch_size=8, n_epochs=2, device="cpu", policy_kwargs={"net_arch": [8]})
    models.filled(agent.policy)
    agent._setup_learn(8)
    buffer = agent.rollout_buffer
    for step in range(8):
        seen, action = models.normal(1, 2, name=f"seen {step}"), models.integers(2, 1, name=f"action {step}")
        value, density, _ = agent.policy.evaluate_actions(seen, action)
        buffer.add(seen.numpy(), action.numpy()[:, None], numpy.array([step / 8.0]), numpy.array([step == 0]), value.detach(), density.detach())
    buffer.compute_returns_and_advantage(torch.zeros(1), numpy.array([True]))
    agent.train()
    return models.arrays(dict(agent.policy.named_parameters()))


def _distributions():
    mean, spread = models.normal(4, 3), 0.1 * models.normal(3, name="spread")
    actions = models.uniform(4, 3)
    gaussian, squashed = (
        DiagGaussianDistribution(3).proba_distribution(mean, spread),
        SquashedDiagGaussianDistribution(3).proba_distribution(mean, spread),
    )
    kinds, bits = CategoricalDistribution(3).proba_distribution(mean), BernoulliDistribution(3).proba_distribution(mean)
    return models.arrays(
        [
            gaussian.log_prob(actions),
            gaussian.entropy(),
            squashed.log_prob(actions * 0.9),
            kinds.log_prob(models.integers(3, 4)),
            kinds.mode(),
            bits.log_prob(actions.round()),
            bits.mode(),
        ]
    )


CASES = {
    "PPO": _policy("PPO"),
    "A2C, continuous": _policy("A2C", True),
    "DQN": _policy("DQN"),
    "SAC": _policy("SAC", True),
    "TD3": _policy("TD3", True),
    "PPO, a step": _updated,
    "PPO, learning": _learned("PPO", n_steps=16, batch_size=8, n_epochs=2),
    "A2C, learning": _learned("A2C", True),
    "DQN, learning": _learned("DQN", learning_starts=4, buffer_size=100, batch_size=8),
    "SAC, learning": _learned("SAC", True, learning_starts=4, buffer_size=100, batch_size=8),
    "distributions": _distributions,
}
