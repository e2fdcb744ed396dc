"""A policy learned by REINFORCE: to walk to the right end of a corridor."""

import opforge as torch
import opforge.nn as nn
import opforge.nn.functional as F

CELLS = 6


def episode(policy):
    """Log-probabilities of the actions taken, and the rewards."""
    cell, log_probs, rewards = 0, [], []
    for _ in range(30):
        state = F.one_hot(torch.tensor(cell), CELLS).float()
        probabilities = F.softmax(policy(state), dim=-1)
        action = torch.multinomial(probabilities, 1).item()
        log_probs.append(torch.log(probabilities[action]))
        cell = max(0, cell + (1 if action == 1 else -1))
        rewards.append(1.0 if cell == CELLS - 1 else -0.1)
        if cell == CELLS - 1:
            break
    return log_probs, rewards


def returns(rewards, gamma=0.95):
    total, out = 0.0, []
    for reward in reversed(rewards):
        total = reward + gamma * total
        out.insert(0, total)
    out = torch.tensor(out)
    return (out - out.mean()) / (out.std() + 1e-6) if len(out) > 1 else out


def main():
    torch.manual_seed(5)
    policy = nn.Sequential(nn.Linear(CELLS, 16), nn.Tanh(), nn.Linear(16, 2))
    optimizer = torch.optim.RMSprop(policy.parameters(), lr=1e-2)
    lengths = []
    for _ in range(120):
        log_probs, rewards = episode(policy)
        advantage = returns(rewards) if len(rewards) > CELLS - 1 else torch.ones(len(rewards))
        loss = -(torch.stack(log_probs) * advantage).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        lengths.append(len(rewards))
    return {"first": sum(lengths[:10]) / 10, "last": sum(lengths[-10:]) / 10, "best": CELLS - 1}
