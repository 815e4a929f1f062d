"""How fast the program is and how it grows, beside the plain tutorial pipeline: `python -m eval.bench`."""
