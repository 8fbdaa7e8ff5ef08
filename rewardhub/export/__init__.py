"""Scored runs, handed on: as data that trainers read."""
