"""linkwork: multibody dynamics for mechanisms."""

__version__ = "0.1.0"
