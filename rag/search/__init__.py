"""Papers for a question: found, ordered, or listed over the whole library."""
