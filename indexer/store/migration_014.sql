-- Schema 14: of a strategy, too, what a store that is not accepted counted is in no sum.
UPDATE strategies
   SET helpfulness = max(0, strategies.helpfulness - u.helpfulness)
  FROM (SELECT number, sum(occurrences) AS helpfulness
          FROM origin_counts WHERE kind = 'strategy' AND origin IN (SELECT code FROM origins WHERE state <> 'accepted')
         GROUP BY number) AS u
 WHERE u.number = strategies.id AND u.helpfulness > 0;
