"""Time integration of first-order systems."""
