"""What runs inside the sandbox, beside what the policy does there. Standard library only."""
