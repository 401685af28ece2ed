"""From a model to its equations."""
