"""What is known of agents: which there are, how they are installed, what they need, and how they differ."""
