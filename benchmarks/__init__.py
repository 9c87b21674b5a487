"""Benchmarks: figures as ratios, printed, never asserted on."""
