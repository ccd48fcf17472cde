"""CodeReviewQA: probes by choice, their distractors, and tests of contamination."""
