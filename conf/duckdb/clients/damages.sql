-- Made of conf/clients/damages.sql (85ac51b90f4d93e6) by `make docs`; do not edit.
SELECT
  code,
  topic AS subject,
  topic,
  ARG_MIN_NULL(damage_ledger_id, (damage_ledger_id, damage_entry_id)) AS ledger_id,
  ARG_MIN_NULL(damage_entry_id, (damage_ledger_id, damage_entry_id)) AS entry_id,
  COUNT(*) AS count,
  ARG_MAX_NULL(sureness, doubt) AS sureness,
  'predicted by a model of the client' AS reason,
  REPLACE(
    MAX(sentence),
    '{models}',
    ARRAY_TO_STRING(
      LIST_SORT(COALESCE(LIST(DISTINCT of_model) FILTER (WHERE of_model IS NOT NULL), []), 'ASC', 'NULLS LAST'),
      '; '
    )
  ) AS message,
  REPEAT([ARG_MIN_NULL(place, (damage_ledger_id, damage_entry_id))], 1) AS evidence,
  FALSE AS incomplete
FROM (
  SELECT
    *,
    $message AS sentence,
    REPLACE(
      REPLACE(
        REPLACE(REPLACE($of_model, '{model}', model), '{damage}', damage),
        '{place}',
        place
      ),
      '{blocked}',
      CAST(blocked AS TEXT)
    ) AS of_model
  FROM (
    SELECT
      *,
      $code AS code,
      CONCAT_WS(':', CAST(damage_ledger_id AS TEXT), CAST(damage_entry_id AS TEXT)) AS place,
      $doubt AS doubt
    FROM client_forecasts
    WHERE
      NOT damage IS NULL
  ) AS placed
) AS hit
GROUP BY
  topic,
  code
