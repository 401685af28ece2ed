"""Computation sequences and kernels as machine code."""
