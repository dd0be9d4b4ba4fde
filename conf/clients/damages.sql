-- C41 to C43: what breaks or stops a client, the first place of each kind with the models it concerns.
SELECT
  code,
  topic AS subject,
  topic,
  min_by(damage_ledger_id, (damage_ledger_id, damage_entry_id)) AS ledger_id,
  min_by(damage_entry_id, (damage_ledger_id, damage_entry_id)) AS entry_id,
  count(*) AS count,
  max_by(sureness, doubt) AS sureness,
  'predicted by a model of the client' AS reason,
  replace(max(sentence), '{models}', array_join(array_sort(collect_set(of_model)), '; ')) AS message,
  array_repeat(min_by(place, (damage_ledger_id, damage_entry_id)), 1) AS evidence,
  FALSE AS incomplete
FROM (
  SELECT
    *,
    $message AS sentence,
    replace(
      replace(replace(replace($of_model, '{model}', model), '{damage}', damage), '{place}', place),
      '{blocked}', CAST(blocked AS string)
    ) AS of_model
  FROM (
    SELECT
      *,
      $code AS code,
      concat_ws(':', CAST(damage_ledger_id AS string), CAST(damage_entry_id AS string)) AS place,
      $doubt AS doubt
    FROM client_forecasts
    WHERE damage IS NOT NULL
  ) AS placed
) AS hit
GROUP BY topic, code
