"""What a user asks of a mechanism."""
