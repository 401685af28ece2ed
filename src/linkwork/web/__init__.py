"""Mechanisms as programs for pages: WebAssembly of all that a run needs, and what describes it."""
