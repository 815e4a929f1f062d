"""What a paper is: identifiers, which entries are one paper, and the way out as files."""
