"""Sandboxes that rewardhub ships: one inside, carried by namespaces or by containers."""
