"""A world in the size of a fixture, written by hand: a library that lends books, with four tasks.

What each task requires was decided by reading, artifact by artifact; the links say the same. Each task is worded twice.
"""

from link_world import Artifact, World, reached

_ARTIFACTS = (
    Artifact("SPEC-LOAN-001", "Lending a copy", ("DEC-LOAN-001", "DEC-LOAN-002", "NORM-TIME-001", "NORM-ERROR-001"),
             ("src/loans/**",),
             "A reader takes one copy home for four weeks. The desk scans the card and the barcode.\n\n## Rules\n\n"
             "A copy that somebody waits for is lent for two weeks only. A card with open fees of ten euros or more "
             "lends nothing until they are paid. Ten copies at once are the most that a card may hold."),
    Artifact("SPEC-LOAN-002", "Renewing a loan", ("SPEC-LOAN-001", "DEC-LOAN-003", "NORM-TIME-001"),
             ("src/loans/renewal/**",),
             "A loan may be renewed twice, from home or at the desk.\n\n## Rules\n\nThe new due date counts from the "
             "old one and not from today. Nothing is renewed while another reader waits for the title."),
    Artifact("SPEC-HOLD-001", "Waiting list for a title", ("DEC-HOLD-001", "NORM-PRIVACY-001"), ("src/holds/**",),
             "Readers queue for a title; the first copy that comes back is put on the shelf of holds for a week.\n\n"
             "## Rules\n\nWho does not come within the week loses the turn. The list shows places and never names."),
    Artifact("SPEC-FEE-001", "Overdue fees", ("DEC-FEE-001", "DEC-FEE-002", "NORM-MONEY-001", "NORM-TIME-001"),
             ("src/fees/**",),
             "Each day beyond the due date costs twenty cents a copy, up to eight euros.\n\n## Rules\n\nDays on which "
             "the house is closed cost nothing. Children pay no fees; their parents get a letter."),
    Artifact("SPEC-FEE-002", "Paying at the machine", ("DEC-FEE-003", "NORM-MONEY-001", "NORM-ERROR-001"),
             ("src/fees/machine/**",),
             "Readers pay fees by bank card at a machine in the hall.\n\n## Rules\n\nA payment that the bank did not "
             "confirm is asked for again by its number before anything is booked."),
    Artifact("SPEC-CATALOG-001", "Finding a title", ("DEC-CATALOG-001", "NORM-LANG-001"), ("src/catalog/**",),
             "A search box over titles, authors and subjects, with one list of results.\n\n## Rules\n\nAccents and "
             "case do not matter. Editions of one work are one result."),
    Artifact("SPEC-CATALOG-002", "Taking in catalogue records", ("DEC-CATALOG-002", "NORM-ERROR-001", "NORM-LANG-001"),
             ("src/catalog/import/**",),
             "Records of new books come every night from the union catalogue, as MARC.\n\n## Rules\n\nA record that "
             "cannot be read is put aside with its reason; the others are taken in."),
    Artifact("SPEC-CARD-001", "Library cards", ("DEC-CARD-001", "NORM-PRIVACY-001"), ("src/cards/**",),
             "A card belongs to one reader and is valid for a year.\n\n## Rules\n\nA lost card is blocked at once; "
             "the new one has another number and the same loans."),
    Artifact("SPEC-LETTER-001", "Letters and mails to readers", ("DEC-LETTER-001", "NORM-PRIVACY-001", "NORM-LANG-001"),
             ("src/letters/**",),
             "Reminders, pick-up notices and receipts, by mail or on paper.\n\n## Rules\n\nNo letter names what was "
             "borrowed on its envelope. Three days before the due date a reminder goes out."),
    Artifact("DEC-LOAN-001", "One table of loans, open and closed", (), (), "A loan that ends gets a date and stays. "
             "Two tables had to be kept in step, and were not."),
    Artifact("DEC-LOAN-002", "Due dates are days, not moments", ("DEC-LOAN-001",), (), "A reader who comes on the day "
             "is in time, whatever the clock says."),
    Artifact("DEC-LOAN-003", "Renewal is a new row", (), (), "The history of a loan shows each renewal with who asked "
             "for it, so that a complaint can be answered."),
    Artifact("DEC-HOLD-001", "The queue is by title and not by copy", (), (), "Waiting for one copy while another "
             "stood on the shelf was the most common complaint."),
    Artifact("DEC-FEE-001", "Fees are computed when they are looked at", (), (), "A nightly job that added fees was "
             "run twice once, and nobody could undo it."),
    Artifact("DEC-FEE-002", "The calendar of closed days is data", (), (), "Holidays differ between branches; the head "
             "of a branch keeps its calendar."),
    Artifact("DEC-FEE-003", "Cards only, no cash", (), (), "Emptying the machine took two people an hour a week."),
    Artifact("DEC-CATALOG-001", "Our own index of titles", (), (), "The union catalogue answers in seconds. A copy of "
             "what we own is searched in milliseconds."),
    Artifact("DEC-CATALOG-002", "MARC is kept as it came", (), (), "What a field means was found out later more than "
             "once; the original was needed each time."),
    Artifact("DEC-CARD-001", "Card numbers have a check digit", (), (), "Typing errors at the desk lent copies to "
             "strangers."),
    Artifact("DEC-LETTER-001", "Paper only where there is no mail", (), (), "Postage was the third largest cost."),
    Artifact("NORM-TIME-001", "Dates and the calendar", (), ("src/loans/**", "src/fees/**"), "A day is a date of the "
             "branch's own time zone. Nobody adds seconds to get to tomorrow."),
    Artifact("NORM-MONEY-001", "Amounts", (), ("src/fees/**",), "Cents as integers. A rounding is written down."),
    Artifact("NORM-ERROR-001", "Failures", (), (), "A failure says what was tried and what to do next. What came from "
             "outside is kept as evidence."),
    Artifact("NORM-PRIVACY-001", "What is nobody's business", (), (), "Who read what is deleted when the copy is back "
             "and the fee is paid. Logs hold numbers, no names."),
    Artifact("NORM-LANG-001", "Words on screens and paper", (), (), "Texts are in the two languages of the town and "
             "come from one file."),
    Artifact("TASK-001", "Let readers renew from their phone", ("SPEC-LOAN-002", "SPEC-HOLD-001"), (),
             "A reader sees the loans with their due dates and renews one. Where somebody waits for the title, the "
             "screen says so and offers nothing."),
    Artifact("TASK-002", "No fees on holidays of the branch", ("SPEC-FEE-001",), (),
             "Overdue days on which a branch is closed cost nothing, also for loans that are overdue already."),
    Artifact("TASK-003", "Bad catalogue records stop the nightly import", ("SPEC-CATALOG-002",), (),
             "One record that cannot be read ended the whole import. It has to be put aside, and the rest taken in."),
    Artifact("TASK-004", "Tell readers when their hold is on the shelf", ("SPEC-HOLD-001", "SPEC-LETTER-001"), (),
             "The notice goes out when the copy is put on the shelf of holds, and a week later the turn is lost."),
)  # fmt: skip
_SAID_OTHERWISE = {
    "TASK-001": ("Extension of borrowed media on mobile devices",
                 "People want to keep a book longer without coming in. The app lists what is out and until when. If "
                 "another person stands in line for the same work, extending is refused with an explanation."),
    "TASK-002": ("Don't charge for days when a location is shut",
                 "Late charges must skip public rest days at each site, retroactively too."),
    "TASK-003": ("Malformed bibliographic input aborts the overnight load",
                 "A single broken MARC entry killed the batch. Quarantine it with an explanation, go on with others."),
    "TASK-004": ("Pick-up message for reserved works",
                 "Send an email as soon as the reserved item lies ready; after seven days the next person gets it."),
}  # fmt: skip


def gold() -> World:
    """The world with its tasks in the words of the artifacts."""
    by_id = {one.id: one for one in _ARTIFACTS}
    required = {id_: reached(by_id, id_) for id_ in _SAID_OTHERWISE}
    return World("gold", _ARTIFACTS, required)


def said_otherwise(world: World) -> World:
    """The same world with the tasks in other words."""
    return world._replace(
        artifacts=tuple(
            one._replace(title=_SAID_OTHERWISE[one.id][0], body=_SAID_OTHERWISE[one.id][1])
            if one.id in _SAID_OTHERWISE
            else one
            for one in world.artifacts
        )
    )
