"""More tokens that say by themselves whose they are: formats that vendors brought out or that gitleaks does not list.

The facts are from the vendors' documentation and from the rules of CredSweeper (https://github.com/Samsung/CredSweeper,
MIT licence, copyright Samsung), in our own words. A row is as one of credential_formats.py. Where a format has
letters and digits only behind a mark that words have, too, the least entropy keeps words out.
"""

from ctxrank.indexer.redaction.credential_formats import Token

_HEX = "[0-9a-f]"
_UUID = rf"{_HEX}{{8}}-(?:{_HEX}{{4}}-){{3}}{_HEX}{{12}}"
# The number of an account in base64: three digits are four letters, of which the first ones are these.
_DIGITS_64 = "[MNO][DTjz][AEIMQUYcgk][w-z0-5]"
_NUMBER_MARKS = " ".join(
    first + third + fourth
    for first in ("mt", "mj", "mz", "nd", "nt", "nj", "nz", "od", "ot")
    for third in "aeimquycgk"
    for fourth in "wxyz012345"
)
_SK_MARKS = " ".join(f"sk{digit}" for digit in "0123456789abcdef")
_ASANA_MARKS = " ".join(f"{first}/{second}" for first in "12" for second in "0123456789")

MARKS: tuple[Token, ...] = (
    Token("discord-bot-token", _NUMBER_MARKS, rf"{_DIGITS_64}[\w-]{{18,24}}\.[\w-]{{6,7}}\.[\w-]{{27,45}}", 3.5),
    Token("atlassian-data-center-token", _NUMBER_MARKS, rf"(?:{_DIGITS_64}){{4}}O[A-Za-v0-9][A-Za-z0-9+/]{{26}}", 3.5),
    *(
        Token("telegram-bot-token", ":a", rf"\d{{{digits}}}:A[A-Za-z0-9_-]{{34}}", 3, digits)
        for digits in (8, 9, 10)
    ),
    Token("docker-hub-token", "dckr_pat_ dckr_oat_", r"dckr_(?:pat|oat)_[\w-]{27,40}", 3),
    Token("docker-swarm-token", "swmtkn-1-", r"SWMTKN-1-[0-9a-z]{45,55}-[0-9a-z]{20,30}", 3),
    Token("docker-swarm-key", "swmkey-1-", r"SWMKEY-1-[A-Za-z0-9+/]{40,50}", 3),
    Token("groq-api-key", "gsk_", r"gsk_[A-Za-z0-9]{40,60}", 3.5),
    Token("xai-api-key", "xai-", r"xai-\w{60,90}", 3.5),
    Token("google-oauth-client-secret", "gocspx-", r"GOCSPX-[\w-]{20,40}", 3),
    Token("google-oauth-access-token", "ya29.", r"ya29\.[\w-]{20,}+", 3),
    Token("google-oauth-refresh-token", "1//0", r"1//0[\w-]{40,}+", 3.5),
    Token("figma-token", "figd_ figo_ figor_ figoh_ figu_", r"fig(?:d|o|or|oh|u)_[\w-]{30,60}+", 3.5),
    Token("supabase-key", "sbp_ sb_secret_", r"sbp_(?:v0_|oauth_)?[0-9a-z]{40}|sb_secret_[\w-]{20,50}", 3),
    Token("netlify-token", "nfp_ nfo_ nfc_ nfu_ nfb_", r"nf[pocub]_[A-Za-z0-9]{30,50}", 3.5),
    Token("notion-token", "ntn_ secret_", r"(?:ntn_[A-Za-z0-9]{40,60}|secret_[A-Za-z0-9]{43})", 3.5),
    Token("heroku-token", "hrku-", rf"HRKU-(?:{_UUID}|[\w-]{{50,80}})", 3),
    Token("stripe-webhook-secret", "whsec_", r"whsec_[A-Za-z0-9+/=]{24,100}", 3),
    Token("cloudflare-token", "cfat_ cfut_ cfk_ cfoat_", r"cf(?:at|ut|k|oat)_[A-Za-z0-9]{40,60}", 3.5),
    Token("together-api-key", "tgp_v1_", r"tgp_v1_[\w-]{40,50}", 3),
    Token("mailgun-key", "key- pubkey-", rf"(?:pub)?key-{_HEX}{{32}}", 2.5),
    Token("mailchimp-key", "-us", r"[0-9A-Za-z]{32}-us\d{1,2}", 3, 32),
    Token(
        "bitbucket-token", "atbb atctt3 bbdc-",
        r"(?:ATBB[A-Za-z0-9]{24,40}|ATCTT3[\w=-]{100,}+|BBDC-[A-Za-z0-9+/]{40,50})", 3,
    ),
    Token("atlassian-token", "atatt3 atst", r"AT(?:ATT3|ST)[\w\\%=-]{100,}+", 3.5),
    Token("nats-seed", "sua soa saa sna sca sxa", r"S[UOANCX]A[A-Z2-7]{55}", 3.5),
    Token("replicate-token", "r8_", r"r8_[A-Za-z0-9]{37,48}", 3.5),
    Token("langsmith-key", "lsv2_", rf"lsv2_[a-z]{{2}}_{_HEX}{{32}}_{_HEX}{{8,12}}", 3),
    Token("langfuse-key", "sk-lf-", rf"sk-lf-{_UUID}", 3),
    Token("tailscale-key", "tskey-", r"tskey-[a-z]{3,10}-[A-Za-z0-9]{7,20}(?:-[A-Za-z0-9]{4,40})?+", 3),
    Token("posthog-key", "phc_ phx_ phs_ phr_ pha_", r"ph[cxsra]_(?!ph)\w{38,60}", 3.5),
    Token("akamai-credential", "akab-", r"akab-[a-z0-9]{16}-[a-z0-9]{16}", 3),
    Token("alibaba-short-access-key-id", "ltai", r"LTAI[A-Za-z0-9]{12,26}", 3),
    Token("aws-mws-key", "amzn.mws.", r"amzn\.mws\.[0-9a-z]{8}-(?:[0-9a-z]{4}-){3}[0-9a-z]{12}", 3),
    Token(
        "aws-bedrock-key", "bedrock-api-key- absk",
        r"(?:bedrock-api-key-[A-Za-z0-9+/=]{30,}+|ABSK[A-Za-z0-9+/]{40,}+={0,3})", 3.5,
    ),
    Token("new-relic-key", "nrbr- nrii- nrjs- nral nraa-", r"NR(?:BR|JS|AA)-[0-9a-f]{19,40}|NRII-[\w-]{20,40}", 2),
    Token("nuget-key", "oy2", r"oy2[a-z0-9]{43}", 3.5),
    Token("instagram-token", "igqv igqw igaa", r"IG(?:QV|QW|AA)[A-Za-z0-9_-]{80,}+", 3.5),
    Token("facebook-token", "eaa", r"EAA[A-Z][A-Za-z0-9]{60,}+", 4),
    Token("llama-cloud-key", "llx-", r"llx-[\w-]{40,60}", 3.5),
    Token("sonar-token", "squ_ sqp_ sqa_ sqb_", r"sq[upab]_[A-Za-z0-9]{40}", 3),
    Token("tavily-key", "tvly-", r"tvly-(?:dev-|prod-)?[A-Za-z0-9_-]{28,60}", 3),
    Token("vercel-token", "vcp_ vci_ vca_ vcr_ vck_", r"vc[piark]_[A-Za-z0-9]{24,70}", 3.5),
    Token("wundergraph-key", "cosmo_", rf"cosmo_{_HEX}{{32}}", 2.5),
    Token(
        "paypal-braintree-token", "access_token$",
        r"access_token\$(?:production|sandbox)\$[0-9a-z]{16}\$[0-9a-f]{32}", 3,
    ),
    Token("twilio-key", _SK_MARKS, r"SK(?:[0-9a-f]{32}|[0-9A-F]{32})", 3),
    Token("salesforce-session", "00d", r"00D[A-Za-z0-9]{12,15}![\w.]{40,}+", 3.5),
    Token("salesforce-consumer-key", "3mvg", r"3MVG[\w.]{70,100}", 3.5),
    Token("dropbox-long-lived-api-token", "aaaaaaaaa", r"[\w-]{11}AAAAAAAAA[\w-]{43}", 2.5, 11),
    Token("dropbox-short-lived-api-token", "sl.", r"sl\.(?:u\.)?[\w-]{100,}+", 4),
    Token("square-token", "sq0atp- sq0csp- sq0idp- eaaa", r"(?:sq0(?:atp|csp|idp)-[\w-]{22,60}|EAAA[\w-]{60})", 3),
    Token("twitter-bearer", "aaaaaaaaaaaaaaaaaaaa", r"A{20,22}[\w%+/-]{60,120}", 3),
    Token("sentry-token", "sntrys_ sntryu_", r"sntry[su]_[\w=+/-]{60,}+", 3.5),
    Token("postman-key", "pmat- pmak-", r"PMAT-[A-Za-z0-9]{26}|PMAK-[0-9a-f]{24}-[0-9a-f]{34}", 3),
    Token("gitlab-token", "glwt- glrtr- gldt- glcbt-", r"gl(?:wt|rtr|dt|cbt)-[\w-]{20,80}", 3),
    Token("sendgrid-key", "sg.", r"SG\.[\w-]{16,32}\.[\w-]{16,64}", 3),
    Token("huggingface-token", "hf_ api_org_", r"(?:hf|api_org)_[A-Za-z0-9]{30,40}", 3.5),
    Token("perplexity-key", "pplx-", r"pplx-[A-Za-z0-9]{32,64}", 3),
    Token("nvidia-key", "nvapi-", r"nvapi-[\w-]{60,70}", 3.5),
    Token("fireworks-key", "fw_", r"fw_[A-Za-z0-9]{20,30}", 3.5),
    Token("cerebras-key", "csk-", r"csk-[a-z0-9]{40,60}", 3.5),
    Token("pinecone-key", "pcsk_", r"pcsk_[A-Za-z0-9_]{40,90}+", 3.5),
    Token("jina-key", "jina_", r"jina_[A-Za-z0-9_-]{50,80}", 3.5),
    Token("firecrawl-key", "fc-", rf"fc-{_HEX}{{32}}", 2.5),
    Token("elevenlabs-key", "sk_", rf"sk_{_HEX}{{48}}", 2.5),
    Token("resend-key", "re_", r"re_[A-Za-z0-9]{6,10}_[A-Za-z0-9]{20,30}", 3.5),
    Token("render-key", "rnd_", r"rnd_[A-Za-z0-9]{28,40}", 3.5),
    Token("neon-key", "napi_", r"napi_[a-z0-9]{50,80}", 3.5),
    Token("contentful-token", "cfpat-", r"CFPAT-[\w-]{40,70}", 3.5),
    Token("pulumi-token", "pul-", rf"pul-{_HEX}{{40}}", 2.5),
    Token("buildkite-token", "bkua_ bkct_ bkat_", r"bk(?:ua|ct|at)_[A-Za-z0-9]{36,60}", 2.5),
    Token("circleci-token", "ccipat_ ccipra_ cciprj_", r"CCI(?:PAT|PRA|PRJ)_[A-Za-z0-9]{15,30}_[0-9a-z]{40}", 3),
    Token("launchdarkly-key", "sdk- api- mob-", rf"(?:sdk|api|mob)-{_UUID}", 2.5),
    Token("hubspot-token", "pat-", rf"pat-(?:na|eu|ap)\d-{_UUID}", 2.5),
    Token("honeycomb-key", "hcaik_ hcxik_ hcamk_ hcbik_", r"hc(?:aik|xik|amk|bik)_[A-Za-z0-9]{50,70}", 3),
    Token(
        "sourcegraph-token", "sgp_ sgd_ slk_",
        rf"(?:sgp_(?:[0-9a-f]{{16}}_)?(?:local_)?|sgd_|slk_)(?:{_HEX}{{40}}|{_HEX}{{64}})", 2.5,
    ),
    Token("harness-token", "pat. sat.", r"[ps]at\.[\w-]{22}\.[0-9a-f]{24}\.[A-Za-z0-9]{20}", 3),
    Token("octopus-key", "api-", r"API-[A-Z0-9]{25,36}", 3),
    Token("shippo-token", "shippo_live_ shippo_test_", r"shippo_(?:live|test)_[a-f0-9]{40}", 2.5),
    Token("plaid-token", "access-", rf"access-(?:sandbox|development|production)-{_UUID}", 2.5),
    Token("razorpay-key", "rzp_live_ rzp_test_", r"rzp_(?:live|test)_[A-Za-z0-9]{14,}+", 3),
    Token("paystack-flutterwave-key", "flwseck", r"FLWSECK(?:_TEST)?-[0-9a-zA-Z]{32}-X", 2.5),
    Token("adafruit-io-key", "aio_", r"aio_[A-Za-z0-9]{28}", 3.5),
    Token("trello-token", "atta", rf"ATTA{_HEX}{{64,72}}", 2.5),
    Token("deno-token", "ddp_ ddo_ ddw_", r"dd[pow]_[A-Za-z0-9]{36}", 3),
    Token("portainer-token", "ptr_", r"ptr_[A-Za-z0-9+/]{40,50}={0,2}", 3.5),
    Token(
        "doppler-token", "dp.st. dp.ct. dp.sa. dp.scim. dp.audit.",
        r"dp\.(?:st(?:\.[a-z0-9_-]{2,35})?|ct|sa|scim|audit)\.[A-Za-z0-9]{40,50}", 3.5,
    ),
    Token("azure-storage-key", "acdb azcv ast", r"[A-Za-z0-9+/]{76}(?:\+ASt|ACDb|AZCV)[A-Za-z0-9+/]{5}[AQgw]==", 4, 76),
    Token("azure-ai-key", "jqqj99", r"[A-Za-z0-9]{52}JQQJ99[A-Za-z0-9]{26}", 3.5, 52),
    Token("brevo-key", "xkeysib- xsmtpsib-", rf"x(?:keysib|smtpsib)-{_HEX}{{64}}-[A-Za-z0-9]{{16}}", 3),
    Token("mandrill-key", "md-", r"md-[A-Za-z0-9]{22}", 3.5),
    Token("weights-biases-key", "wandb_v1_", r"wandb_v1_[\w-]{60,90}", 3.5),
    Token("openrouter-key", "sk-or-v1-", rf"sk-or-v1-{_HEX}{{64}}", 2.5),
    Token("jwk-private-part", '"d"', r'"d"\s{0,4}:\s{0,4}"(?P<head>)[\w-]{40,}+(?=")', 3.5),
    Token(
        "key-block-base64", "ls0tls1crudjt",
        r"LS0tLS1CRUdJT(?!iBDRVJU|iBQVUJM|iBUUlVTV|iBYNTA5)[A-Za-z0-9+/=\\]{40,}+",
    ),
    Token("password-hash", "$6$ $5$ $y$ $2a$ $2b$ $2y$ $apr1$ $argon2 {ssha pbkdf2_sha",
          r"\$(?:[56]|y|apr1)\$[\w./=$,-]{20,}+|\$2[aby]\$\d\d\$[A-Za-z0-9./]{53}"
          r"|\$argon2(?:id|i|d)\$[\w=,$+/.-]{40,}+|\{SSHA\d{0,3}\}[A-Za-z0-9+/]{20,}+={0,2}"
          r"|pbkdf2_sha(?:1|256|512)\$\d+\$[\w+/=.-]{1,60}\$[A-Za-z0-9+/=]{20,120}", 3),
    Token("alchemy-key", "alcht_", r"alcht_[A-Za-z0-9]{30}", 3),
    Token("bannerbear-key", "bb_pr_ bb_ma_", rf"bb_(?:pr|ma)_{_HEX}{{30}}", 2.5),
    Token("endor-labs-key", "endr+", r"endr\+[A-Za-z0-9-]{16,40}", 3),
    Token("rootly-token", "rootly_", rf"rootly_{_HEX}{{64}}", 2.5),
    Token("spectralops-key", "spu-", rf"spu-{_HEX}{{32}}", 2.5),
    Token("pganalyze-key", "pgar_ pgaw_", r"pga[rw]_[A-Za-z0-9]{27,40}", 3),
    Token("photoroom-key", "sk_pr_", rf"sk_pr_[a-z_]{{0,20}}{_HEX}{{40}}", 3),
    Token("teamwork-token", "tkn.v1_", r"tkn\.v1_[\w=-]{60,}+", 3.5),
    Token("new-relic-query-key", "nriq- nrik-", r"NRI[QK]-[\w-]{25,40}", 2.5),
    Token("asana-token", _ASANA_MARKS, r"[12]/\d{12,20}(?:/\d{12,20})?+:[0-9a-f]{32}", 2.5),
    Token("dependency-track-key", "odt_", r"odt_[A-Za-z0-9]{32,40}", 3.5),
    Token("clickup-token", "pk_", r"pk_\d{7,9}_[A-Z0-9]{32}", 3),
    Token("typeform-token", "tfp_", r"tfp_[\w-]{40,70}", 3.5),
    Token("ubidots-token", "bbff- bbus-", r"BB(?:FF|US)-[A-Za-z0-9]{30,40}", 3.5),
    Token("voiceflow-key", "vf.", r"VF\.(?:(?:DM|WS)\.)?[a-fA-F0-9]{24}\.[A-Za-z0-9]{16}", 3),
    Token("zoho-token", "1000.", r"1000\.[a-f0-9]{32}\.[a-f0-9]{32}", 3),
    Token("codemagic-token", "codemagic_", r"codemagic_[A-Za-z0-9]{40,60}", 3.5),
    Token("pagarme-key", "ak_live_ ak_test_", r"ak_(?:live|test)_[A-Za-z0-9]{30}", 3),
    Token("maxmind-key", "_mmk", r"[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk", 2.5, 36),
    Token("mongodb-service-account-secret", "mdb_sa_sk_", r"mdb_sa_sk_[\w-]{40}", 3.5),
    Token("mapbox-token", "sk.eyj tk.eyj", r"[st]k\.eyJ[\w-]{40,}+\.[\w-]{20,30}", 3.5),
    Token("nightfall-key", "nf-", r"NF-[A-Za-z0-9]{32}", 3),
    Token("pubnub-key", "pub-c- sec-c-", rf"(?:pub-c-{_UUID}|sec-c-[A-Za-z0-9]{{40,60}})", 2.5),
    Token("flexport-token", "shltm_", r"shltm_[\w-]{40,42}", 3.5),
    Token("ionic-token", "ion_", r"ion_[A-Za-z0-9]{42}", 3.5),
    Token("fleetbase-key", "flb_live_ flb_test_", r"flb_(?:live|test)_[A-Za-z0-9]{20}", 3),
    Token("segment-token", "sgp_", r"sgp_[A-Za-z0-9]{64}", 4),
    Token("fullstory-key", "na1. eu1.", r"(?:na|eu)1\.[A-Za-z0-9+/]{60,100}+", 4),
    Token("old-password-hash", "$1$ $8$ $krb5asrep$ $krb5tgs$ $dcc2$",
          r"\$1\$[\w./]{1,8}\$[\w./]{22}|\$8\$[\w./]{14}\$[\w./]{43}|\$DCC2\$\S{20,200}"
          r"|\$krb5(?:asrep|tgs)\$\d\d?\$[^\s\"'\\]{60,4000}+", 3),
    Token("zapier-webhook", "hooks.zapier.com/", r"hooks\.zapier\.com/hooks/catch/[A-Za-z0-9/]{12,40}", 2.5),
    Token("tines-webhook", ".tines.com/", rf"\.tines\.com/webhook/{_HEX}{{32}}/{_HEX}{{32}}", 2.5),
    Token(
        "office-webhook", "outlook.office.com/",
        rf"outlook\.office\.com/webhook/{_UUID}@{_UUID}/\w{{4,30}}/{_HEX}{{32}}/{_UUID}", 3,
    ),
    Token("thingsboard-token", "thingsboard.", r"thingsboard\.\w{2,10}/api/v1/[A-Za-z0-9]{20}", 3),
    Token("slack-webhook", "hooks.slack.com/",
          r"hooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9+/]{40,}+", 3),
    Token(
        "teams-webhook", "webhook.office.com/",
        rf"webhook\.office\.com/webhookb2/{_UUID}@{_UUID}/IncomingWebhook/{_HEX}{{32}}/{_UUID}", 3,
    ),
)  # fmt: skip
