"""A generative adversarial network for points of a normal distribution."""

import opforge as torch
import opforge.nn as nn


def network(*sizes):
    layers = []
    for i, (a, b) in enumerate(zip(sizes, sizes[1:])):
        layers.append(nn.Linear(a, b))
        if i < len(sizes) - 2:
            layers.append(nn.LeakyReLU(0.2))
    return nn.Sequential(*layers)


def main(mean=3.0, std=0.5, batch=128):
    torch.manual_seed(4)
    generator, discriminator = network(4, 32, 1), network(1, 32, 32, 1)
    loss = nn.BCEWithLogitsLoss()
    optimize_g = torch.optim.Adam(generator.parameters(), lr=1e-3, betas=(0.5, 0.999))
    optimize_d = torch.optim.Adam(discriminator.parameters(), lr=2e-3, betas=(0.5, 0.999))
    real_label, fake_label = torch.ones(batch, 1), torch.zeros(batch, 1)
    for _ in range(500):
        real = torch.randn(batch, 1) * std + mean
        fake = generator(torch.randn(batch, 4))
        optimize_d.zero_grad()
        (loss(discriminator(real), real_label) + loss(discriminator(fake.detach()), fake_label)).backward()
        optimize_d.step()
        optimize_g.zero_grad()
        loss(discriminator(fake), real_label).backward()
        optimize_g.step()
    with torch.no_grad():
        samples = generator(torch.randn(2000, 4))
    return {"mean": samples.mean().item(), "std": samples.std().item(), "wanted": (mean, std)}
