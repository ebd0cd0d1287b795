"""Statistical word aligners: IBM 2 (fast_align), a Bayesian HMM, eflomal."""
