"""Calls on their way to the core: what programs see of them, and those whose arguments the core takes in another form."""
