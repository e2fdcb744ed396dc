"""Programs of the kind that users write: nothing in them is special to opforge but the import line. Each has `main`, which trains something and
returns what it has learned to tell."""
