"""`distributed.fsdp` under its older name."""
