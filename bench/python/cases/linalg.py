"""Factorisations: of one matrix, and of many small ones."""

from case import Case


def cases(torch):
    linalg, eye = torch.linalg, torch.eye
    square, tall, tiny = torch.randn(256, 256), torch.randn(256, 64), torch.randn(1000, 4, 4)
    positive, many = square @ square.mT + 256 * eye(256), tiny @ tiny.mT + 4 * eye(4)
    calls = {
        "inv, 256": lambda: linalg.inv(positive),
        "solve, 256": lambda: linalg.solve(positive, square),
        "cholesky, 256": lambda: linalg.cholesky(positive),
        "qr, 256": lambda: linalg.qr(square),
        "svd, 256": lambda: linalg.svd(square),
        "eigh, 256": lambda: linalg.eigh(positive),
        "lstsq, 256x64": lambda: linalg.lstsq(tall, square),
        "inv, 1000 of 4": lambda: linalg.inv(many),
        "cholesky, 1000 of 4": lambda: linalg.cholesky(many),
        "solve, 1000 of 4": lambda: linalg.solve(many, tiny),
        "det, 1000 of 4": lambda: linalg.det(many),
    }
    return {name: Case(call) for name, call in calls.items()}
