"""torch_geometric: layers of graphs, and batches of them."""

import models
import torch
from torch_geometric import data, nn, utils

PACKAGE = "torch-geometric"
NODES = 10


def _edges():
    return torch.stack([models.integers(NODES, 30, name="from"), models.integers(NODES, 30, name="to")])


def _layer(build):
    return lambda: models.passes(build(), models.normal(NODES, 6), _edges())


class Classifier(torch.nn.Module):
    """Graphs to classes."""

    def __init__(self):
        super().__init__()
        self.first, self.second, self.last = nn.GCNConv(6, 16), nn.SAGEConv(16, 16), torch.nn.Linear(16, 3)

    def forward(self, x, edges, batch):
        """The scores of each graph."""
        x = self.second(self.first(x, edges).relu(), edges).relu()
        return self.last(nn.global_mean_pool(x, batch) + nn.global_max_pool(x, batch))


def _batched():
    graphs = [data.Data(x=models.normal(NODES, 6, name=str(i)), edge_index=_edges()) for i in range(3)]
    batch = data.Batch.from_data_list(graphs)
    return models.passes(Classifier(), batch.x, batch.edge_index, batch.batch)


def _utils():
    edges = _edges()
    looped, _ = utils.add_self_loops(edges, num_nodes=NODES)
    dense, mask = utils.to_dense_batch(models.normal(NODES, 6), torch.arange(NODES) // 4)
    whole = utils.to_undirected(edges)
    return models.arrays([looped, dense, mask, whole, utils.degree(edges[0], NODES), utils.to_dense_adj(edges, max_num_nodes=NODES), utils.coalesce(edges)])


CASES = {
    "GCNConv": _layer(lambda: nn.GCNConv(6, 5)),
    "GATConv": _layer(lambda: nn.GATConv(6, 5, heads=2)),
    "GATv2Conv": _layer(lambda: nn.GATv2Conv(6, 5, heads=2)),
    "SAGEConv": _layer(lambda: nn.SAGEConv(6, 5)),
    "GINConv": _layer(lambda: nn.GINConv(torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.ReLU(), torch.nn.Linear(8, 5)))),
    "TransformerConv": _layer(lambda: nn.TransformerConv(6, 5, heads=2)),
    "ChebConv": _layer(lambda: nn.ChebConv(6, 5, K=3)),
    "GraphConv": _layer(lambda: nn.GraphConv(6, 5, aggr="max")),
    "EdgeConv": _layer(lambda: nn.EdgeConv(torch.nn.Linear(12, 5))),
    "a batch of graphs": _batched,
    "utilities": _utils,
}
