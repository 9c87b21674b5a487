"""The engine service: the worker that owns partitions."""
