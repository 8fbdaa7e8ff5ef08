"""Environments: where policies act."""
