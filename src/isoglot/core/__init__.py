"""What every room needs: errors and their messages, options, checks, languages, seeds, results as frames.

Nothing here loads torch. Start with `options.py` (how an option is declared once) and `errors.py` (what a message is).
"""
