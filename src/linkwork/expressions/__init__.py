"""The expression graph: building, differentiating, evaluating, reading and printing scalar expressions."""
