"""PyTorch Geometric: layers of graphs, pooling, batches of graphs, transforms."""

import models
import torch
from torch import nn
from torch_geometric import nn as gnn
from torch_geometric import transforms, utils
from torch_geometric.data import Batch, Data, HeteroData
from torch_geometric.loader import DataLoader

PACKAGE = "torch-geometric"
NODES, CHANNELS = 12, 8


def _edges(count=30):
    return models.integers(NODES, 2, count, name="edges")


class _Layer(nn.Module):
    """A layer with what it takes beside the nodes."""

    def __init__(self, layer, **options):
        super().__init__()
        self.layer, self.options = layer, options

    def forward(self, x):
        return self.layer(x, _edges(), **self.options)


def _layer(build, **options):
    return lambda: models.passes(_Layer(build(), **options), models.normal(NODES, CHANNELS))


class _Lazy(nn.Module):
    """Layers that learn their width from the first input."""

    def __init__(self):
        super().__init__()
        self.first, self.second, self.last = gnn.GCNConv(-1, 6), gnn.SAGEConv((-1, -1), 5), gnn.Linear(-1, 3)

    def forward(self, x):
        return self.last(self.second(self.first(x, _edges()), _edges()))


def _learned_widths():
    network = _Lazy()
    network(models.normal(NODES, CHANNELS))
    return models.passes(network, models.normal(NODES, CHANNELS))


def _net():
    return nn.Sequential(nn.Linear(CHANNELS, 6), nn.ReLU(), nn.Linear(6, 6))


def _graphs():
    return [
        Data(x=models.normal(5 + i, CHANNELS, name=f"x{i}"), edge_index=models.integers(5 + i, 2, 9, name=f"e{i}"), y=torch.tensor([i % 3]))
        for i in range(6)
    ]


class _Classifier(nn.Module):
    """Of whole graphs."""

    def __init__(self):
        super().__init__()
        self.first, self.norm, self.second = gnn.GCNConv(CHANNELS, 16), gnn.GraphNorm(16), gnn.SAGEConv(16, 16)
        self.last = nn.Linear(32, 3)

    def forward(self, data):
        x = self.norm(self.first(data.x, data.edge_index).relu(), data.batch)
        x = self.second(x, data.edge_index).relu()
        return self.last(torch.cat([gnn.global_mean_pool(x, data.batch), gnn.global_max_pool(x, data.batch)], -1))


def _trained():
    model = models.filled(_Classifier())
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    losses = []
    for _ in range(3):
        for batch in DataLoader(_graphs(), batch_size=3):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(batch), batch.y)
            loss.backward()
            optimizer.step()
            losses.append(loss)
    return models.arrays(losses)


def _pooled():
    x, edges, batch = models.normal(NODES, CHANNELS), _edges(), torch.arange(NODES) // 6
    top, clusters = models.filled(gnn.TopKPooling(CHANNELS, 0.5)), models.filled(gnn.SAGPooling(CHANNELS, 0.5))
    found = [top(x, edges, batch=batch)[0], clusters(x, edges, batch=batch)[0], gnn.global_add_pool(x, batch)]
    aggregations = [gnn.aggr.SoftmaxAggregation(learn=True), gnn.aggr.StdAggregation(), gnn.aggr.MedianAggregation(), gnn.aggr.SortAggregation(3)]
    return models.arrays([*found, *(aggregation(x, batch) for aggregation in aggregations)])


