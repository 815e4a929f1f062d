"""From ranked papers to a checked and cited answer."""
