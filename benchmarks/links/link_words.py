"""Words for generated artifacts: concepts with their synonyms, and what stands between them.

A paraphrase says the same concept in another form, as two people would. Concepts at the front of the list are used
more often (Zipf), so that some words are everywhere and others tell a topic.
"""

import itertools
import random

# Each line is one concept; the first form is the one that artifacts prefer.
_CONCEPTS = [
    "",
    "customer client patron",
    "request query demand",
    "service backend daemon",
    "record entry row",
    "message notification notice",
    "store repository vault",
    "failure fault breakdown",
    "update change amendment",
    "user member person",
    "list catalogue inventory",
    "schedule timetable calendar",
    "report summary digest",
    "payment settlement remittance",
    "invoice bill receipt",
    "currency denomination coinage",
    "refund reimbursement repayment",
    "discount rebate reduction",
    "tax levy duty",
    "subscription plan membership",
    "cart basket trolley",
    "checkout purchase buying",
    "order booking commission",
    "shipment delivery consignment",
    "warehouse depot storehouse",
    "parcel package box",
    "courier carrier haulier",
    "address location whereabouts",
    "stock supply holdings",
    "supplier vendor provider",
    "catalog assortment range",
    "product article merchandise",
    "price tariff charge",
    "review rating appraisal",
    "recommendation suggestion hint",
    "search lookup retrieval",
    "filter sieve narrowing",
    "login signin authentication",
    "password passphrase secret",
    "token credential ticket",
    "session visit sitting",
    "permission right grant",
    "role position function",
    "audit inspection examination",
    "encryption ciphering scrambling",
    "backup copy snapshot",
    "restore recovery reinstatement",
    "migration move conversion",
    "schema layout blueprint",
    "index directory register",
    "cache buffer memory",
    "queue backlog waitlist",
    "worker runner executor",
    "retry reattempt repetition",
    "timeout expiry deadline",
    "lock mutex latch",
    "transaction unit batch",
    "event occurrence incident",
    "webhook callback hook",
    "mail letter correspondence",
    "template pattern form",
    "translation localisation rendering",
    "image picture photograph",
    "upload submission transfer",
    "download fetch acquisition",
    "thumbnail miniature icon",
    "video film clip",
    "stream flow feed",
    "chat conversation dialogue",
    "comment remark annotation",
    "moderation screening vetting",
    "spam junk garbage",
    "ban block exclusion",
    "dashboard overview cockpit",
    "chart graph diagram",
    "metric measure gauge",
    "alert alarm warning",
    "log journal chronicle",
    "trace trail footprint",
    "deployment rollout release",
    "rollback reversal undoing",
    "container image-unit pod",
    "cluster fleet group",
    "balancer distributor router",
    "gateway entrance portal",
    "throttle limiter brake",
    "quota allowance allotment",
    "contract agreement treaty",
    "signature endorsement autograph",
    "document paper file",
    "archive attic repository-of-old",
    "retention keeping preservation",
    "deletion removal erasure",
    "consent approval assent",
    "privacy confidentiality secrecy",
    "survey questionnaire poll",
    "experiment trial test-run",
    "feature capability trait",
    "flag switch toggle",
    "segment cohort slice",
    "campaign promotion drive",
    "coupon voucher gift-card",
    "loyalty fidelity allegiance",
    "reward prize bonus",
    "referral introduction mention",
    "affiliate partner associate",
    "commissioning payout dividend",
    "ledger bookkeeping accounts",
    "balance remainder saldo",
    "statement breakdown-sheet extract",
    "reconciliation matching alignment",
    "bank lender financial-house",
    "fraud deceit swindle",
    "risk hazard exposure",
    "score mark grade",
    "identity personhood persona",
    "passport travel-paper id-card",
    "phone telephone handset",
    "device gadget appliance",
    "sensor detector probe",
    "firmware embedded-code microcode",
    "battery accumulator cell",
    "map chart-of-places atlas",
    "route path itinerary",
    "driver chauffeur operator",
    "vehicle van lorry",
    "fuel petrol energy",
    "hotel inn lodging",
    "room chamber suite",
    "guest visitor lodger",
    "reservation hold set-aside",
    "ticketing admission entry-pass",
    "seat place chair",
    "concert recital show",
    "course class lesson",
    "teacher tutor instructor",
    "pupil student learner",
    "exam quiz assessment",
    "homework assignment exercise",
    "patient sufferer case",
    "doctor physician clinician",
    "prescription medication remedy",
    "appointment consultation meeting",
    "allergy intolerance sensitivity",
    "insurance coverage assurance",
    "claim assertion petition",
    "policy guideline ruling",
    "",
]
CONCEPTS = tuple(tuple(line.split()) for line in _CONCEPTS if line)
# Of no topic, and not in a stop list either: the grey mass of technical prose.
_GREY = [
    "value",
    "data",
    "field",
    "state",
    "part",
    "step",
    "rule",
    "case",
    "time",
    "version",
    "number",
    "size",
    "type",
    "name",
    "result",
    "call",
    "input",
    "output",
    "default",
    "format",
    "level",
    "module",
    "interface",
    "component",
    "system",
    "process",
    "method",
    "limit",
    "error",
    "check",
    "line",
    "code",
    "text",
    "set",
    "way",
    "order",
    "page",
    "start",
    "end",
    "detail",
    "change",
    "source",
    "target",
    "option",
    "check",
    "key",
    "side",
    "handler",
    "helper",
    "layer",
    "boundary",
    "caller",
    "owner",
    "reader",
    "writer",
    "contract",
]
_GLUE = ("the", "a", "of", "and", "to", "in", "is", "for", "with", "that", "on", "as", "by", "it", "when", "be", "at")


