"""The mechanisms that come with linkwork: model files, and generators of mechanisms of any size."""
