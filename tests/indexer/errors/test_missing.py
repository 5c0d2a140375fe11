"""The name of what is missing is read from messages of every tool; a name inside code is none."""

import pytest

from ctxrank.indexer.errors.missing import missing_name

MESSAGES = {
    "No module named 'yaml'": "yaml",
    "cannot import name 'parse' from 'tools' (/srv/tools.py)": "parse",
    "Cannot find module 'express' or its corresponding type declarations.": "express",
    "zlib.h: No such file or directory": "zlib.h",
    "openssl/ssl.h: No such file or directory": "openssl/ssl.h",
    "cannot find -lpq: No such file or directory": "-lpq",
    "undefined reference to `deflateInit_'": "deflateInit_",
    "package org.junit does not exist": "org.junit",
    "no required module provides package github.com/lib/pq; to add it:": "github.com/lib/pq",
    "no matching package named `serde` found": "serde",
    "could not find `Cargo.toml` in `/srv/a` or any parent directory": "Cargo.toml",
    "No matching distribution found for left-padder==1.0": "left-padder",
    "Unable to locate package libfoo-dev": "libfoo-dev",
    'Missing script: "build"': "build",
    "no such table: users": "users",
    'relation "users" does not exist': "users",
    "Can't locate revision identified by '8f2c1d7a9b3e'": "",  # of each store another one
    "pull access denied for team/shop, repository does not exist": "team/shop",
    "jq: command not found": "jq",
    "sh: 1: webpack: not found": "webpack",
    "DEPLOY_HOST: unbound variable": "DEPLOY_HOST",
    "cd: can't cd to build": "build",
    "ENOENT: no such file or directory, open '/srv/a/settings.json'": "settings.json",
    "[Errno 2] No such file or directory: 'config/app.yml'": "config/app.yml",
    "Could not open requirements file: [Errno 2] No such file or directory: 'requirements.txt'": "requirements.txt",
    "No rule to make target 'config.h', needed by 'all'.  Stop.": "config.h",
    "fixture 'client' not found": "client",
    "pathspec 'develop' did not match any file(s) known to git": "develop",
    "Can't locate JSON/XS.pm in @INC (you may need to install the JSON::XS module)": "JSON/XS.pm",
    "unknown flag: --verbose": "--verbose",
    "expected ';' before '}' token": ";",
    "expected ')' before ';' token": ")",
    "prog: cart.c:4: main: Assertion `size > 0' failed.": "size > 0",
    'syntax error: unexpected "done" (expecting "fi")': "done",
    "Error: Unable to access jarfile shop.jar": "shop.jar",
    "can't find package jsonx": "jsonx",
    "no valid overloads in file shop.dl at line 3": "",
    "no such target '@@test+//:a': target 'a' not declared": "@@test+//:a",
    "tar: dist.tar: Cannot open: No such file or directory": "dist.tar",
    "No such file or directory @ rb_sysopen - settings.yml": "settings.yml",
    "'main.c', needed by 'count.o', missing and no known rule to make it": "main.c",
    "Unable to load certificate": "",
    "cannot find value `total` in this scope": "",
    "Cannot find name 'total'.": "",
    "expected 3 to be 2": "",
    # Any tool: the name beside the words that say that there is no such thing, quoted, bare, before or after them.
    "No option 'region' in section: 'count'": "region",
    'no context exists with the name: "staging"': "staging",
    "scons: *** Do not know how to make File target `package' (/srv/a/package).  Stop.": "package",
    "chown: invalid user: \u2018deployer\u2019": "deployer",
    "unknown key type rsa4": "rsa4",
    "unknown key type dsb": "dsb",
    "File rates.bc is unavailable.": "rates.bc",
    "dpkg-query: package 'libfrob-dev' is not installed and no information is available": "libfrob-dev",
    '"total" is not exported by "lib.js", imported by "cart.js".': "total",
    'Could not find "no-typo" in plugin "@".': "no-typo",
    'service "web" depends on undefined service "cahce": invalid compose project': "cahce",
    "chart \"redisx\" matching  not found in stable index. (try 'helm repo update')": "redisx",
    "Could not build url for endpoint 'profile'. Did you mean 'static' instead?": "profile",
    'rsync: [sender] link_stat "/srv/a/gone" failed: No such file or directory (2)': "gone",
    # What is wrong is not the name: a file's content, a thing that cannot be used, a date, a piece of what was read.
    "xz: cart.xz: File format not recognized": "",
    "the lockfile of 'shop' cannot be read by this version": "",
    "date: invalid date \u20182026-13-11\u2019": "",
    "Invalid requirement: 'count == == 1'": "",
    "a branch named 'total' already exists": "",
    'can\'t read "count": no such variable': "",
}


@pytest.mark.parametrize("message", MESSAGES)
def test_what_is_missing_is_named(message: str) -> None:
    assert missing_name(message) == MESSAGES[message]


def test_a_name_in_code_that_a_compiler_speaks_of_is_none() -> None:
    message = "Property 'a' does not exist on type 'B'."
    assert (missing_name(message), missing_name(message, of_code=True)) == ("a", "")


def test_some_exceptions_say_only_the_name() -> None:
    assert missing_name("'price'", "KeyError") == "price"
    assert missing_name("com.example.Driver", "ClassNotFoundException") == "com.example.Driver"
    assert missing_name("cart.html", "TemplateDoesNotExist") == "cart.html"


def test_a_name_that_a_compiler_misses_is_a_name_in_code() -> None:
    message = "Missing positional argument 'price' in call to 'charge'"
    assert missing_name(message) == "price"
    assert missing_name(message, of_code=True) == ""
