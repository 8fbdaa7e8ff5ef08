"""What rewardhub ships itself, registered through the same hooks as any plugin."""
