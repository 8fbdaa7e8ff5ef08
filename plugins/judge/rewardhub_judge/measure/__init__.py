"""How far a judge is to be believed: its agreement with labels, and its biases."""
