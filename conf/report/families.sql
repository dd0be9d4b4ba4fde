-- What the publications of each uuid that a subscription has not wholly acknowledged say about what can be done.
SELECT
  topic,
  chunk_uuid,
  bool_or(state = 'in_flight') AS arrives,
  bool_or(state = 'malformed' OR (is_complete AND is_unverifiable)) AS unverifiable,
  bool_or(is_complete) AS complete,
  max(
    CASE
      WHEN is_complete OR state = 'malformed' THEN 0
      ELSE $doubt
    END
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
  SEMI JOIN stalls AS s ON m.topic = s.topic AND m.chunk_uuid = s.chunk_uuid
) AS publications
GROUP BY topic, chunk_uuid
