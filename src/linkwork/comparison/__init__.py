"""Formulations side by side."""
