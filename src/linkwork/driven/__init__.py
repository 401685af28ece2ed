"""Driven motion: positions, velocities, accelerations and driving forces of a mechanism without freedoms."""
