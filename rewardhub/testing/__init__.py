"""A kit for authors of plugins."""
