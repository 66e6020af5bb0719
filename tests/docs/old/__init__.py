"""What people come from: programs that make the databases of old sites."""
