"""Motion in time: a run from its problem to its trajectory."""
