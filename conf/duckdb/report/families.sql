-- Made of conf/report/families.sql (a51d326fb9fcbcf2) by `make docs`; do not edit.
SELECT
  topic,
  chunk_uuid,
  BOOL_OR(CAST(state = 'in_flight' AS BOOLEAN)) AS arrives,
  BOOL_OR(CAST(state = 'malformed' OR (
    is_complete AND is_unverifiable
  ) AS BOOLEAN)) AS unverifiable,
  BOOL_OR(CAST(is_complete AS BOOLEAN)) AS complete,
  MAX(
    CASE WHEN is_complete OR state = 'malformed' THEN 0 ELSE $doubt END
  ) AS doubt
FROM (
  SELECT
    m.topic,
    m.chunk_uuid,
    m.state,
    m.sureness,
    m.rebuildable OR m.state IN ('whole', 'out_of_order') AS is_complete,
    NOT m.rebuildable OR $unverifiable AS is_unverifiable
  FROM chunked_messages AS m
  SEMI JOIN stalls AS s
    ON m.topic = s.topic AND m.chunk_uuid = s.chunk_uuid
) AS publications
GROUP BY
  topic,
  chunk_uuid
