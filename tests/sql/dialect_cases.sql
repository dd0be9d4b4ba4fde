-- A query of Spark's on each line, or a value of a row of `t`, to which both engines give equal answers.
m / 2
n div m
n % m
try_divide(n, 0)
-7 div 2
mod(n, 2)
pmod(n, 3)
CAST(1.5 AS int)
CAST(d AS int)
CAST(d AS bigint)
CAST(-2.5D AS int)
CAST('12' AS int)
TRY_CAST('x' AS int)
TRY_CAST(3000000000 AS int)
CAST(n AS string)
CAST(d AS string)
CAST(ok AS string)
CAST(day AS string)
CAST(ts AS date)
CAST('2026-01-02' AS date)
CAST('2026-01-02 03:04:05' AS timestamp)
CAST(n AS decimal(20,0))
round(d)
round(d, 1)
floor(d)
ceil(d)
ceiling(d)
abs(n)
sign(d)
pow(n, 2)
sqrt(abs(d))
log(10)
ln(10)
log10(100)
log2(8)
log(2, 8)
exp(1)
n & 1
n | 1
n ^ 1
shiftright(n, 1)
bit_count(7)
greatest(n, m)
least(n, m)
coalesce(m, 0)
nvl(m, 0)
nvl2(m, 1, 0)
ifnull(m, 0)
nullif(n, 7)
if(n > 5, 'big', 'small')
isnull(m)
isnotnull(m)
g <=> 'a'
g == 'a'
g != 'a'
g <> 'a'
g IS DISTINCT FROM 'a'
NOT (g <=> 'a')
s || g
concat(s, g)
concat(tags, array('w'))
concat_ws('-', s, g)
upper(s)
lower(s)
initcap(s)
length(s)
char_length(s)
substring(s, 2, 3)
substr(s, 2)
substring(s, -3)
substring(s, 0, 2)
left(s, 2)
right(s, 2)
instr(s, 'b')
locate('b', s)
locate('o', s, 6)
position('b' IN s)
split(s, '\\.')
split(s, '[.,]')
split(s, ',')
split(s, '.')
split_part(s, '.', 2)
replace(s, 'a', 'b')
regexp_replace(s, '[a-z]', '*')
regexp_extract(s, '([a-z])=([0-9])', 2)
regexp_extract(s, '([a-z])=([0-9])')
regexp_extract(s, 'zzz([0-9])', 1)
regexp_extract_all(s, '([a-z])', 1)
regexp_like(s, '^a')
s RLIKE '^a'
s LIKE 'a%'
s LIKE '%_b%'
s ILIKE 'HELLO%'
s NOT LIKE 'a%'
s LIKE ANY ('a%', 'x%')
startswith(s, 'a')
endswith(s, 'c')
contains(s, 'b')
translate(s, 'abc', 'xyz')
trim(concat('  ', s, ' '))
ltrim(s)
trim(BOTH 'a' FROM s)
trim(LEADING 'a' FROM s)
lpad(s, 8, '*')
rpad(s, 8, '*')
lpad(s, 8)
repeat(s, 2)
reverse(s)
ascii(s)
chr(65)
char(65)
base64(bin)
unbase64('YWJj')
hex(bin)
hex(s)
hex(255)
unhex('61')
decode(bin, 'UTF-8')
encode(s, 'UTF-8')
decode(id, 1, 'one', 2, 'two', 'more')
md5(s)
sha1(s)
sha2(s, 256)
levenshtein(s, 'abc')
printf('%05d', id)
get_json_object('{"a":{"b":1}}', '$.a.b')
get_json_object('{"a":"t"}', '$.a')
year(ts)
month(ts)
day(ts)
dayofmonth(ts)
dayofweek(ts)
dayofyear(ts)
weekday(ts)
weekofyear(ts)
quarter(ts)
hour(ts)
minute(ts)
second(ts)
extract(YEAR FROM ts)
date_part('year', ts)
date_trunc('hour', ts)
date_trunc('DAY', ts)
date_trunc('week', ts)
trunc(day, 'MM')
trunc(day, 'year')
date(ts)
to_date('2026-01-02')
to_date('02/01/2026', 'dd/MM/yyyy')
to_timestamp('2026-01-02 03:04:05')
to_timestamp('2026/01/02 03', 'yyyy/MM/dd HH')
date_format(ts, 'yyyy-MM-dd HH:mm:ss')
date_format(ts, "yyyy-MM-dd'T'HH:mm:ss.SSS")
date_format(ts, 'EEE')
date_format(ts, 'MMM d, y')
date_add(day, 3)
date_sub(day, 3)
add_months(day, 1)
add_months(DATE '2026-01-31', 1)
last_day(day)
next_day(day, 'MON')
datediff(DATE '2026-12-01', day)
datediff(DAY, day, DATE '2026-12-01')
date_diff(DATE '2026-12-01', day)
timestampdiff(HOUR, ts, TIMESTAMP '2026-11-22 00:00:00')
timestampadd(HOUR, 3, ts)
ts + INTERVAL 1 DAY
ts + INTERVAL '1' HOUR
ts - INTERVAL 90 MINUTES
ts + INTERVAL 1 HOUR 30 MINUTES
day + 1
day - 1
unix_timestamp(ts)
unix_seconds(ts)
unix_millis(ts)
unix_micros(ts)
from_unixtime(1000)
from_unixtime(1000, 'yyyy')
timestamp_millis(n)
timestamp_seconds(id)
timestamp_micros(n)
make_date(2026, 1, 2)
make_timestamp(2026, 1, 2, 3, 4, 5)
from_utc_timestamp(ts, 'America/New_York')
to_utc_timestamp(ts, 'America/New_York')
unix_date(day)
ts > '2024-01-01'
ts BETWEEN '2024-01-01' AND '2027-01-01'
day = '2024-02-29'
struct(id, g)
struct(id AS a, g AS b)
named_struct('a', id, 'b', g)
named_struct('a', id, 'b', g).b
pos.l
pos.L
array(1, 2, id)
size(tags)
size(nums)
cardinality(tags)
array_size(tags)
tags[0]
element_at(tags, 1)
element_at(tags, -1)
try_element_at(tags, 9)
get(tags, 0)
get(tags, 7)
mp['k']
element_at(mp, 'k')
try_element_at(mp, 'zz')
map_keys(mp)
map_values(mp)
map_entries(mp)
map('a', 1)
map_from_arrays(array('a'), array(1))
map_from_entries(array(struct('a', 1)))
map_contains_key(mp, 'k')
array_contains(tags, 'x')
array_position(tags, 'y')
array_position(tags, 'nope')
array_sort(nums)
sort_array(nums)
sort_array(nums, false)
array_max(nums)
array_min(nums)
array_join(tags, ',')
array_join(tags, ',', '?')
array_repeat('a', 2)
array_intersect(array(1, 2), array(2, 3))
array_except(array(1, 2), array(2, 3))
array_append(nums, 4)
array_prepend(nums, 4)
array_compact(nums)
array_insert(array(1, 2), 1, 0)
arrays_overlap(tags, array('x'))
flatten(array(array(1), array(2, 3)))
slice(tags, 1, 2)
slice(tags, 2, 5)
slice(tags, -2, 2)
sequence(1, 3)
sequence(3, 1)
sequence(1, 9, 4)
transform(nums, x -> x * 2)
transform(tags, (x, i) -> concat(x, i))
filter(nums, x -> x > 1)
filter(tags, x -> x IS NOT NULL)
exists(nums, x -> x > 2)
forall(nums, x -> x > 0)
aggregate(nums, 0, (acc, x) -> acc + x)
reduce(nums, 0, (acc, x) -> acc + x)
array_agg(id) OVER (PARTITION BY g ORDER BY id)
uuid() IS NOT NULL
rand() < 1
hash(1) IS NOT NULL
current_date() > DATE '2020-01-01'
current_timestamp() > TIMESTAMP '2020-01-01 00:00:00'
now() > TIMESTAMP '2020-01-01 00:00:00'
'it\'s'
"double quoted"
'tab\there'
r'raw\d'
'back\\slash'
X'1F'
1L
1.5D
1e3
1.5BD
`id`
CASE id WHEN 1 THEN 'one' ELSE 'more' END
bigint(d)
int('5')
string(id)
double(id)
boolean('true')
SELECT g, count(*) AS n FROM t GROUP BY g ORDER BY g
SELECT g FROM t ORDER BY g DESC
SELECT g FROM t ORDER BY g NULLS LAST, id
SELECT count_if(n > 5) AS c FROM t
SELECT count(DISTINCT g) AS c FROM t
SELECT count(DISTINCT g, m) AS c FROM t
SELECT count(*) FILTER (WHERE n > 5) AS c FROM t
SELECT any_value(g) IS NOT NULL AS v FROM t WHERE g IS NOT NULL
SELECT first(g, true) AS v FROM t WHERE id = 4
SELECT first(g) AS v FROM t WHERE id = 4
SELECT first_value(m) OVER (ORDER BY id) AS v FROM t ORDER BY id
SELECT first_value(m) IGNORE NULLS OVER (ORDER BY id DESC) AS v FROM t ORDER BY id
SELECT first(m, true) OVER (ORDER BY id DESC ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS v FROM t ORDER BY id
SELECT last(m) OVER (ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS v FROM t ORDER BY id
SELECT last_value(m, true) OVER (ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS v FROM t ORDER BY id
SELECT lag(m) IGNORE NULLS OVER (ORDER BY id) AS v FROM t ORDER BY id
SELECT bool_or(ok) AS a, bool_and(ok) AS b, some(ok) AS c, every(ok) AS d FROM t
SELECT sum(n) AS s, avg(n) AS a, min(n) AS lo, max(n) AS hi FROM t
SELECT sum(m) / count(*) AS v FROM t
SELECT mean(n) AS v FROM t
SELECT stddev(n) AS a, stddev_pop(n) AS b, variance(n) AS c, var_pop(n) AS d, std(n) AS e FROM t WHERE id < 4
SELECT corr(n, id) AS v FROM t
SELECT percentile(n, 0.5) AS v FROM t
SELECT percentile(n, array(0.25, 0.75)) AS v FROM t
SELECT percentile_approx(n, 0.5) AS v FROM t
SELECT approx_percentile(n, 0.5, 100) AS v FROM t
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY n) AS v FROM t
SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY n) AS v FROM t
SELECT median(n) AS v FROM t
SELECT mode(g) AS v FROM t WHERE g IS NOT NULL
SELECT approx_count_distinct(g) AS v FROM t
SELECT max_by(s, n) AS a, min_by(s, n) AS b FROM t
SELECT max_by(s, struct(n, id)) AS a, max(struct(n, id)) AS b FROM t
SELECT array_sort(collect_list(g)) AS a, array_sort(collect_set(g)) AS b FROM t
SELECT array_sort(collect_list(g)) AS a FROM t WHERE id > 9
SELECT collect_list(id) FILTER (WHERE id > 2) AS a FROM t
SELECT array_sort(array_agg(g)) AS a FROM t
SELECT array_agg(g) AS a FROM t WHERE id > 9
SELECT listagg(g, ',') WITHIN GROUP (ORDER BY id) AS a FROM t
SELECT string_agg(g, ',') WITHIN GROUP (ORDER BY id) AS a FROM t
SELECT transform(array_sort(collect_list(CASE WHEN id > 1 THEN struct(id AS at, s AS value) END)), x -> x.value) AS v FROM t
SELECT bit_and(id) AS a, bit_or(id) AS b, bit_xor(id) AS c FROM t
SELECT kurtosis(id) AS p FROM t
SELECT id, explode(tags) AS tag FROM t ORDER BY id, tag
SELECT id, tag FROM t LATERAL VIEW explode(tags) x AS tag ORDER BY id, tag
SELECT id, posexplode(tags) FROM t ORDER BY 1, 2
SELECT id, posexplode(tags) AS (p, tag) FROM t ORDER BY id, p
SELECT * FROM explode(array(1, 2)) AS x(v)
SELECT * FROM range(3) ORDER BY id
SELECT id FROM range(1, 7, 2) ORDER BY id
SELECT * FROM VALUES (1, 'a'), (2, 'b') AS v(x, y) ORDER BY x
SELECT col1 FROM VALUES (1), (2) ORDER BY col1
SELECT t.* FROM t LEFT SEMI JOIN (SELECT 1 AS id) AS o ON t.id = o.id
SELECT id FROM t LEFT ANTI JOIN (SELECT 1 AS id) AS o ON t.id = o.id ORDER BY id
SELECT id FROM t ANTI JOIN (SELECT 1 AS id) AS o USING (id) ORDER BY id
SELECT g, sum(n) FROM t GROUP BY ALL ORDER BY g
SELECT g, ok, sum(m) AS s FROM t GROUP BY g, ok WITH ROLLUP ORDER BY g, ok, s
SELECT g, ok, sum(m) AS s FROM t GROUP BY CUBE (g, ok) ORDER BY g, ok, s
SELECT g, sum(m) AS s FROM t GROUP BY GROUPING SETS ((g), ()) ORDER BY g, s
SELECT g, grouping(g) AS a FROM t GROUP BY ROLLUP (g) ORDER BY a, g
SELECT * EXCEPT (tags, nums, ts, day, pos, mp, bin) FROM t ORDER BY id
SELECT id FROM t ORDER BY id LIMIT 2 OFFSET 1
SELECT id FROM t SORT BY id
SELECT DISTINCT g FROM t ORDER BY g
SELECT g FROM t MINUS SELECT 'a' ORDER BY g
SELECT g FROM t EXCEPT SELECT 'a' ORDER BY g
SELECT g FROM t INTERSECT SELECT 'a'
SELECT id FROM t UNION SELECT 9 ORDER BY id
SELECT /*+ BROADCAST(t) */ id FROM t ORDER BY id
SELECT id FROM t TABLESAMPLE (100 PERCENT) ORDER BY id
WITH a AS (SELECT id FROM t) SELECT count(*) AS n FROM a
WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 3) SELECT * FROM r ORDER BY n
SELECT * FROM (SELECT g, id FROM t) PIVOT (count(id) FOR g IN ('a', 'b'))
SELECT id FROM t WHERE EXISTS (SELECT 1 FROM t AS o WHERE o.m = t.m AND o.id <> t.id) ORDER BY id
SELECT id FROM t WHERE g IN ('a') AND (id, n) IN (SELECT 1, 7) ORDER BY id
SELECT id + 1 AS a, a * 2 AS b FROM t ORDER BY a
SELECT ntile(2) OVER (ORDER BY id) AS a, percent_rank() OVER (ORDER BY id) AS b, cume_dist() OVER (ORDER BY id) AS c, dense_rank() OVER (ORDER BY g) AS d FROM t ORDER BY id
SELECT sum(n) OVER (ORDER BY ts RANGE BETWEEN INTERVAL 10 DAYS PRECEDING AND CURRENT ROW) AS v FROM t ORDER BY id
SELECT date_trunc('day', ts) AS d, count(*) AS n FROM t GROUP BY 1 ORDER BY 1
CAST(n > 5 AS int)
sort_array(tags)
SELECT collect_list(g) FILTER (WHERE id < 3) AS a, collect_set(g) FILTER (WHERE id > 9) AS b FROM t
SELECT collect_list(g) OVER (PARTITION BY g ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS a FROM t ORDER BY id
SELECT array_sort(collect_set(CAST(NULL AS string))) AS a FROM t
SELECT g, ok, sum(m) AS s FROM t GROUP BY g, ok WITH CUBE ORDER BY g, ok, s
SELECT CAST(sum(n) AS bigint) AS a, CAST(avg(n) AS bigint) AS b, CAST(sum(d) AS int) AS c FROM t
SELECT CAST(sum(CASE WHEN ok THEN 1 ELSE 0 END) AS bigint) AS a FROM t
forall(tags, x -> x <> 'q')
exists(tags, x -> x = 'x')
timestampdiff(DAY, TIMESTAMP '2026-01-01 12:00:00', TIMESTAMP '2026-01-03 11:00:00')
date_add(ts, 1)
date_format(ts, 'HH:mm:ss.SSS')
SELECT count(*) AS n FROM t WHERE NOT ok OR ok IS NULL
SELECT id, row_number() OVER (ORDER BY n DESC, id) AS r, lag(n, 1, 0) OVER (ORDER BY id) AS p, lead(n) OVER (ORDER BY id) AS x FROM t ORDER BY id
SELECT sum(n) OVER (PARTITION BY g) AS s, rank() OVER (ORDER BY g) AS r FROM t ORDER BY id
SELECT id FROM t WHERE g LIKE 'a%' ESCAPE '!' ORDER BY id
array_remove(tags, 'x')
SELECT max_by(m, id) AS a, min_by(g, -id) AS b, max_by(g, n) AS c FROM t WHERE id < 4
SELECT id, max_by(m, id) OVER (ORDER BY id) AS a, min_by(g, -n) OVER (ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS b FROM t ORDER BY id
SELECT first(m) AS a, last(g) AS b, any_value(m, true) AS c FROM (SELECT * FROM t WHERE id = 3) AS one
SELECT min(struct(g, id)) AS a, max(struct(g, id)) AS b FROM t WHERE g IS NOT NULL
SELECT sum(m) AS a, avg(m) AS b, count(m) AS c, min(g) AS d FROM t WHERE id = 3
SELECT sum(m) OVER (ORDER BY id ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS a FROM t ORDER BY id
SELECT id FROM t WHERE (n, id) > (coalesce(m, 0), 1) ORDER BY id
SELECT id FROM t WHERE m > 0 AND (m, id) <= (CAST(2 AS bigint), 2) ORDER BY id
SELECT t.id, o.id AS other FROM t FULL OUTER JOIN (SELECT m, id FROM t) AS o ON t.n = o.m ORDER BY t.id, o.id
SELECT greatest(m, n, NULL) AS a, least(m, NULL) AS b, concat_ws(':', m, g) AS c FROM t ORDER BY id
array_contains(tags, 'q')
translate(g, 'a', '')
regexp_extract(s, '^([a-z]+)', 1)
TRY_CAST(regexp_extract(s, '([0-9]+)', 1) AS bigint)
CAST(CAST(n AS decimal(20, 0)) - coalesce(m, 1) + 1 AS bigint)
CASE WHEN g IN ('a', 'b') THEN 1 WHEN g IS NULL THEN 2 END
g BETWEEN 'a' AND 'b'
'it''s'
n || ':' || m
ts > TIMESTAMP '2024-01-01 00:00:00' AND ts < now()
"say ""so"""
'a\\'
