"""What varies from run to run makes no other failure, any other name does, and a fix can take over the name."""

import pytest

from ctxrank.indexer.errors.parse.units import error_units
from ctxrank.indexer.errors.signature import Signature, sign
from ctxrank.ranking.errors.differences import Difference, differing, exchanged, reworded


def signed(text: str) -> Signature:
    return sign(error_units(text)[0])


@pytest.mark.parametrize(
    ("asked", "known"),
    [
        ("Error: listen on port 8080 of 10.0.0.1:80 failed", "Error: listen on port 9090 of 10.0.0.1:81 failed"),
        ("Error: read of 0x7ff0a1 took 12 ms", "Error: read of 0x55d0c8 took 7 ms"),
        ("Error: cannot write /tmp/a1/x", "Error: cannot write /tmp/b2/y"),
        ("Error: cannot load /srv/a/rules.yml", "Error: cannot load /home/b/rules.yml"),
        ("Error: cart.zip is in a bad format", "Error: ledger.zip is in a bad format"),
        ("a.ts(1,2): error TS2304: Cannot find name 'x'.", "b.ts(3,4): error TS2304: Cannot find name 'y'."),
        ("Error: require() of a.js from /srv/x/app.js is not supported", "Error: require() of a.js is not supported"),
        (
            "Get https://a.example/v1: certificate signed by unknown authority",
            "Get https://b.example/v2: certificate signed by unknown authority",
        ),
        (
            "Error: no memory for 74.00 MiB (2 GiB in all; 71.50 MiB free; 38.53 MiB cached)",
            "Error: no memory for 2.87 GiB (14.76 GiB in all; 19.75 MiB free; 13.71 GiB taken by the pool)",
        ),
        ("error: no such option --verbos, did you mean --verbose?", "error: no such option --verbos"),
        ("E: Invalid operation saerch", "E: Invalid operation isntall"),
        ("Error: it is of cluster gKMTPCdQQui26oDVZo-EMA", "Error: it is of cluster K6-IRRUxSvW0GSLeNea0DA"),
        ("x.hx:1: field a has no place; it is X.T", "y.hx:2: field a has no place; it is Y.T"),
        ("Error: failed to compile x.d: /srv/a/x.d:1:2: no", "Error: failed to compile y.d: /srv/b/y.d:3:4: no"),
        ("x.m:1:2: error: 'a' is defined twice", "y.m:3:4: error: 'b' is defined twice"),
        ("Error: run 20260302_101407_00012_a7f3k failed", "Error: run 20260421_070333_00044_x8r2d failed"),
        ("x.cs(1,2): error CS0029: no [/srv/a/x.csproj]", "x.cs(3,4): error CS0029: no [/srv/b/y.csproj]"),
        ("E: no rule to make 'main.c', needed by 'a.o'", "E: no rule to make 'main.c', needed by 'b.o'"),
        ("error: no way to S::Shop\n  --> shop.mv:1:2\n", "error: no way to S::Cart\n  --> cart.mv:3:4\n"),
        ("Error: no overloads in file shop.dl at line 3", "Error: no overloads in file cart.dl at line 7"),
        ("Error: not so at shop.example.org:443, client 7", "Error: not so at wallet.example.org:8443, client 8"),
        ("E: there is no POM in this directory (/srv/a/shop)", "E: there is no POM in this directory (/home/b/wallet)"),
        ("Error: writing to a.x: the vault is sealed", "Error: writing to b.y: the vault is sealed"),
        ("Error: 'nginx' was not found in /srv/a/roles:/etc/roles:/srv/a",
         "Error: 'nginx' was not found in /home/b/roles:/etc/roles:/home/b"),
        ("Error: not so\n\nThe key 'x' is\nno key.\n\nMore of 'a'.", "Error: not so\n\nThe key 'x'\nis no key."),
        ("Error: not so, and locked\n  Path: shop/prod.state", "Error: not so, and locked\n  Path: infra/dev.state"),
        ("Error: twice is 'a'", "Error: twice is 'b'"),
        ("x.d(1,2): error: 'f(cfg)' is of type X", "y.d(3,4): error: 'look_up(user)' is of type X"),
    ],
)  # fmt: skip
def test_what_varies_is_no_difference(asked: str, known: str) -> None:
    assert differing(signed(asked), signed(known)) == ()


