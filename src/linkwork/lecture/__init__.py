"""Formulations worked out step by step."""
