-- What the rules of data quality found, failed ones first.
SELECT cluster, rule, summary, severity, passed, checked, failed, sentence, expectation, examples
FROM quality_results
ORDER BY passed, severity, rule
