"""Computation sequences: elimination orders, symbolic LDL^T, parts that depend on parameters only."""
