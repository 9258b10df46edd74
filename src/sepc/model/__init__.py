"""The fitted model: rules, counts, densities, and the assessment of new points."""
