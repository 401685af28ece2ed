"""The studio: a model file and its mechanism beside each other, on a page of this computer that nobody else reaches."""
