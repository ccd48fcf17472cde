"""CodeReviewQA: probes of comprehension, contamination, and wrong answers for one's own code."""
