"""What keeps a motion on its constraints."""
