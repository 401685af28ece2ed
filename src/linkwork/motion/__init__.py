"""Check, start values, motion in time and driven motion of a mechanism."""
