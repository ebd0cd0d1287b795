"""Reports: tables in the papers' layout, figures and one self-contained page; reads results only, never torch."""
