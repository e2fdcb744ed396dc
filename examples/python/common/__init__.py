"""What the example programs share: one-line errors, model folders, files of lines."""
