"""What runs inside sandboxes, as text; the standard library and pytest only."""
