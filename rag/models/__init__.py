"""Models on this machine or behind a server: fetched, loaded, asked in turn."""
