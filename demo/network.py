"""A network of two layers, made as PyTorch's users make them."""

import opforge as torch


class TwoLayers(torch.nn.Module):
    """100 numbers in, the probabilities of 10 classes out."""

    def __init__(self):
        super().__init__()
        self.linear1 = torch.nn.Linear(100, 200)
        self.activation = torch.nn.ReLU()
        self.linear2 = torch.nn.Linear(200, 10)
        self.softmax = torch.nn.Softmax(dim=-1)

    def forward(self, x):
        x = self.activation(self.linear1(x))
        return self.softmax(self.linear2(x))


def show():
    """Prints the network, its parameters, and what it makes of random input before it has learned anything."""
    torch.manual_seed(0)
    model = TwoLayers()
    print("From Python: a network of two layers")
    print("  " + str(model).replace("\n", "\n  "))
    for name, parameter in model.named_parameters():
        print(f"  {name:16} {tuple(parameter.shape)}")
    probabilities = model(torch.randn(3, 100))
    sums = [round(total, 4) for total in probabilities.sum(dim=1).tolist()]
    print(f"  three rows of {probabilities.size(1)} probabilities, which add up to {sums}")
    print(f"  recorded: {probabilities.grad_fn}")
