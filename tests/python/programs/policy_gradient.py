"""A policy learned by REINFORCE: to walk to the right end of a corridor."""

import opforge as torch
import opforge.nn as nn
import opforge.nn.functional as F

CELLS = 6


def episode(policy, steps=20):
    """Log-probabilities of the actions taken, and the rewards: for every step to the right, and for the end."""
    cell, log_probs, rewards = 0, [], []
    for _ in range(steps):
        state = F.one_hot(torch.tensor(cell), CELLS).float()
        probabilities = F.softmax(policy(state), dim=-1)
        action = torch.multinomial(probabilities, 1).item()
        log_probs.append(torch.log(probabilities[action]))
        before, cell = cell, max(0, cell + (1 if action == 1 else -1))
        rewards.append(cell - before + (1.0 if cell == CELLS - 1 else -0.2))
        if cell == CELLS - 1:
            break
    return log_probs, rewards


def returns(rewards, gamma=0.9):
    """The discounted sum of what follows each step."""
    total, out = 0.0, []
    for reward in reversed(rewards):
        total = reward + gamma * total
        out.insert(0, total)
    return torch.tensor(out)


def main(seed=5):
    torch.manual_seed(seed)
    policy = nn.Sequential(nn.Linear(CELLS, 16), nn.Tanh(), nn.Linear(16, 2))
    optimizer = torch.optim.RMSprop(policy.parameters(), lr=1e-2)
    lengths, baseline = [], 0.0
    for _ in range(150):
        log_probs, rewards = episode(policy)
        outcome = returns(rewards)
        loss = -(torch.stack(log_probs) * (outcome - baseline)).sum()
        baseline = 0.9 * baseline + 0.1 * outcome.mean().item()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        lengths.append(len(rewards))
    return {"first": sum(lengths[:10]) / 10, "last": sum(lengths[-10:]) / 10, "best": CELLS - 1}
