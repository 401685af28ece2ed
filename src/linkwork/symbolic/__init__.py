"""Symbolic elimination: veiled expressions, zero recognition, LU, the structural index and hidden constraints."""
