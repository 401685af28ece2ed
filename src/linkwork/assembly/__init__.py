"""Closed positions of a mechanism: one from a sketch, or all assembly modes."""
