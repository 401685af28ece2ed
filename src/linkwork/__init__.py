"""linkwork: multibody dynamics for mechanisms."""
