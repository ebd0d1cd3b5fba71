"""Other papers' classifiers, protocols and measures, beside the paper's own model.

``explain`` is algebra that is exact for every classifier of the library; here stands what others defined, as they
defined it, and where their code differs from their text it says so.
"""
