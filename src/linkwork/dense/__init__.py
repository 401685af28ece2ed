"""Linear algebra on small matrices and vectors for kernels; it knows no mechanics."""
