"""Start values that fit the constraints: closing, velocities, branches; freedoms and singular positions there."""
