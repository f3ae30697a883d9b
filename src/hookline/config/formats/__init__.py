"""config/formats."""