@pytest.mark.parametrize(
    ("asked", "known", "named"),
    [
        ('Error in f() : could not find function "g"', 'Error in f() : could not find function "h"', ("g", "h")),
        ("Error: Failed opening required 'a.php'", "Error: Failed opening required 'b.php'", ("a.php", "b.php")),
        ("Runtime error 106 at $7f91be04ac10", "Runtime error 216 at $55d0c8a3f2e0", ("106", "216")),
        ("Error: it is at /opt/a/chrome and is missing", "Error: it is at /opt/a/webkit and is missing",
         ("/opt/a/chrome", "/opt/a/webkit")),
        ("x.lean:1:2: error: unknown identifier 'a'", "x.lean:1:2: error: unknown identifier 'b'", ("a", "b")),
        ("x.m:1:2: error: 'a' is never used", "x.m:3:4: error: 'b' is never used", ("a", "b")),
        ("Error: the hook 'a' failed", "Error: the hook 'b' failed", ("a", "b")),
        ("x.bicep(1,2): error BCP053: there is no 'a'", "x.bicep(1,2): error BCP053: there is no 'b'", ("a", "b")),
        ("error[E03002]: unbound module\n  \u2502     ^^^ Unbound module: 'a'\n",
         "error[E03002]: unbound module\n  \u2502     ^^^ Unbound module: 'b'\n", ("a", "b")),
        ("Error: uses com/example/Main", "Error: uses com/example/Other", ("com/example/Main", "com/example/Other")),
        ("Error: redis pool is closed", "Error: pool is closed", ("redis", "")),
        ("npm ERR! code ERESOLVE\nnpm ERR! ERESOLVE unable to resolve\nnpm ERR! Found: vue@3.2.0",
         "npm ERR! code ERESOLVE\nnpm ERR! ERESOLVE unable to resolve\nnpm ERR! Found: react@18.2.0",
         ("vue@3.2.0", "react@18.2.0")),
        ("Error: not so\n\nThe key 'x' is no key.", "Error: not so\n\nThe key 'y' is no key.", ("x", "y")),
        ("Error: a.x: it is not so", "Error: b.y: it is not so", ("a.x", "b.y")),
        ("Error: package frob==9 was not found", "Error: package frob==8 was not found", ("frob==9", "frob==8")),
        ("E: it is of key A4B469963BF863CC", "E: it is of key DDCAE044F796ECB0",
         ("A4B469963BF863CC", "DDCAE044F796ECB0")),
    ],
)  # fmt: skip
def test_another_name_is_a_difference(asked: str, known: str, named: tuple[str, str]) -> None:
    assert differing(signed(asked), signed(known)) == (Difference(*named),)


LABELLED = "error[E2G22]: TypeError\n --> x.k:1:5\n1 |  {0} = 3\n  |  ^ {1}\n"

BUILD = "Compiling library std\n{}\n\nMore of it is to come.\n\nError: Failed to compile the 'cart'\n"
CODED = "error[E0308]: mismatched types\n --> x.rs:1:5\n{}\n"


@pytest.mark.parametrize(
    ("asked", "known", "is_reworded"),
    [
        (LABELLED.format("a", "expected int, got str(3)"), LABELLED.format("b", "expected str, got bool(True)"), True),
        (LABELLED.format("a", "the queue is full and closed"), LABELLED.format("a", "no lock was taken"), True),
        (LABELLED.format("level", "the level is full"), LABELLED.format("count", "the count is full"), False),
        (
            LABELLED.format("a", "the queue is full and closed"),
            LABELLED.format("a", ""),
            False,
        ),  # an output is often cut
        (BUILD.format("the queue is full and closed"), BUILD.format("no lock was taken"), True),
        (BUILD.format("Compiling the queue"), BUILD.format("Checking some lock"), False),
        ("x.k:1:2: error: no\nx.k:3:4: error: the queue is full", "x.k:1:2: error: no\nx.k:3:4: error: no lock", False),
        (CODED.format("the queue is full and closed"), CODED.format("no lock was taken"), False),
        (
            "x.q:1:2: error: no way\n  open queue to full\n       ^~~~~",
            "x.q:1:2: error: no way\n  no lock was\n     ^~~~",
            False,
        ),
        (BUILD.format("-> required by the queue"), BUILD.format("-> required by alias of lock"), False),
        (BUILD.format("TASK [open the queue] *******"), BUILD.format("TASK [no lock was taken] *******"), False),
        (BUILD.format("queue : full=1 closed=0 failed=1"), BUILD.format("lock was taken=3 failed=1 ok=2"), False),
    ],
)
def test_other_words_beside_a_message_are_a_difference_and_another_name_there_is_none(
    asked: str, known: str, *, is_reworded: bool
) -> None:
    assert bool(reworded(signed(asked), signed(known))) == is_reworded


def test_a_fix_takes_over_the_name_where_it_carries_it_and_it_is_plain() -> None:
    assert exchanged("apt install libpq-dev", (Difference("libxml2-dev", "libpq-dev"),)) == "apt install libxml2-dev"
    assert exchanged("apt install libpq-dev", (Difference("x; rm -rf .", "libpq-dev"),)) == ""
    assert exchanged("apt install libpq-dev", (Difference("pq", "libpq"),)) == ""
    assert exchanged("Ask Ana.", (Difference("libxml2-dev", "libpq-dev"),)) == ""
    assert exchanged("a b", (Difference("x", "a"), Difference("y", "b"))) == ""
