"""Files into the library: cut, embedded, stored, reported."""
