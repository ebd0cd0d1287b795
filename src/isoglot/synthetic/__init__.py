"""A miniature world of English-like text: labelled data for every task, made offline from a seed."""