class Prose:
    """Sentences about concepts, seeded."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self._grey = list(itertools.accumulate(1 / rank for rank in range(1, len(_GREY) + 1)))
        self._zipf = list(itertools.accumulate(1 / rank for rank in range(1, len(CONCEPTS) + 1)))

    def concept(self) -> int:
        """Any concept, those at the front more often."""
        return self.random.choices(range(len(CONCEPTS)), cum_weights=self._zipf)[0]

    def topic(self, size: int) -> list[int]:
        """The concepts of a component: no more than two of the common ones."""
        rare = self.random.sample(range(12, len(CONCEPTS)), size - 2)
        return [*rare, *self.random.sample(range(12), 2)]

    def form(self, concept: int, *, usual: float = 0.8) -> str:
        """How somebody says a concept: mostly its first form."""
        forms = CONCEPTS[concept]
        return forms[0] if self.random.random() < usual else self.random.choice(forms[1:])

    def sentence(self, topic: list[int], words: int) -> str:
        """About a third topic, a third grey, a third glue; now and then another component's concept."""
        said: list[str] = []
        for _ in range(words):
            draw = self.random.random()
            if draw < 0.28:
                said.append(self.form(self.random.choice(topic)))
            elif draw < 0.36:
                said.append(self.form(self.concept()))
            elif draw < 0.64:
                said.append(self.random.choices(_GREY, cum_weights=self._grey)[0])
            else:
                said.append(self.random.choice(_GLUE))
        return " ".join(said).capitalize() + "."

    def paragraph(self, topic: list[int], words: int) -> str:
        """Sentences of six to sixteen words."""
        sentences: list[str] = []
        while words > 0:
            length = min(words, self.random.randint(6, 16))
            sentences.append(self.sentence(topic, max(length, 3)))
            words -= length
        return " ".join(sentences)

    def title(self, topic: list[int]) -> str:
        """Three concepts, in their usual forms."""
        first, second, third = self.random.sample(topic, 3)
        return f"{self.form(first)} {self.form(second)} for {self.form(third)}".capitalize()
