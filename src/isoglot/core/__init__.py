"""Foundations of every room: errors and messages, options, checks, languages, seeds, results as frames.

    class Cut(Options):                      options.py: a field is an argument, a flag and a line of the docs
        limit: int | None = option(None, "Keep at most this many rows.", ge=1)

    validated(Cut, {"limt": 5})              checks.py: values become options, and every mistake is reported at once
    ConfigurationError("[[limt]]: unknown option; did you mean 'limit'?")
                                             errors.py: what is wrong, what is needed, what to type next
    `limt` in Python, --limt by a command    named_options.py: what [[limt]] is shown as

Nothing here loads torch. Open `options.py` first, then `errors.py`.
"""
