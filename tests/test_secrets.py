"""What counts as a secret. Every secret here is made up and joined from pieces at run time."""

from __future__ import annotations

import string
import sys
from datetime import date
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parent))

from growth import assert_linear

from memstream.processors.secrets import (
    KINDS,
    find_secrets,
    is_secret_name,
    placeholder,
    placeholders,
)

ALNUM = string.ascii_letters + string.digits
UPPER = string.ascii_uppercase + string.digits
HEX = "0123456789abcdef"


def of(alphabet: str, least: int, most: int | None = None) -> st.SearchStrategy[str]:
    return st.text(st.sampled_from(alphabet), min_size=least, max_size=most or least)


def joined(*parts: str | st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Pieces in a row, so that no whole secret stands in this file."""
    each = [st.just(part) if isinstance(part, str) else part for part in parts]
    return st.tuples(*each).map("".join)


def mixed(alphabet: str, length: int) -> st.SearchStrategy[str]:
    """Text with letters and digits side by side."""
    return of(alphabet, length - 4).map(lambda text: "k7" + text + "Q2")


def with_luhn(digits: str) -> str:
    total = 0
    for place, digit in enumerate(reversed(digits)):
        value = int(digit) * (2 - place % 2)
        total += value - 9 if value > 9 else value
    return digits + str(-total % 10)


def as_iban(country: str, account: str) -> str:
    number = "".join(str(int(letter, 36)) for letter in account + country + "00")
    return f"{country}{98 - int(number) % 97:02d}{account}"


def grouped(text: str) -> str:
    return " ".join(text[start : start + 4] for start in range(0, len(text), 4))


def within(
    before: str, after: str, made: st.SearchStrategy[str]
) -> st.SearchStrategy[tuple[str, str]]:
    """(a sentence with a secret at the tilde, the secret)."""
    return made.map(lambda secret: (before.replace("~", secret) + after, secret))


def with_mod11(digits: str) -> str:
    """The number of a resident with its check character."""
    weights = (2 ** (17 - place) % 11 for place in range(17))
    total = sum(weight * int(digit) for weight, digit in zip(weights, digits, strict=True))
    return digits + "10X98765432"[total % 11]


IBANS = ("DE:18", "FR:23", "NO:11", "PL:24")
"""Countries with all-digit accounts, and how many digits those have."""
PASSWORD = joined(of(ALNUM, 3, 8), of("0123456789", 1, 3), of("!#&@", 0, 1))
GENERATED: dict[str, st.SearchStrategy[tuple[str, str]]] = {
    kind: made.map(lambda secret: (secret, secret))
    for kind, made in {
        "aws-access-key": joined("AK", "IA", of(UPPER, 16)),
        "github-token": st.one_of(
            joined("gh", "p_", of(ALNUM, 36)), joined("github", "_pat_", of(ALNUM, 40, 80))
        ),
        "gitlab-token": joined("gl", "pat-", of(ALNUM + "-_", 20)),
        "anthropic-key": joined("sk-", "ant-", mixed(ALNUM, 40)),
        "openai-key": joined("sk", "-proj-", mixed(ALNUM, 44)),
        "google-api-key": joined("AI", "za", of(ALNUM + "-_", 35)),
        "google-oauth": joined("ya", "29.", of(ALNUM + "-_", 40)),
        "slack-token": joined("xo", "xb-", of("0123456789", 12), "-", of(ALNUM, 24)),
        "slack-webhook": joined("hooks.", "slack.com/services/", of(UPPER, 9), "/", of(ALNUM, 30)),
        "stripe-key": joined("sk_", "live_", of(ALNUM, 24)),
        "npm-token": joined("np", "m_", of(ALNUM, 36)),
        "pypi-token": joined("py", "pi-", of(ALNUM + "-_", 60)),
        "huggingface-token": joined("h", "f_", of(ALNUM, 34)),
        "twilio-key": joined("S", "K", of(HEX, 32)),
        "sendgrid-key": joined("S", "G.", of(ALNUM, 22), ".", of(ALNUM, 43)),
        "telegram-token": joined(of("123456789", 9), ":A", "A", of(ALNUM, 33)),
        "discord-token": joined("M", of(ALNUM, 25), ".", of(ALNUM, 6), ".", of(ALNUM, 30)),
        "discord-webhook": joined(
            "discord.com/api/", "webhooks/", of("123456789", 18), "/", of(ALNUM, 60)
        ),
        "azure-key": joined("Account", "Key=", of(ALNUM + "+/", 86), "=="),
        "azure-signature": joined("si", "g=", of(ALNUM, 44)),
        "jwt": joined("ey", "J", of(ALNUM, 20), ".ey", "J", of(ALNUM, 40), ".", of(ALNUM, 43)),
        "ssh-key": joined("ssh-", "rsa AA", "AA", of(ALNUM + "+/", 120)),
        "age-key": joined("AGE-SECRET", "-KEY-1", of(UPPER, 58)),
        "provider-token": joined("dop", "_v1_", of(HEX, 64)),
        "private-key": joined(
            "-----BEGIN ",
            "PRIVATE KEY-----\n",
            of(ALNUM + "+/\n", 80),
            "\n-----END ",
            "PRIVATE KEY-----",
        ),
        "card-number": st.tuples(of("0123456789", 14), st.booleans()).map(
            lambda made: (grouped if made[1] else str)(with_luhn("4" + made[0]))
        ),
        "national-id": st.tuples(
            of("123456789", 6), st.dates(date(1930, 1, 1), date(2020, 1, 1)), of("0123456789", 3)
        ).map(lambda made: with_mod11(f"{made[0]}{made[1]:%Y%m%d}{made[2]}")),
        "iban": st.tuples(st.sampled_from(IBANS), st.booleans()).flatmap(
            lambda made: of("0123456789", int(made[0][3:])).map(
                lambda account: (grouped if made[1] else str)(as_iban(made[0][:2], account))
            )
        ),
    }.items()
} | {
    kind: within(before, after, made)
    for kind, before, after, made in [
        ("url-password", "postgres://svc:~@", "db.local/main", joined(of(ALNUM, 6), "9")),
        ("password", "my password is ~", "", PASSWORD),
        ("recovery-phrase", "seed phrase: ~", "",
         st.lists(st.sampled_from(["apple", "river", "stone", "cloud"]), min_size=12, max_size=12)
         .map(" ".join)),
        ("aws-secret-key", "aws_secret_access_key = ~", "", mixed(ALNUM, 40)),
        ("bearer-token", "Authorization: Bearer ~", "", of(ALNUM, 20)),
        ("api-key", "api_key=~", "", mixed(ALNUM, 24)),
        ("secret", "the deploy key is ~", "",
         st.permutations(list(ALNUM)).map(lambda letters: "k7" + "".join(letters[:28]))),
    ]
}  # fmt: skip


def redact(text: str) -> str:
    for start, end, kind in reversed(find_secrets(text)):
        text = text[:start] + placeholder(kind) + text[end:]
    return text


def test_every_kind_is_generated() -> None:
    assert set(GENERATED) == set(KINDS)


SURROUNDING = st.text(
    st.one_of(
        st.sampled_from("abc XYZ 019 .,:;!?-'\"()\n"),
        st.characters(codec="utf-8", exclude_categories=["Cs", "Mn", "Mc", "Me"]),
    ),
    max_size=30,
)


@pytest.mark.parametrize("kind", sorted(GENERATED))
@given(st.data())
def test_no_secret_survives_whatever_stands_around_it(kind: str, draw: st.DataObject) -> None:
    sentence, secret = draw.draw(GENERATED[kind])
    before, after = draw.draw(SURROUNDING), draw.draw(SURROUNDING)
    assume(secret not in before and secret not in after)
    text = f"{before} {sentence} {after}"
    found = find_secrets(text)
    assert secret not in redact(text)
    assert found == sorted(found)
    assert all(first[1] <= second[0] for first, second in pairwise(found))


@pytest.mark.parametrize("kind", sorted(GENERATED))
@given(st.data())
def test_its_kind_is_told(kind: str, draw: st.DataObject) -> None:
    sentence, _ = draw.draw(GENERATED[kind])
    kinds = {found for _, _, found in find_secrets(f"note: {sentence}")}
    assert kind in kinds or kinds & {"secret", "api-key", "aws-secret-key"}


@given(SURROUNDING)
def test_a_placeholder_is_no_secret(around: str) -> None:
    for kind in KINDS:
        text = f"my password is {placeholder(kind)} {around}"
        assert placeholders(text)[0][2] == kind
        assert not any(start < text.index("]") for start, _, _ in find_secrets(text))


SPOKEN = [
    ("password: hunter2!", "hunter2!"),
    ("the root pw is 0penGate7!", "0penGate7!"),
    ("curl -s -u admin:tulip77 https://example.com/x", "tulip77"),
    ("my 2fa backup code is 7KQ2-LM9P", "7KQ2-LM9P"),
    ("Recovery codes: 7KQ2-LM9P, 3XT8-ZW4R", "7KQ2-LM9P, 3XT8-ZW4R"),
    ("验证码是 482913", "482913"),
    ("my password is Tr0ub4dor&3", "Tr0ub4dor&3"),
    ("The guest wifi password is swordfish.", "swordfish"),
    ("password for the printer room is Blue42Door, tell nobody", "Blue42Door"),
    ('{"password": "tulip"}', "tulip"),
    ("DB_PASSWORD=tulip77", "tulip77"),
    ("mysql --password=tulip77 -u root", "tulip77"),
    ("I use tulip77 as my password there", "tulip77"),
    ("passphrase: correct pony battery staple", "correct pony battery staple"),
    ("password changed to Winter-2031", "Winter-2031"),
    ("passwd tulip77", "tulip77"),
    (
        "card " + grouped(with_luhn("4" + "0" * 14)) + " exp 12 28",
        grouped(with_luhn("4" + "0" * 14)),
    ),
    ("my pin is 4821", "4821"),
    ("My SSN is 123-45-6789.", "123-45-6789"),
    ("social security number: 123456789", "123456789"),
    ("My passport number is X1234567.", "X1234567"),
    ("Passport No. 123456789", "123456789"),
    ('{"passport_number": "C01X00T47"}', "C01X00T47"),
    ("my passport is ab1234567", "ab1234567"),
    ("我的护照号是E12345678", "E12345678"),
    ("护照号码：EA1234567，明年到期", "EA1234567"),
    ("我的银行卡6222021234567890123", "6222021234567890123"),
    ("卡号：6222 0212 3456 7890", "6222 0212 3456 7890"),
    ("my credit card number is 4111 1111 1111 1112", "4111 1111 1111 1112"),
    ("我的密码是tulip77，别忘了", "tulip77"),
    ("密码：Qw!2345", "Qw!2345"),
    ("口令是 open9sesame", "open9sesame"),
    ("ｐａｓｓｗｏｒｄ：ｔｕｌｉｐ７", "ｔｕｌｉｐ７"),
    ("token: " + "8f3a9c1b" + "2d4e", "8f3a9c1b" + "2d4e"),
    ("令牌是 " + "a8f3a9c1b2d4e7", "a8f3a9c1b2d4e7"),
    ("redis://:" + "tulip77" + "@cache:6379/0", "tulip77"),
]


@pytest.mark.parametrize(("text", "secret"), SPOKEN)
def test_a_value_that_is_called_a_secret_is_one(text: str, secret: str) -> None:
    assert [text[start:end] for start, end, _ in find_secrets(text)] == [secret]


@pytest.mark.parametrize(
    "text",
    [
        "The database password rotates every Wednesday.",
        "I forgot my password yesterday",
        "My password is too weak.",
        "The password is stored in the vault.",
        "Password: required",
        "passwords are hashed with argon2",
        "Use the password manager on the laptop.",
        "The primary key is customer_id_2024.",
        "max_tokens=4096 and temperature=0.2",
        "token: str",
        "api_key=os.environ['KEY']",
        "The key to good bread is patience.",
        "The security code is generated by the app.",
        "Backup codes are printed on paper.",
        "the pw is too short",
        "curl -u needs a user and a password",
        "我没收到验证码",
        "我的银行卡丢了",
        "My passport expires 20280401.",
        "My passport is renewed every ten years.",
        "passport 0.7.0 is the version we use",
        "passport-jwt 4.0.1",
        "我的护照2028年到期",
        "护照办理电话12345",
        "Order 123-45-6789 was shipped.",
        "The SSN is printed on the card.",
        "social security was founded in 1935",
        "工号110105194912310021的报销单",
        "I lost my keys on 2019-04-05.",
        "Order 4111 1111 1111 1112 was shipped.",
        "The timestamp 1736500000123456 is in microseconds.",
        "scikit-learn-contrib is on github",
        "see https://example.org/a/very/long/path/that/goes/on?page=2",
        "550e8400-e29b-41d4-a716-446655440000",
        "commit 3f786850e387550fdab836ed7e6dc881de23001b",
        "密码每周三更换。",
        "我忘记密码了",
        "password: ${DB_PASSWORD}",
        "password: ********",
        "She is passing by: nothing to see.",
        "My secretary's birthday is 3 May 1980.",
    ],
)
def test_talk_about_secrets_is_none(text: str) -> None:
    assert find_secrets(text) == []


@pytest.mark.parametrize(
    "name", ["password", "db_password", "apiKey", "access-token", "密码", "PIN"]
)
def test_a_field_may_hold_a_secret_by_name(name: str) -> None:
    assert is_secret_name(name)


@pytest.mark.parametrize("name", ["token_count", "keyboard", "path", "passenger", "residence"])
def test_most_fields_do_not(name: str) -> None:
    assert not is_secret_name(name)


@pytest.mark.parametrize(
    "piece",
    [
        "password ",
        "-----BEGIN PRIVATE KEY-----\n",
        "a",
        "4",
        "sk-",
        "key ",
        "://@:",
        "eyJ",
        "eyJ.",
        "token=",
        "aws secret ",
        "xox-",
        "@",
        "a@b.",
        "p",
        "密码",
        "[redacted:",
    ],
)
def test_looking_grows_with_the_text_alone(piece: str) -> None:
    assert_linear(lambda size: find_secrets(piece * (size // len(piece))), 8_000)
