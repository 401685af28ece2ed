"""What a mechanism does at rest and near it: equilibrium, linearization, modes."""
