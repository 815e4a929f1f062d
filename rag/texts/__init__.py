"""Text: made right, cut into sentences, into words and into index terms."""
