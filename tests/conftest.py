"""What all tests share."""

from __future__ import annotations

from hypothesis import settings

# No test depends on a timing: a slow machine is not a failed property.
settings.register_profile("rewardhub", deadline=None)
settings.load_profile("rewardhub")
