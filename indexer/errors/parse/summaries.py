"""Lines that say only that something failed: of make, npm, cargo, test runners and build servers.

    is_summary("*** [Makefile:2: all] Error 1")          ->  True
    is_summary("*** No rule to make target 'x'. Stop.")  ->  False

The failures are above them. Such a line is no error of its own where the output has another; alone it is the same for
every cause, so that nothing is recognised by it.
"""

import re

# The quick test that most messages fail.
_SIGNS = (
    "error", "fail", "exit", "compil", "elifecycle", "errno", "non-zero", "waiting for", "code ", "problem", "\t",
    "did not run", "exiting", "returned",
    "aborted with", "found", "passed", "issue", "warning", "exception", "offen", "violation", "finding", "would ",
    "spec",
    "during build", "could not create", "subprocess-", "aborted", "incomplete", "marked build",
)  # fmt: skip
# A number above 299 is the status of a request, which says something.
_CODE = r"(?:exit(?= \d)|(?:exit )?(?:code|status))(?: ?[:=])? ?-?[12]?\d{1,2}\b"
# Before the summary stand a bracketed level or the name of who speaks.
_BEFORE = r"(?:\[\w+\] ?|#{1,2}\[error\]|>+ |=+ ?|error:? |failed |elifecycle +|\w[\w.+-]*(?:\[\d+\])?: )*"
# What is counted, and the words between the numbers.
_COUNTED = (
    r"(?:[\d.:,]+(?:m?s|min)?|m?s|and|in|on|of|with|using|ran|run|found|scanned|checked|finished|took|done|total|files?|errors?"
    r"|warnings?|infos?|informations?|notes?|problems?|issues?|exceptions?|uncaught|offen[sc]es?|violations?|findings?|failures?"
    r"|failed|failing|errored|passed|passing|skipped|pending|undefined|cancelled|todo|specs?|tests?|suites?|examples?|features?"
    r"|scenarios?|steps?|assertions?|checks?|rules?|threads?|detected|reported|hints?|suggestions?)"
)
_SAID = (
    # What ran the tool that failed.
    r"(?:metadata-generation-failed|subprocess-exited-with-error)",
    r"(?:preparing|getting|building|installing|running) .* did not run successfully\.?",
    r"encountered error while generating package metadata\.?",
    r"failed (?:building wheel for|to build) \S+",
    r"(?:could not|failed to) build (?:installable )?wheels for .*",
    r"automatic merge failed.*",
    r"begin failed--compilation aborted.*",
    r"execution of \S+ aborted due to compilation errors\.?",
    r"configuring incomplete, errors occurred!?",
    r"\S+: (?:exit|failed with exit code) \d+.*pid=\d+",
    r"- (?:exit code|hook id|duration): .*",
    r".*\bhook .* failed",
    r"build step .* marked build as failure",
    r"err_pnpm_recursive\w*.*|recursive_run_first_fail.*",
    r"\*\*\* (?:\[[^\]]*\] )?error \d+(?: in .*| \(ignored\))?",
    r"\*\*\* waiting for unfinished jobs\.*",
    r"recipe for target .* failed",
    r"recipe .* failed .*with exit code \d+",
    r"(?:build stopped: subcommand failed|exiting with failure status due to previous errors"
    r"|error is not recoverable: exiting now|child returned status \d+|error while reading file \S+"
    r"|during build:|could not create the java virtual machine|a fatal exception has occurred\. program will exit)",
    r"(?:code )?elifecycle",
    r"errno \d+",
    r"(?:failed at the .* script|test failed\. +see above.*|lifecycle script .* failed with error:?|command failed)",
    rf"{_CODE}",
    rf".*\b(?:completed|fail(?:ed|s|ure)?|exited|finished|returned|unsuccessful(?:ly)?)\b:?(?: with)?(?: a)?"
    rf"(?: non-zero)? ?\(?{_CODE}\)?",
    rf".*(?:process didn't exit successfully|did not complete successfully): .*{_CODE}\)?",
    r".*returned (?:a )?non-zero (?:exit )?(?:code|status):? \d+",
    r"(?:ld|collect2|as|cc1) returned \d+ exit status",
    r"linker command failed with exit code \d+.*",
    r"could not compile .*(?:due to .*|\.)?",
    r"aborting due to .*previous errors?.*",
    r"some errors have detailed explanations.*",
    r"for more information about this error.*",
    r"build failed(?:, waiting for other jobs to finish)?",
    r"test failed, to rerun pass.*",
    r"configuration file \S+ (?:syntax is incorrect|test failed)",
    r"(?:test result: )?(?:failed|fail)\b\.?(?:[ \t]+\S+[ \t]+[\d.]+m?s)?(?: \d+ passed.*)?",
    r"(?:failed )?\((?:(?:failures|errors|skipped|expected failures|unexpected successes)=\d+(?:, )?)+\)",
    r"failures!?",
    r"execution failed for task .*",
    r"failed to execute goal .*(?:compilation failure|there are test failures)\b.*",
    r"build fail(?:ed|ure)(?: in .*)?",
    r"build failed(?: with (?:an exception|\d+ errors?.*))?",
    r"compilation (?:failed|failure)(?:; see the compiler (?:error )?output for details)?",
    r"compilation terminated",
    r"failed to compile",
    r"(?:found )?\d+ (?:errors?|problems?)(?: generated| in .*)?(?: \(.*\))?",
    r"\d+ (?:errors? and \d+ warnings?|warnings? and \d+ errors?) generated",
    r"(?:tests?|test suites) failed:? ?\d*",
    r"\d+ failed(?:, .*)?(?: in [\d.:]+m?s(?: .*)?)?",
    r"\S+\t[\d.]+m?s",
    # Nothing but counts, and headings.
    rf"(?=.*\d)\W*(?:{_COUNTED}\W+)*{_COUNTED}\W*",
    r"\d+ \w+ (?:failed|would|could not) (?:to )?(?:be )?\w+|aborted with a \w+ error",
    r"(?:\w+ ){0,2}(?:errors?|failures?|problems?|issues?)(?:!|:)",
    r"some tests failed|there (?:was|were|are) (?:failing tests|test failures)|\d+ (?:of \d+ )?tests? failed",
)
_LONGEST = 400
_PATTERN = rf"\s*{_BEFORE}(?:{'|'.join(_SAID)})[.! =]*$"


def is_summary(message: str) -> bool:
    """Whether a line says that something failed and not what."""
    if len(message) > _LONGEST:
        return False
    low = message.lower()
    return any(sign in low for sign in _SIGNS) and re.match(_PATTERN, low) is not None


# What to do about it, or where to read more.
_ADVICE = (
    r"\W{0,4}(?:(?i:please|try|see|consider|make sure|did you mean|perhaps|maybe|you (?:can|may|might|should|need to)"
    r"|for (?:more|help|details|usage)|more info|learn more|read more|note|hint|tip|help|suggestion|usage"
    r"|a complete log"
    r"|the full (?:traceback|log))\b|(?:Use|use) (?!of\b)|(?:Run|run) [`'\"\w]+ (?!failed|aborted)"
    r"|(?:To|to) (?:see|report|fix|get|learn|suppress|ignore|disable|enable|make|show|list)\b|https?://\S+$)"
)


def is_advice(line: str) -> bool:
    """Whether a line says what to do, and not what is wrong."""
    return re.match(_ADVICE, line) is not None
