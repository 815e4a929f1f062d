"""The library on disk: the database, and the dense and lexical indexes kept in step with it."""
