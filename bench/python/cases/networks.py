"""Whole steps of training, and MiniLM's encoder."""

from case import Case

# What the encoder is given: batch and tokens.
SENTENCES = ((4, 15), (32, 15), (8, 110))


def cases(torch):
    return {name: Case(step(torch)) for name, step in STEPS.items()} | encoders(torch)


def training(model, loss, optimizer):
    """A step, of the model as it is or compiled: how the model is run is an argument."""

    def kind(run):
        running = run(model)

        def step():
            optimizer.zero_grad()
            loss(running).backward()
            optimizer.step()

        return step

    return kind


def as_it_is(model):
    return model


def mlp(torch):
    nn = torch.nn
    model = nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 10))
    x, labels = torch.randn(128, 784), torch.randint(0, 10, (128,))
    return training(model, lambda m: nn.functional.cross_entropy(m(x), labels), torch.optim.SGD(model.parameters(), lr=0.01))


def cnn(torch):
    nn = torch.nn
    model = nn.Sequential(
        nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(32 * 64, 10),
    )
    x, labels = torch.randn(32, 3, 32, 32), torch.randint(0, 10, (32,))
    return training(model, lambda m: nn.functional.cross_entropy(m(x), labels), torch.optim.Adam(model.parameters(), lr=1e-3))


def block(torch):
    model = torch.nn.TransformerEncoderLayer(384, 12, 1536, batch_first=True, dropout=0.0)
    x = torch.randn(4, 64, 384)
    return training(model, lambda m: m(x).square().mean(), torch.optim.AdamW(model.parameters(), lr=1e-4))


def unet(torch):
    """Two levels down and up again, 32 to 128 channels."""
    nn = torch.nn

    def double(before, after):
        return nn.Sequential(
            nn.Conv2d(before, after, 3, padding=1), nn.GroupNorm(8, after), nn.SiLU(),
            nn.Conv2d(after, after, 3, padding=1), nn.GroupNorm(8, after), nn.SiLU(),
        )

    class UNet(nn.Module):
        def __init__(self):
            super().__init__()
            self.down1, self.down2, self.middle = double(3, 32), double(32, 64), double(64, 128)
            self.up2, self.up1, self.out = double(192, 64), double(96, 32), nn.Conv2d(32, 3, 1)
            self.pool = nn.MaxPool2d(2)

        def forward(self, x):
            one = self.down1(x)
            two = self.down2(self.pool(one))
            y = self.middle(self.pool(two))
            y = self.up2(torch.cat([nn.functional.interpolate(y, scale_factor=2), two], 1))
            y = self.up1(torch.cat([nn.functional.interpolate(y, scale_factor=2), one], 1))
            return self.out(y)

    model, x = UNet(), torch.randn(4, 3, 64, 64)
    return training(model, lambda m: nn.functional.mse_loss(m(x), x), torch.optim.Adam(model.parameters(), lr=1e-3))


MODELS = {
    "training step, MLP 784-512-10, SGD": mlp,
    "training step, CNN, Adam": cnn,
    "training step, transformer block 384": block,
    "training step, UNet 64x64": unet,
}

STEPS = {name: lambda torch, model=model: model(torch)(as_it_is) for name, model in MODELS.items()}
STEPS |= {f"{name}, compiled": lambda torch, model=model: model(torch)(torch.compile) for name, model in MODELS.items()}


def encoders(torch):
    nn, functional = torch.nn, torch.nn.functional
    width, heads, layers = 384, 12, 6

    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            self.query, self.key, self.value, self.out = (nn.Linear(width, width) for _ in range(4))
            self.wide, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
            self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)

        def forward(self, x):
            batch, length, _ = x.shape
            split = [f(x).view(batch, length, heads, width // heads).transpose(1, 2) for f in (self.query, self.key, self.value)]
            y = functional.scaled_dot_product_attention(*split).transpose(1, 2).reshape(batch, length, width)
            x = self.norm1(x + self.out(y))
            return self.norm2(x + self.narrow(functional.gelu(self.wide(x))))

    class Encoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.words, self.places, self.norm = nn.Embedding(30522, width), nn.Embedding(512, width), nn.LayerNorm(width)
            self.layers = nn.Sequential(*(Layer() for _ in range(layers)))

        def forward(self, ids):
            return self.layers(self.norm(self.words(ids) + self.places(torch.arange(ids.shape[1]))))

    model, found = Encoder().eval(), {}
    compiled = torch.compile(model)
    for batch, length in SENTENCES:
        ids = torch.randint(0, 30522, (batch, length))
        flops = 2 * batch * length * layers * (12 * width * width + 2 * length * width)
        for kind, run in (("", model), (", compiled", compiled)):

            def encode(run=run, ids=ids):
                with torch.no_grad():
                    return run(ids)

            found[f"MiniLM's encoder, {batch}x{length}{kind}"] = Case(encode, flops=flops)
    return found
