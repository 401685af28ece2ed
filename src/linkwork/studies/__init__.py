"""Many motions of one mechanism: which points, what is taken of each, where it is kept."""
