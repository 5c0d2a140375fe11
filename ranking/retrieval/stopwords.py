"""English function and question words, which a query does better without.

A task description is mostly such words. They match nearly every document, so scoring them costs the
most and tells the least: leaving them out made queries two to three times faster, and nDCG rose on
every collection it was measured on. Documents keep theirs; only queries are thinned.

A query of nothing but stop words ("to be or not to be") keeps them all. The caller sees to that, since
only the caller knows the whole query; a quoted phrase is left whole for the same reason.

Words that name things in programs stay out of the list though grammars would have them in: `null`,
`none`, and the verbs `get`, `set`, `make`, `use`, `run`. Those that are keywords of every language
(`if`, `for`, `while`, `from`) stay in: they tell no two files apart.
"""

# Articles and quantities; pronouns; to be, to have, to do and the modal verbs; what a tokenizer leaves of
# "don't"; prepositions; conjunctions and adverbs; question words; last, what only connects the parts of a long
# question (nDCG@10 on cisi, 62 words a question, 0.405 without these and 0.409 with them; elsewhere within 0.001).
_WORDS = """
a an the this that these those some any each every all both either neither such same other another
more most much many few little less own
i me my myself you your yourself he him his himself she her herself it its itself
we us our ourselves they them their themselves someone something anything everything
am is are was were be been being have has had having do does did doing done can could may might must
shall should will would
s t d ll m re ve don doesn didn isn aren wasn weren hasn haven won wouldn couldn shouldn
about above after against among around as at before between beyond by during for from in into of off
on out over per since through to toward towards under until up via with within without
and but or nor so if then than because while although though whether unless also too very just only
even still yet again here there now not no yes
who whose what which when where why how please let
concerning regarding relating related various several certain especially particularly usually usual generally
possible given involved etc however therefore thus hence rather quite often sometimes always never must like else
well
"""

STOPWORDS: frozenset[str] = frozenset(_WORDS.split())
