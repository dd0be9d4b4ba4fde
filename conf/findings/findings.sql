-- What was noticed, with name and severity of its codes.
SELECT *, $name AS name, $severity AS severity
FROM noticed