def _utilities():
    edges = _edges()
    looped, _ = utils.add_self_loops(edges, num_nodes=NODES)
    return models.arrays([
        looped, utils.coalesce(edges), utils.to_undirected(edges), utils.degree(edges[0], NODES), utils.softmax(models.normal(30), edges[0], num_nodes=NODES),
        utils.to_dense_adj(edges, max_num_nodes=NODES), utils.get_laplacian(edges, normalization="sym", num_nodes=NODES)[1],
        utils.scatter(models.normal(30, 3), edges[0], 0, NODES, "mean"), utils.scatter(models.normal(30, 3), edges[0], 0, NODES, "max"),
        utils.to_dense_batch(models.normal(NODES, 3), torch.arange(NODES) // 5)[0], utils.subgraph(torch.arange(6), edges)[0],
        utils.k_hop_subgraph(2, 2, edges, num_nodes=NODES)[0], utils.remove_self_loops(edges)[0],
    ])  # fmt: skip


def _transformed():
    data = Data(pos=models.uniform(NODES, 3), edge_index=_edges(), x=models.normal(NODES, 4))
    pipeline = transforms.Compose([transforms.NormalizeFeatures(), transforms.Distance(), transforms.Cartesian(), transforms.AddSelfLoops()])
    found = pipeline(data.clone())
    batch = Batch.from_data_list(_graphs())
    return models.arrays([found.edge_attr, found.x, batch.x, batch.ptr, batch[2].edge_index, transforms.OneHotDegree(20)(data.clone()).x])


def _heterogeneous():
    data = HeteroData()
    data["a"].x, data["b"].x = models.normal(5, CHANNELS), models.normal(7, CHANNELS, name="b")
    data["a", "to", "b"].edge_index = torch.stack([models.integers(5, 11), models.integers(7, 11, name="other")])
    data["b", "of", "a"].edge_index = data["a", "to", "b"].edge_index.flip(0)
    model = gnn.HeteroConv({edge: gnn.SAGEConv((CHANNELS, CHANNELS), 6) for edge in data.edge_types}, aggr="sum")
    return models.passes(model, data.x_dict, data.edge_index_dict)


def _compared():
    """Scores of a link predictor and losses of an autoencoder of graphs."""
    model = models.filled(gnn.GAE(gnn.GCNConv(CHANNELS, 4)))
    z = model.encode(models.normal(NODES, CHANNELS), _edges())
    return models.arrays([z, model.decode(z, _edges()), model.recon_loss(z, _edges(), models.integers(NODES, 2, 9, name="absent"))])


_LAYERS = {
    "GCNConv": lambda: gnn.GCNConv(CHANNELS, 6),
    "GATConv": lambda: gnn.GATConv(CHANNELS, 6, heads=2),
    "GATv2Conv": lambda: gnn.GATv2Conv(CHANNELS, 6, heads=2, concat=False),
    "SAGEConv": lambda: gnn.SAGEConv(CHANNELS, 6),
    "SAGEConv, max": lambda: gnn.SAGEConv(CHANNELS, 6, aggr="max"),
    "SAGEConv, projected": lambda: gnn.SAGEConv(CHANNELS, 6, aggr="sum", project=True),
    "GINConv": lambda: gnn.GINConv(_net(), train_eps=True),
    "GraphConv": lambda: gnn.GraphConv(CHANNELS, 6),
    "ChebConv": lambda: gnn.ChebConv(CHANNELS, 6, K=3),
    "TAGConv": lambda: gnn.TAGConv(CHANNELS, 6),
    "SGConv": lambda: gnn.SGConv(CHANNELS, 6, K=2),
    "APPNP": lambda: gnn.APPNP(3, 0.1),
    "TransformerConv": lambda: gnn.TransformerConv(CHANNELS, 6, heads=2),
    "EdgeConv": lambda: gnn.EdgeConv(nn.Linear(2 * CHANNELS, 6)),
    "ARMAConv": lambda: gnn.ARMAConv(CHANNELS, 6, num_stacks=2, num_layers=2),
    "ResGatedGraphConv": lambda: gnn.ResGatedGraphConv(CHANNELS, 6),
    "GatedGraphConv": lambda: gnn.GatedGraphConv(10, 2),
    "LEConv": lambda: gnn.LEConv(CHANNELS, 6),
    "ClusterGCNConv": lambda: gnn.ClusterGCNConv(CHANNELS, 6),
    "GENConv": lambda: gnn.GENConv(CHANNELS, 6),
    "SuperGATConv": lambda: gnn.SuperGATConv(CHANNELS, 6, heads=2),
    "PNAConv": lambda: gnn.PNAConv(CHANNELS, 6, ["mean", "min", "max", "std"], ["identity", "amplification"], torch.tensor([1, 3, 4, 2])),
    "GCN": lambda: gnn.GCN(CHANNELS, 12, 3, 5),
    "GAT with JK": lambda: gnn.GAT(CHANNELS, 12, 3, 5, heads=2, jk="cat"),
}  # fmt: skip

CASES = {
    **{name: _layer(build) for name, build in _LAYERS.items()},
    "GCNConv, weighted": _layer(lambda: gnn.GCNConv(CHANNELS, 6), edge_weight=models.uniform(30)),
    "NNConv": _layer(lambda: gnn.NNConv(CHANNELS, 6, nn.Linear(3, CHANNELS * 6)), edge_attr=models.uniform(30, 3)),
    "GINEConv": _layer(lambda: gnn.GINEConv(_net(), edge_dim=3), edge_attr=models.uniform(30, 3)),
    "lazy": _learned_widths,
    "training": _trained,
    "pooling": _pooled,
    "utilities": _utilities,
    "transforms": _transformed,
    "heterogeneous": _heterogeneous,
    "autoencoder": _compared,
}
