"""What is asked: its kind, its filters, standalone and in English."""
